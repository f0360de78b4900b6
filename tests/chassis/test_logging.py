from __future__ import annotations

import asyncio
import io
import json
import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from proctor_chassis.logging import bind, bound, configure
from proctor_chassis.secrets import Redactor
from proctor_chassis.settings import LogSettings

log = logging.getLogger("tests.of.logging")


@pytest.fixture(autouse=True)
def root() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture(params=["structlog", "plain"])
def renderer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With structlog and without it."""
    if request.param == "plain":
        monkeypatch.setitem(sys.modules, "structlog", None)
    return str(request.param)


def json_log(**options: Any) -> io.StringIO:
    stream = io.StringIO()
    configure(LogSettings(format="json", level="info"), stream=stream, **options)
    return stream


def events(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_an_event_is_one_line_with_its_fields(renderer: str) -> None:
    stream = json_log(service="runner")
    log.info("case.played", extra={"seconds": 1.5, "who": ("агент", None)})
    [event] = events(stream)
    at = event.pop("at")
    assert at.endswith("+00:00")
    assert event == {
        "level": "info",
        "event": "case.played",
        "logger": "tests.of.logging",
        "service": "runner",
        "seconds": 1.5,
        "who": ["агент", None],
    }, renderer


def test_text_from_outside_cannot_forge_a_line(renderer: str) -> None:
    stream = json_log()
    log.info("reply.read", extra={"reply": 'x\n{"level": "error"}'})
    assert len(events(stream)) == 1, renderer


def test_ids_are_bound_for_a_task_and_those_it_starts(renderer: str) -> None:
    stream = json_log()

    async def play(case: str) -> None:
        with bind(case=case, job=None):
            await asyncio.sleep(0)
            log.info("case.played")

    async def main() -> None:
        with bind(run="r1"):
            await asyncio.gather(play("a"), play("b"))
        log.info("done")

    asyncio.run(main())
    seen = [(event["event"], event.get("run"), event.get("case")) for event in events(stream)]
    assert seen == [("case.played", "r1", "a"), ("case.played", "r1", "b"), ("done", None, None)], renderer
    assert bound() == {}


def test_secrets_never_get_in(renderer: str) -> None:
    redactor = Redactor()
    redactor.add("TOKEN", "hunter2-secret")
    stream = json_log(redact=redactor.json)
    try:
        int("hunter2-secret")
    except ValueError:
        with bind(job="hunter2-secret"):
            log.exception("call with %s failed", "hunter2-secret", extra={"h": {"auth": ["hunter2-secret"]}})
    assert "hunter2" not in stream.getvalue()
    [event] = events(stream)
    assert event["event"] == "call with [secret:TOKEN] failed"
    assert event["h"] == {"auth": ["[secret:TOKEN]"]}
    assert "invalid literal for int() with base 10: '[secret:TOKEN]'" in event["exception"], renderer


def test_people_read_it_too(renderer: str) -> None:
    stream = io.StringIO()
    configure(LogSettings(format="console", level="warning"), stream=stream)
    log.info("not.this")
    log.warning("bus.broker_away", extra={"error": "refused"})
    text = stream.getvalue()
    assert "bus.broker_away" in text
    assert "refused" in text
    assert "not.this" not in text, renderer


def test_a_value_that_is_no_json_is_shown_as_text(renderer: str) -> None:
    stream = json_log()
    log.info("odd", extra={"thing": object, "names": {"b"}})
    [event] = events(stream)
    assert event["thing"] == "<class 'object'>", renderer
    assert event["names"] == ["b"]
