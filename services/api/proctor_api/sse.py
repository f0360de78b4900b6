"""Server-sent events of a run: numbered ones carry an id, silence is broken by comments."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator

import orjson

from proctor_contracts.schemas.runs import RunEvent

__all__ = ["HEADERS", "HEARTBEAT_SECONDS", "last_seen", "stream"]

HEARTBEAT_SECONDS = 15.0
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
UNKNOWN = 2**31 - 1
_RETRY_MS = 2_000
_NUMBER = re.compile(r"[0-9]{1,9}")
_log = logging.getLogger(__name__)


def last_seen(header: str | None, after: str | None) -> int | None:
    """Read `Last-Event-ID`, or `?after=` where a client cannot send headers; the header wins.

    Returns the number after which to go on; None is the first event. What is no number at all is read as one
    that no run reaches: the client is then told where the run stands (`run.resync`) and goes on from there.
    """
    text = (header if header is not None else after or "").strip()
    if not text:
        return None
    return int(text) if _NUMBER.fullmatch(text) else UNKNOWN


async def stream(
    events: AsyncIterator[RunEvent],
    *,
    heartbeat_seconds: float = HEARTBEAT_SECONDS,
) -> AsyncIterator[bytes]:
    """Write events as they come; the first bytes leave at once, whatever the run is doing.

    A fault in mid-stream ends it: the client comes back with `Last-Event-ID` and misses nothing.
    """
    yield b"retry: %d\n: connected\n\n" % _RETRY_MS
    coming: asyncio.Task[RunEvent] | None = None
    try:
        while True:
            if coming is None:
                coming = asyncio.ensure_future(anext(events))
            done, _ = await asyncio.wait({coming}, timeout=heartbeat_seconds)
            if not done:
                yield b": keep-alive\n\n"
                continue
            finished, coming = coming, None
            try:
                event = finished.result()
            except StopAsyncIteration:
                return
            except Exception:  # noqa: BLE001 - the answer has begun, so all that is left is to end it
                _log.exception("event_stream_broken")
                yield b": interrupted, please reconnect\n\n"
                return
            yield _event(event.event, event.data, event.seq)
    finally:
        # Whoever is waiting for an event is cancelled in the middle of it, which ends the source by itself; a
        # source that nobody waits on has to be closed.
        if coming is not None:
            coming.cancel()
            await asyncio.wait({coming})
        elif (close := getattr(events, "aclose", None)) is not None:
            await close()


def _event(name: str, data: object, seq: int | None = None) -> bytes:
    number = b"" if seq is None else b"id: %d\n" % seq
    return number + b"event: " + name.encode() + b"\ndata: " + orjson.dumps(data) + b"\n\n"
