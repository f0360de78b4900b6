"""The vendor SDKs' way out: their HTTP client's transport, going through the door on aiohttp.

Two SDKs stand on httpx2 and one on httpx; both want the same two small classes, made here from whichever
module it is. The door checks every address, and aiohttp costs a fraction of the CPU of their own transports.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from types import ModuleType
from typing import Any

import aiohttp

from .door import Door

__all__ = ["ReplyTooLargeError", "http_client"]

_DROPPED = frozenset({b"content-encoding", b"content-length", b"transfer-encoding"})


class ReplyTooLargeError(Exception):
    """A provider sent more than is read."""


def http_client(httpx: ModuleType, door: Door, *, limit: int, sending: Callable[[Any], None]) -> Any:
    """Make an `AsyncClient` of httpx or httpx2 that sends through a door and reads at most `limit` bytes.

    `sending` is told of each request before it leaves.
    """
    stream_base: Any = httpx.AsyncByteStream
    transport_base: Any = httpx.AsyncBaseTransport
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=10.0)

    class Stream(stream_base):  # type: ignore[misc]  # the base is chosen at run time
        def __init__(self, response: aiohttp.ClientResponse, opened: AsyncExitStack) -> None:
            self._response = response
            self._opened = opened

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for chunk in self._response.content.iter_any():
                size += len(chunk)
                if size > limit:
                    self._response.close()
                    raise ReplyTooLargeError
                yield chunk

        async def aclose(self) -> None:
            if not self._response.content.at_eof():
                # Half-read, so the connection cannot serve another call.
                self._response.close()
            await self._opened.aclose()

    class Transport(transport_base):  # type: ignore[misc]  # the base is chosen at run time
        async def handle_async_request(self, request: Any) -> Any:
            sending(request)
            headers = {name: value for name, value in request.headers.items() if name != "content-length"}
            # The door decompresses, and knows these two everywhere.
            headers["accept-encoding"] = "gzip, deflate"
            data = await request.aread()
            async with AsyncExitStack() as opening:
                response = await opening.enter_async_context(
                    door.request(
                        request.method, str(request.url), headers=headers, data=data or None, timeout=timeout
                    )
                )
                return httpx.Response(
                    response.status,
                    headers=[pair for pair in response.raw_headers if pair[0].lower() not in _DROPPED],
                    stream=Stream(response, opening.pop_all()),
                )
            raise AssertionError  # the stack never swallows an error

    return httpx.AsyncClient(transport=Transport(), timeout=None, trust_env=False, follow_redirects=False)
