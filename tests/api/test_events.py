"""Live events over HTTP: what is written, when, and what is left behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from proctor_api.sse import UNKNOWN, last_seen, stream
from proctor_contracts.schemas.runs import RunEvent
from tests.api.conftest import Api, case

AT = datetime(2026, 5, 4, tzinfo=UTC)


def event(seq: int | None, name: str = "case.executed") -> RunEvent:
    return RunEvent(seq=seq, event=name, data={"text": "ї\n\nid: 9"}, at=AT)


class Source:
    """Events on demand, which notes that it was closed."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[RunEvent | Exception | None] = asyncio.Queue()
        self.closed = asyncio.Event()

    async def events(self) -> AsyncIterator[RunEvent]:
        try:
            while (item := await self.queue.get()) is not None:
                if isinstance(item, Exception):
                    raise item
                yield item
        finally:
            self.closed.set()


async def test_the_first_bytes_leave_before_anything_happens() -> None:
    source = Source()
    body = stream(source.events(), heartbeat_seconds=60)
    assert (await anext(body)).startswith(b"retry: ")
    await body.aclose()  # type: ignore[attr-defined]  # it is a generator


async def test_numbered_events_carry_an_id_and_transient_ones_do_not() -> None:
    source = Source()
    for item in (event(1), event(None, "case.started"), None):
        source.queue.put_nowait(item)
    written = [part async for part in stream(source.events(), heartbeat_seconds=60)][1:]
    assert written == [
        b'id: 1\nevent: case.executed\ndata: {"text":"\xd1\x97\\n\\nid: 9"}\n\n',
        b'event: case.started\ndata: {"text":"\xd1\x97\\n\\nid: 9"}\n\n',
    ]
    assert source.closed.is_set()


async def test_silence_is_broken_by_comments_and_no_event_is_lost_to_them() -> None:
    source = Source()
    body = stream(source.events(), heartbeat_seconds=0.001)
    await anext(body)
    assert await anext(body) == b": keep-alive\n\n"
    assert await anext(body) == b": keep-alive\n\n"
    source.queue.put_nowait(event(1))
    source.queue.put_nowait(None)
    rest = [part async for part in body]
    assert [part for part in rest if not part.startswith(b":")] == [
        b'id: 1\nevent: case.executed\ndata: {"text":"\xd1\x97\\n\\nid: 9"}\n\n'
    ]


async def test_a_client_that_leaves_closes_the_source() -> None:
    source = Source()
    arrived = asyncio.Event()

    async def follow() -> None:
        async for _ in stream(source.events(), heartbeat_seconds=60):
            arrived.set()

    following = asyncio.create_task(follow())
    await asyncio.wait_for(arrived.wait(), 5)
    following.cancel()
    with pytest.raises(asyncio.CancelledError):
        await following
    await asyncio.wait_for(source.closed.wait(), 5)


async def test_a_stream_closed_in_the_middle_closes_the_source() -> None:
    source = Source()
    source.queue.put_nowait(event(1))
    body = stream(source.events(), heartbeat_seconds=0.001)
    await anext(body)
    await anext(body)
    assert await anext(body) == b": keep-alive\n\n"
    await body.aclose()  # type: ignore[attr-defined]  # it is a generator
    assert source.closed.is_set()


async def test_a_fault_in_mid_stream_ends_it_with_an_invitation_to_come_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    source = Source()
    source.queue.put_nowait(RuntimeError("secret"))
    written = b"".join([part async for part in stream(source.events(), heartbeat_seconds=60)])
    assert written.endswith(b": interrupted, please reconnect\n\n")
    assert b"secret" not in written
    assert "secret" in caplog.text


@pytest.mark.parametrize(
    ("header", "after", "found"),
    [
        (None, None, None),
        ("", None, None),
        ("5", None, 5),
        (None, "5", 5),
        ("5", "7", 5),
        (" 5 ", None, 5),
        ("abc", None, UNKNOWN),
        ("-1", None, UNKNOWN),
        ("٥", None, UNKNOWN),
        ("9" * 30, None, UNKNOWN),
    ],
)
def test_last_event_id_is_a_number_or_unknown(
    header: str | None, after: str | None, found: int | None
) -> None:
    assert last_seen(header, after) == found


async def run_of(api: Api) -> str:
    bot = await api.integration()
    await api.data("POST", "/testing/cases", case(integrationId=bot), status=201)
    run = await api.data("POST", "/testing/runs", {"integrationId": bot, "caseFilter": {}}, status=201)
    return str(run["id"])


async def read(api: Api, run: str, **headers: str) -> list[tuple[str, str]]:
    """The (id, event) pairs of a whole stream."""
    response = await api("GET", f"/testing/runs/{run}/events", headers=headers)
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-accel-buffering"] == "no"
    assert "content-encoding" not in response.headers
    found = []
    for block in response.text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "event" in fields:
            found.append((fields.get("id", ""), fields["event"]))
    return found


async def test_a_run_that_is_over_gives_its_rest_once_and_ends(api: Api) -> None:
    run = await run_of(api)
    await api.data("POST", f"/testing/runs/{run}/cancel")
    whole = [pair for pair in await read(api, run) if pair[0]]
    assert whole[-1][1] == "run.completed"
    assert [number for number, _ in whole] == [str(n + 1) for n in range(len(whole))]
    for seen in range(1, len(whole)):
        rest = [pair for pair in await read(api, run, **{"Last-Event-ID": str(seen)}) if pair[0]]
        assert rest == whole[seen:]
    for unknown in ("999", "abc", "9" * 40):
        rest = [pair for pair in await read(api, run, **{"Last-Event-ID": unknown}) if pair[0]]
        assert rest == whole[-1:]


async def test_an_unknown_run_is_a_problem_and_no_stream(api: Api) -> None:
    await api.problem("GET", f"/testing/runs/{uuid4()}/events", status=404)
    run = await run_of(api)
    await (await api.another("umbrella")).problem("GET", f"/testing/runs/{run}/events", status=404)
