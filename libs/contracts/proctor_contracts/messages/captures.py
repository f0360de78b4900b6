"""What production tells: a conversation that deserves a look."""

from __future__ import annotations

from typing import ClassVar, Self

from typing_extensions import override

from proctor_contracts.captures import CaptureFields, ExternalId, mended
from proctor_contracts.enums import CaptureSource
from proctor_contracts.topology import EVENTS, Exchange

from .base import Message

__all__ = ["CaptureRecorded"]


class CaptureRecorded(CaptureFields, Message):
    """A conversation of a deployed bot, sent by whoever runs it.

    `integrationId` says whose it is, `externalId` makes a repeated event harmless and is required here, since
    a bus delivers more than once. NUL and lone surrogates are read as U+FFFD.
    """

    exchange: ClassVar[Exchange] = EVENTS

    source: CaptureSource = CaptureSource.SOFA
    external_id: ExternalId

    @override
    def key(self) -> str:
        """Route to the API."""
        return "capture.recorded"

    @override
    def id(self) -> str:
        """Name the event after the conversation."""
        return f"{self.integration_id}:{self.external_id}"

    @override
    def correlation(self) -> str:
        """Name the integration."""
        return str(self.integration_id)

    @classmethod
    @override
    def read(cls, body: bytes) -> Self:
        """Read what a stranger wrote.

        Raises:
            ValidationError: when it cannot be read.
        """
        return cls.model_validate_json(mended(body))
