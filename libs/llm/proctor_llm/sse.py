"""Server-sent events from bytes: the part of the format that model APIs use."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from dataclasses import dataclass

__all__ = ["ServerEvent", "read_events"]


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event: its name (empty when not given) and its data lines joined by line feeds."""

    name: str
    data: bytes


async def read_events(chunks: AsyncIterable[bytes]) -> AsyncIterator[ServerEvent]:
    """Cut a stream into events; lines end in LF or CRLF, comments are skipped.

    An event that the end of the stream cuts off is dropped, as the format says.
    """
    buffer = b""
    name = ""
    data: list[bytes] = []
    async for chunk in chunks:
        *lines, buffer = (buffer + chunk).split(b"\n")
        for raw in lines:
            line = raw.removesuffix(b"\r")
            if not line:
                if data:
                    yield ServerEvent(name, b"\n".join(data))
                name, data = "", []
                continue
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"data":
                data.append(value)
            elif field == b"event":
                name = value.decode("utf-8", "replace")
