"""Sending a request as an SDK made it, again and again with another body, for a third of the SDK's own CPU.

An SDK builds the same URL, authentication and headers for every call to one path; what it made once is kept
and sent again through the same door.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Protocol

import aiohttp

from .door import Door
from .transport import ReplyTooLargeError

__all__ = ["MadeRequest", "RawReply", "RefusedError", "WholeReply"]

_OF_ONE_REQUEST = frozenset({"content-length", "accept-encoding", "idempotency-key", "host"})
"""Headers that belong to one body or one call, or that the door writes itself."""

_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=10.0)


class RawReply(Protocol):
    """A reply as the SDKs' HTTP client gives it, and as `MadeRequest` does."""

    @property
    def content(self) -> bytes:
        """The body of one that was read whole."""
        ...

    def aiter_bytes(self) -> AsyncIterator[bytes]:
        """The body of one that is streamed."""
        ...

    async def aclose(self) -> None:
        """Let go of the connection."""
        ...


class RefusedError(Exception):
    """The provider answered with anything but a good status; `body` is unread bytes as they came."""

    def __init__(self, status: int, body: bytes, retry_after: str | None) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.body = body
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class WholeReply:
    """A reply that was read to its end."""

    content: bytes

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        """Give it in one piece."""
        yield self.content

    async def aclose(self) -> None:
        """Hold nothing."""


class _StreamedReply:
    """A reply whose body is still coming."""

    content = b""

    def __init__(self, response: aiohttp.ClientResponse, opened: AsyncExitStack, *, limit: int) -> None:
        self._response = response
        self._opened = opened
        self._limit = limit

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._response.content.iter_any():
            size += len(chunk)
            if size > self._limit:
                self._response.close()
                raise ReplyTooLargeError
            yield chunk

    async def aclose(self) -> None:
        if not self._response.content.at_eof():
            # Half-read, so the connection cannot serve another call.
            self._response.close()
        await self._opened.aclose()


@dataclass(frozen=True, slots=True)
class MadeRequest:
    """Where and with which headers an SDK sends to one path."""

    url: str
    headers: Mapping[str, str]

    @classmethod
    def of(cls, request: Any) -> MadeRequest:
        """Keep what an SDK's HTTP client sends."""
        headers = {
            name: value for name, value in request.headers.items() if name.lower() not in _OF_ONE_REQUEST
        }
        # The door decompresses, and knows these two everywhere.
        return cls(str(request.url), {**headers, "accept-encoding": "gzip, deflate"})

    async def send(self, door: Door, data: bytes, *, stream: bool, limit: int) -> RawReply:
        """Send it with this body.

        Raises:
            RefusedError: for any status but a good one.
            ReplyTooLargeError: when the reply is longer than `limit` bytes.
        """
        async with AsyncExitStack() as opening:
            response = await opening.enter_async_context(
                door.request("POST", self.url, headers=self.headers, data=data, timeout=_TIMEOUT)
            )
            good = HTTPStatus.OK <= response.status < HTTPStatus.MULTIPLE_CHOICES
            reply = _StreamedReply(response, opening, limit=limit)
            if stream and good:
                return _StreamedReply(response, opening.pop_all(), limit=limit)
            body = b"".join([chunk async for chunk in reply.aiter_bytes()])
            if not good:
                raise RefusedError(response.status, body, response.headers.get("Retry-After"))
            return WholeReply(body)
        raise AssertionError  # the stack never swallows an error
