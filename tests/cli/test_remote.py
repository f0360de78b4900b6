"""The client against a server that speaks the API's wire forms: good, slow to recover, broken, foreign."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import pytest
from aiohttp import web

from proctor_cli.client import PlatformRefused, PlatformUnavailable
from proctor_cli.remote import RemotePlatform, open_remote
from proctor_contracts.assertions import Outcome
from proctor_contracts.cases import CaseFields, ScriptedSingle
from proctor_contracts.schemas.cases import BulkCases
from proctor_contracts.schemas.integrations import HandlerCreate, IntegrationFields
from proctor_contracts.schemas.runs import RunCreate
from proctor_contracts.stability import StabilityReport
from tests.reports.documents import document, mixed, uid

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
RUN = uid(1)


class Server:
    """Answers with the handlers a test gives, and remembers what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], list[Handler]] = {}
        self.seen: list[tuple[str, str, Any, dict[str, str]]] = []
        self.waits: list[float] = []

    def on(self, method: str, path: str, *handlers: Handler) -> None:
        self.answers[method, path] = list(handlers)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.json() if request.can_read_body else None
        self.seen.append((request.method, request.path_qs, body, dict(request.headers)))
        handlers = self.answers.get((request.method, request.path))
        if not handlers:
            return web.Response(status=599, text="the test did not expect this")
        return await (handlers.pop(0) if len(handlers) > 1 else handlers[0])(request)

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    @asynccontextmanager
    async def client(self) -> AsyncIterator[RemotePlatform]:
        app = web.Application(client_max_size=3_000_000)
        app.router.add_route("*", "/{tail:.*}", self.handle)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        try:
            async with open_remote(url=f"http://127.0.0.1:{port}/", key="sk_1", sleep=self.sleep) as platform:
                yield platform
        finally:
            await runner.cleanup()


def data(value: Any, **meta: Any) -> Handler:
    async def answer(_request: web.Request) -> web.Response:
        return web.json_response({"data": value} | ({"meta": meta} if meta else {}))

    return answer


def problem(status: int, code: str, headers: dict[str, str] | None = None, **more: Any) -> Handler:
    async def answer(_request: web.Request) -> web.Response:
        body = {
            "type": "about:blank",
            "title": code,
            "status": status,
            "code": code,
            "detail": f"it is {code}",
            **more,
        }
        return web.json_response(
            body, status=status, headers=headers, content_type="application/problem+json"
        )

    return answer


def text(body: str, status: int = 200, headers: dict[str, str] | None = None) -> Handler:
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(text=body, status=status, headers=headers)

    return answer


def dropped() -> Handler:
    async def answer(request: web.Request) -> web.Response:
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    return answer


def stream(*pieces: str, broken: bool = False) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for piece in pieces:
            await response.write(piece.encode())
        if broken:
            assert request.transport is not None
            request.transport.close()
        return response

    return answer


def event(seq: int | None, name: str, body: str = "{}") -> str:
    return ("" if seq is None else f"id: {seq}\n") + f"event: {name}\ndata: {body}\n\n"


RUN_VIEW = json.loads(document().run.model_dump_json())
EVENTS = f"/api/testing/runs/{RUN}/events"
ONE = f"/api/testing/runs/{RUN}"


def bot(name: str, id_: UUID) -> dict[str, Any]:
    return {
        "id": str(id_), "name": name, "agentPrompt": "", "platformAssistantId": None, "provider": "replay",
        "model": None, "endpoint": None, "locale": None, "createdAt": "2026-01-01T00:00:00Z",
        "updatedAt": "2026-01-01T00:00:00Z",
    }  # fmt: skip


async def test_requests_carry_the_key_and_answers_are_read() -> None:
    server = Server()
    server.on("GET", ONE, data(RUN_VIEW))
    server.on("GET", f"{ONE}/export", text(mixed().model_dump_json()))
    async with server.client() as platform:
        assert (await platform.get_run(RUN)).id == RUN
        assert await platform.document(RUN) == mixed()
    assert server.seen[0][3]["Authorization"] == "Bearer sk_1"
    assert server.seen[1][1] == f"{ONE}/export?format=json"


async def test_the_stability_of_cases_is_asked_for_with_what_is_given() -> None:
    server = Server()
    report = StabilityReport(integration_id=uid(2), like=RUN, runs=3)
    server.on("GET", "/api/testing/cases/flaky", data(json.loads(report.model_dump_json())))
    async with server.client() as platform:
        assert await platform.stability(uid(2), runs=3) == report
        await platform.stability(uid(2), like=RUN, take=7)
    assert server.seen[0][1] == f"/api/testing/cases/flaky?integrationId={uid(2)}&runs=3&take=50"
    assert server.seen[1][1].endswith(f"&likeRunId={RUN}&runs=50&take=7")


async def test_an_integration_is_changed_where_its_name_is_known_on_any_page() -> None:
    server = Server()
    server.on(
        "GET",
        "/api/integrations",
        data([bot("other", uid(9))], total=2, take=1, nextCursor="c1"),
        data([bot("mine", uid(2))], total=2, take=1, nextCursor=None),
    )
    server.on("PATCH", f"/api/integrations/{uid(2)}", data(bot("mine", uid(2))))
    async with server.client() as platform:
        view = await platform.upsert_integration(IntegrationFields(name="mine", provider="replay"))
    assert view.id == uid(2)
    method, path, body, _ = server.seen[-1]
    assert (method, path) == ("PATCH", f"/api/integrations/{uid(2)}")
    assert body["endpoint"] is None
    assert "cursor=c1" in server.seen[1][1]


async def test_handlers_are_made_exactly_those() -> None:
    server = Server()
    at = f"/api/integrations/{uid(2)}/handlers"
    old: dict[str, Any] = {
        "id": str(uid(5)), "integrationId": str(uid(2)), "name": "old", "description": None,
        "url": "", "method": "POST",
        "headers": {}, "body": None, "parametersSchema": None, "isSideEffect": None,
        "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    known = old | {"id": str(uid(6)), "name": "known"}
    server.on("GET", at, data([old, known], total=2, take=200))
    server.on("POST", at, data(old | {"name": "new"}))
    server.on("PATCH", f"{at}/{uid(6)}", data(known))
    server.on("DELETE", f"{at}/{uid(5)}", text("", 204))
    async with server.client() as platform:
        await platform.replace_handlers(uid(2), [HandlerCreate(name="new"), HandlerCreate(name="known")])
    assert [one[0] for one in server.seen] == ["GET", "POST", "PATCH", "DELETE"]


def case(number: int, size: int = 1) -> CaseFields:
    return CaseFields(
        ref=f"r{number}",
        name=f"n{number}",
        category="c",
        input=ScriptedSingle(message="x" * size),
        assertions=(Outcome.model_validate({"kind": "outcome", "field": "f", "in": ["a"]}),),
    )


async def test_cases_go_in_parcels_below_the_bodys_limit_and_faults_keep_their_place() -> None:
    server = Server()
    outcome = {
        "created": 20,
        "updated": 0,
        "unchanged": 0,
        "ids": [str(uid(n)) for n in range(20)],
        "warnings": [],
    }
    fault = {"path": "cases.2.assertions.0.in", "message": "odd"}
    server.on("POST", "/api/testing/cases/bulk", data(outcome), problem(400, "invalid", errors=[fault]))
    bulk = BulkCases(integration_id=uid(2), cases=tuple(case(n, 60_000) for n in range(40)))
    async with server.client() as platform:
        with pytest.raises(PlatformRefused) as refused:
            await platform.bulk_upsert_cases(bulk)
    first = len(server.seen[0][2]["cases"])
    assert 1 < first < 40
    assert refused.value.problem.errors[0].path == f"cases.{first + 2}.assertions.0.in"
    sent = server.seen[0][2]["cases"][0]
    assert sent["assertions"] == [{"kind": "outcome", "field": "f", "in": ["a"]}]


async def test_a_short_outage_is_waited_out_as_long_as_the_server_says() -> None:
    server = Server()
    away = problem(503, "database_unavailable", {"Retry-After": "2"})
    server.on("POST", "/api/testing/runs", away, dropped(), data(RUN_VIEW))
    async with server.client() as platform:
        await platform.start_run(RunCreate(integration_id=uid(2), case_ids=(uid(3),)))
    keys = {one[3]["Idempotency-Key"] for one in server.seen}
    assert len(server.seen) == 3
    assert len(keys) == 1
    assert server.waits[0] == 2
    assert server.seen[0][2] == {"integrationId": str(uid(2)), "caseIds": [str(uid(3))]}


async def test_what_changes_things_is_not_sent_twice_when_its_answer_is_lost() -> None:
    server = Server()
    server.on("POST", f"{ONE}/cancel", dropped())
    async with server.client() as platform:
        with pytest.raises(PlatformUnavailable, match="cannot reach"):
            await platform.cancel(RUN)
    assert len(server.seen) == 1


async def test_a_wait_beyond_patience_and_a_lasting_outage_end() -> None:
    server = Server()
    server.on("GET", ONE, problem(429, "too_many_requests", {"Retry-After": "3600"}))
    async with server.client() as platform:
        with pytest.raises(PlatformRefused, match="too_many_requests"):
            await platform.get_run(RUN)
        assert server.waits == []
        server.on("GET", ONE, problem(503, "database_unavailable"))
        with pytest.raises(PlatformRefused, match="database_unavailable"):
            await platform.get_run(RUN)
    assert len(server.waits) == 4


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (text("<html>"), "not JSON"),
        (text("[]"), "without data"),
        (data({"id": 1}), "of one version"),
        (text("nope", 418), "answers 418"),
        (text("", 302, {"Location": "http://evil.example/"}), "redirects to http://evil.example/"),
    ],
)
async def test_a_foreign_server_is_told_apart_and_never_followed(answer: Handler, words: str) -> None:
    server = Server()
    server.on("GET", ONE, answer)
    async with server.client() as platform:
        with pytest.raises((PlatformUnavailable, PlatformRefused), match=words):
            await platform.get_run(RUN)
    assert len(server.seen) == 1


async def test_events_survive_broken_connections_exactly_once_and_in_order() -> None:
    server = Server()
    server.on(
        "GET",
        EVENTS,
        stream(
            ": hi\n\n",
            event(1, "run.started"),
            event(None, "case.started"),
            event(2, "case.executed"),
            broken=True,
        ),
        problem(503, "database_unavailable"),
        stream(event(2, "case.executed"), event(3, "case.judged")[:-20], broken=True),
        stream(event(3, "case.judged", '{"ref": "A"}'), event(4, "run.completed")),
    )
    server.on("GET", ONE, data(RUN_VIEW | {"status": "running"}))
    async with server.client() as platform:
        seen = [(one.seq, one.event) async for one in platform.events(RUN)]
    assert seen == [
        (1, "run.started"), (None, "case.started"), (2, "case.executed"), (3, "case.judged"),
        (4, "run.completed"),
    ]  # fmt: skip
    asked = [one[3].get("Last-Event-ID") for one in server.seen if one[1] == EVENTS]
    assert asked == [None, "2", "2", "2"]


async def test_a_stream_that_just_ends_is_over_when_the_run_is() -> None:
    server = Server()
    server.on("GET", EVENTS, stream(event(7, "case.executed")))
    server.on("GET", ONE, data(RUN_VIEW | {"status": "running"}), data(RUN_VIEW))
    async with server.client() as platform:
        seen = [one.seq async for one in platform.events(RUN, after=6)]
    assert seen == [7]
    assert server.seen[0][3]["Last-Event-ID"] == "6"


async def test_a_resync_moves_the_place_back_to_where_the_run_stands() -> None:
    server = Server()
    server.on("GET", EVENTS, stream(event(4, "run.resync"), event(5, "run.completed")))
    async with server.client() as platform:
        seen = [(one.seq, one.event) async for one in platform.events(RUN, after=999)]
    assert seen == [(4, "run.resync"), (5, "run.completed")]


async def test_events_of_an_unknown_run_are_refused() -> None:
    server = Server()
    server.on("GET", EVENTS, problem(404, "not_found"))
    async with server.client() as platform:
        with pytest.raises(PlatformRefused, match="not_found"):
            _ = [one async for one in platform.events(RUN)]


async def test_a_stream_that_keeps_breaking_ends_as_an_outage() -> None:
    server = Server()
    server.on("GET", EVENTS, stream("event: x\ndata: not json\n\n"))
    async with server.client() as platform:
        with pytest.raises(PlatformUnavailable, match="keeps breaking"):
            _ = [one async for one in platform.events(RUN)]


async def test_health_is_what_answers_200() -> None:
    server = Server()
    server.on("GET", "/healthz", text("ok"), text("no", 503), dropped())
    async with server.client() as platform:
        assert [await platform.healthy() for _ in range(3)] == [True, False, False]
