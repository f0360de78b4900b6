"""Handlers on loopback, well behaved or not, that remember every request.

    async with WebhookServer() as hooks:
        hooks.answers["/orders/get"] = {"id": 7}          # JSON, or one of the kinds below
        hooks.answers["/orders/slow"] = Never()
        ...
        assert [call.path for call in hooks.calls] == ["/orders/get"]

What has no answer is answered with `{"ok": true}` and the request's own body.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aiohttp import web

__all__ = ["Call", "Dripping", "HungUp", "Never", "Raw", "WebhookServer"]

_CERTIFICATE = Path(__file__).with_name("self_signed.pem")
_DRIP_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Call:
    """One request as it came in."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any
    raw: bytes = b""


@dataclass(frozen=True, slots=True)
class Raw:
    """Exactly these bytes."""

    body: bytes
    content_type: str = "application/json"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Never:
    """No answer until the client goes away."""


@dataclass(frozen=True, slots=True)
class Dripping:
    """Status 200, then a byte now and again until the client goes away."""


@dataclass(frozen=True, slots=True)
class HungUp:
    """The connection closes without an answer."""


class WebhookServer:
    """The server; `calls` is its log, `gone` counts clients that left before the answer was complete."""

    def __init__(self, *, tls: bool = False) -> None:
        self.calls: list[Call] = []
        self.answers: dict[str, Any] = {}
        self.gone = 0
        self.in_flight = 0
        self.most_in_flight = 0
        self.url = ""
        self._tls = tls
        self._changed = asyncio.Condition()
        self._closing = asyncio.Event()
        self._runner: web.AppRunner | None = None

    @property
    def writes(self) -> list[Call]:
        """The requests that were not a GET."""
        return [call for call in self.calls if call.method != "GET"]

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until what the server saw makes this true (at most five seconds)."""
        async with asyncio.timeout(5), self._changed:
            await self._changed.wait_for(true)

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=16 * 1024 * 1024)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5, handler_cancellation=True)
        await self._runner.setup()
        context = None
        if self._tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(_CERTIFICATE)
        await web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=context).start()
        port = self._runner.addresses[0][1]
        self.url = f"{'https' if self._tls else 'http'}://127.0.0.1:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        body = json.loads(raw) if raw else None
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        path = request.raw_path.partition("?")[0]
        call = Call(request.method, path, dict(request.query), request.headers.copy(), body, raw)
        self.calls.append(call)
        await self._tell()
        try:
            answer = self.answers.get(path, {"ok": True, "got": body})
            return await self._send(request, answer(call) if callable(answer) else answer)
        except (asyncio.CancelledError, ConnectionResetError):
            self.gone += 1
            await self._tell()
            raise
        finally:
            self.in_flight -= 1

    async def _send(self, request: web.Request, answer: Any) -> web.StreamResponse:
        match answer:
            case Raw():
                return web.Response(
                    body=answer.body,
                    status=answer.status,
                    headers={"Content-Type": answer.content_type, **answer.headers},
                )
            case Never():
                await self._closing.wait()
                return web.Response()
            case HungUp():
                if request.transport is not None:
                    request.transport.abort()
                return web.Response()
            case Dripping():
                return await self._drip(request)
            case web.StreamResponse():
                return answer
            case _:
                return web.json_response(answer)

    async def _drip(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        while not self._closing.is_set():
            await response.write(b" ")
            try:
                await asyncio.wait_for(self._closing.wait(), _DRIP_SECONDS)
            except TimeoutError:
                continue
        return response

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()
