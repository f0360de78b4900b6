"""The base of every message, and how each class finds its way."""

from __future__ import annotations

from typing import ClassVar, Self
from uuid import UUID

from typing_extensions import override

from proctor_contracts.base import TRUSTED, Wire
from proctor_contracts.topology import Exchange

__all__ = ["Message", "RunMessage"]


class Message(Wire):
    """A frozen fact or command on the bus; fields are only ever added, with defaults.

    `v` is the version of the wire form; a reader refuses a version it does not know.
    """

    exchange: ClassVar[Exchange]
    versions: ClassVar[frozenset[int]] = frozenset({1})

    v: int = 1

    def key(self) -> str:
        """The routing key."""
        raise NotImplementedError

    def id(self) -> str:
        """A deterministic id, the same on every redelivery."""
        raise NotImplementedError

    def correlation(self) -> str:
        """What this belongs to, to find everything about it in logs."""
        raise NotImplementedError

    @classmethod
    def read(cls, body: bytes) -> Self:
        """Read what another process of ours wrote.

        Raises:
            ValidationError: when it cannot be read.
        """
        return cls.model_validate_json(body, context=TRUSTED)


class RunMessage(Message):
    """A message about a run."""

    run_id: UUID

    @override
    def correlation(self) -> str:
        """Name the run."""
        return str(self.run_id)
