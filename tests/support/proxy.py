"""A TCP proxy in front of a server, so that a test can cut the line, freeze it and mend it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from urllib.parse import urlsplit, urlunsplit

__all__ = ["Line", "line_to"]


class Line:
    """Forwards connections on a loopback port; while it is down, they are refused at once."""

    def __init__(self, url: str) -> None:
        self._target = urlsplit(url)
        self._server: asyncio.Server | None = None
        self._port = 0
        self._ends: set[asyncio.StreamWriter] = set()
        self._pumps: set[asyncio.Task[None]] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()

    @property
    def url(self) -> str:
        """The server's URL, through this line."""
        login, _, _ = self._target.netloc.rpartition("@")
        return urlunsplit(self._target._replace(netloc=f"{login}@127.0.0.1:{self._port}"))

    async def up(self) -> None:
        """Accept connections, on the same port as before."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def down(self) -> None:
        """Cut every connection and refuse new ones."""
        if self._server is not None:
            self._server.close()
            self._server = None
        await self.cut()

    async def cut(self) -> None:
        """Cut every connection; new ones are welcome."""
        self._flowing.set()
        for end in list(self._ends):
            end.transport.abort()
        await asyncio.gather(*self._pumps, return_exceptions=True)

    def freeze(self) -> None:
        """Forward nothing, while connections stay open."""
        self._flowing.clear()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert self._target.hostname is not None
        assert self._target.port is not None
        far_reader, far_writer = await asyncio.open_connection(self._target.hostname, self._target.port)
        self._ends |= {writer, far_writer}
        for source, sink in ((reader, far_writer), (far_reader, writer)):
            pump = asyncio.create_task(self._pump(source, sink))
            self._pumps.add(pump)
            pump.add_done_callback(self._pumps.discard)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65536):
                await self._flowing.wait()
                sink.write(data)
                await sink.drain()
        self._ends.discard(sink)
        sink.close()


@contextlib.asynccontextmanager
async def line_to(url: str) -> AsyncIterator[Line]:
    """A line that is up; down afterwards."""
    line = Line(url)
    await line.up()
    try:
        yield line
    finally:
        await line.down()
