"""The API's HTTP server as a part that starts and stops, in a process of its own or beside other parts."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import uvicorn
from fastapi import FastAPI
from typing_extensions import override

from proctor_chassis.settings import HttpSettings, SettingsError

__all__ = ["HttpServer"]

BACKLOG = 2048
GRACE_SECONDS = 5


class _Server(uvicorn.Server):
    """A server that leaves signals to the process it is part of."""

    @override
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class HttpServer:
    """Serves an application until it is stopped; streams that are still open then end after five seconds."""

    def __init__(self, app: FastAPI, settings: HttpSettings) -> None:
        self._settings = settings
        self._server = _Server(
            uvicorn.Config(
                app,
                log_config=None,
                log_level="warning",
                access_log=False,
                lifespan="off",
                server_header=False,
                timeout_graceful_shutdown=GRACE_SECONDS,
            )
        )
        self._serving: asyncio.Task[None] | None = None

    async def start(self) -> int:
        """Begin to answer; returns the port, which is a free one where the settings say 0.

        Raises:
            SettingsError: when the address cannot be had.
        """
        listening = _listen(self._settings)
        self._serving = asyncio.create_task(self._server.serve([listening]), name="http")
        port: int = listening.getsockname()[1]
        return port

    async def stop(self) -> None:
        """Answer what is being asked, close streams, and end."""
        if self._serving is not None:
            self._server.should_exit = True
            await self._serving


def _listen(settings: HttpSettings) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            # A client that learns the port may connect before the server takes its first step.
            listening.listen(BACKLOG)
            listening.settimeout(0)
        except OSError:
            listening.close()
            raise
    except OSError as error:
        raise SettingsError(
            f"cannot answer at {settings.host}:{settings.port} ({error}); "
            "set PROCTOR_HTTP_HOST and PROCTOR_HTTP_PORT"
        ) from error
    return listening
