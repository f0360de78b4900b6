"""The base of every message, and how each class finds its way."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from proctor_contracts.base import Wire
from proctor_contracts.topology import Exchange

__all__ = ["Message"]


class Message(Wire):
    """A frozen fact or command on the bus; fields are only ever added, with defaults.

    `v` is the version of the wire form; a reader refuses a version it does not know.
    """

    exchange: ClassVar[Exchange]
    versions: ClassVar[frozenset[int]] = frozenset({1})

    v: int = 1
    run_id: UUID

    def key(self) -> str:
        """The routing key."""
        raise NotImplementedError

    def id(self) -> str:
        """A deterministic id, the same on every redelivery."""
        raise NotImplementedError
