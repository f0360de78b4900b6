"""An integration's handlers played on loopback: by recorded answers, by memory, by their own examples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from urllib.parse import parse_qsl

import orjson
from yarl import URL

from proctor_cli.exits import ExitCode, Stop
from proctor_cli.interrupts import interrupts
from proctor_cli.startup import settled
from proctor_contracts.agents import HandlerSnapshot
from proctor_contracts.base import Json
from proctor_contracts.ids import new_id
from proctor_contracts.schemas.integrations import HandlerCreate
from proctor_contracts.transcript import ToolCallRecord
from proctor_runner.gateway.standin import Recorded, answer
from proctor_runner.gateway.twin import Memory
from proctor_runner.gateway.urls import handler_url

__all__ = ["Twin", "serve_twin"]

LONGEST_BODY = 1024 * 1024
HERE = "http://twin.invalid"
"""Stands for the twin's own address while URLs are resolved; an absolute URL leads elsewhere."""

Answered = tuple[HTTPStatus, Json]


class Twin:
    """The handlers of one integration with one memory; `tell` hears of every call.

    `elsewhere` names the handlers with an absolute URL: a run calls it wherever it leads. Its path is
    answered here, so that one who points it at the twin has it played.
    """

    def __init__(
        self,
        *,
        integration: str,
        handlers: Sequence[HandlerCreate],
        recorded: Iterable[ToolCallRecord],
        tell: Callable[[str], None],
    ) -> None:
        self._recorded = Recorded.of(recorded)
        self._memory = Memory()
        self._tell = tell
        self._routes: dict[tuple[str, str], HandlerSnapshot] = {}
        elsewhere = []
        for given in handlers:
            handler = HandlerSnapshot(id=new_id(), **dict(given))
            for url in ("", handler.url):
                found = handler_url(url, core_url=HERE, integration=integration, handler=handler.name)
                self._routes.setdefault((handler.method, URL(found).raw_path), handler)
            if not found.startswith(f"{HERE}/"):
                elsewhere.append(handler.name)
        self.elsewhere = tuple(elsewhere)

    @property
    def places(self) -> tuple[str, ...]:
        """What is answered: method and path."""
        return tuple(f"{method} {path}" for method, path in self._routes)

    def call(self, method: str, target: str, body: bytes) -> Answered:
        """Answer one request; `target` is the path with its query, as it was sent."""
        path, _, query = target.partition("?")
        handler = self._routes.get((method, URL(f"{HERE}{path}").raw_path))
        if handler is None:
            return HTTPStatus.NOT_FOUND, {"error": "no handler answers here", "handlers": list(self.places)}
        args = self._of_query(handler, query) if method == "GET" else _of_body(body)
        if args is None:
            return HTTPStatus.BAD_REQUEST, {"error": "send the arguments as a JSON object"}
        said = answer(handler, args, self._memory, self._recorded)
        self._tell(f"{handler.name}({orjson.dumps(args).decode()}) → {orjson.dumps(said).decode()}")
        return HTTPStatus.OK, said

    def _of_query(self, handler: HandlerSnapshot, query: str) -> Mapping[str, Json]:
        """Read a query as it was written from arguments: whether `7` was text, only a recording knows."""
        plain: dict[str, Json] = {}
        typed: dict[str, Json] = {}
        for name, text in parse_qsl(query, keep_blank_values=True):
            for values, value in ((plain, text), (typed, _typed(text))):
                values[name] = value if name not in values else [*_listed(values[name]), value]
        return typed if self._recorded.find(handler.name, typed) is not None else plain


def _of_body(body: bytes) -> Mapping[str, Json] | None:
    if not body.strip():
        return {}
    try:
        found = orjson.loads(body)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _typed(text: str) -> Json:
    try:
        found: Json = orjson.loads(text)
    except ValueError:
        return text
    return found


def _listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else [value]


async def serve_twin(twin: Twin, *, port: int, ready: Callable[[str], None]) -> None:
    """Serve on loopback until interrupted; `ready` is told the URL once requests are answered.

    Raises:
        Stop: when the port is taken.
    """
    from aiohttp import web  # noqa: PLC0415 - only a server needs it

    async def handle(request: web.Request) -> web.Response:
        status, said = twin.call(request.method, request.raw_path, await request.read())
        return web.Response(status=status, body=orjson.dumps(said), content_type="application/json")

    app = web.Application(client_max_size=LONGEST_BODY)
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app, access_log=None)
    with interrupts() as interrupted:
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", port)
            try:
                await site.start()
            except OSError as error:
                raise Stop(ExitCode.USAGE, f"cannot answer at 127.0.0.1:{port}: {error.strerror}") from error
            settled()
            ready(f"http://127.0.0.1:{runner.addresses[0][1]}")
            await interrupted.first.wait()
        finally:
            await runner.cleanup()
