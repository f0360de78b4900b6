"""Server-sent events, parsed from whatever pieces the network delivers."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["ServerEvent", "SseParser"]

MAX_EVENT_CHARS = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event; `own_id` is the id written in it, None for an event without one."""

    event: str
    data: str
    own_id: str | None


class SseParser:
    """Feed bytes, get events; comments (heartbeats) give none."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._event = ""
        self._data: list[str] = []
        self._id: str | None = None

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """Take bytes and yield the events they complete."""
        text = self._rest + self._decoder.decode(chunk)
        # A carriage return at the end may be half of a line end, so it waits for what follows.
        keep = text.endswith("\r")
        lines = text[: -1 if keep else None].replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._rest = lines.pop() + ("\r" if keep else "")
        if len(self._rest) > MAX_EVENT_CHARS:
            raise ValueError("an event is too long")
        for line in lines:
            yield from self._line(line)

    def _line(self, line: str) -> Iterator[ServerEvent]:
        if not line:
            if self._data:
                yield ServerEvent(self._event or "message", "\n".join(self._data), self._id)
            self._event, self._data, self._id = "", [], None
            return
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "event":
                self._event = value
            case "data":
                self._data.append(value)
            case "id" if "\x00" not in value:
                self._id = value
            case _:
                pass  # a comment, or a field this client does not use
