"""The handlers of a suite on loopback: what they answer, and the command as a process."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from proctor_cli.embedded.twin import Twin
from proctor_contracts.schemas.integrations import HandlerCreate
from proctor_contracts.transcript import ToolCallRecord
from tests.cli.test_embedded import CLEAN, PATIENCE, PROCTOR, proctor
from tests.reports.documents import document, result, said

HANDLERS: list[dict[str, Any]] = [
    {"name": "create_refund", "body": {"invoice": "INV-1", "amount": 149}},
    {"name": "get_refund", "url": "refunds/find", "method": "GET"},
    {"name": "знайти замовлення/№", "isSideEffect": False, "body": {"status": "sent"}},
    {"name": "far", "url": "https://tools.example/far"},
]


def twin(*recorded: ToolCallRecord, told: list[str] | None = None) -> Twin:
    return Twin(
        integration="мій бот",
        handlers=[HandlerCreate.model_validate(one) for one in HANDLERS],
        recorded=recorded,
        tell=([] if told is None else told).append,
    )


REFUND = "/%D0%BC%D1%96%D0%B9%20%D0%B1%D0%BE%D1%82/webhook/create_refund"


def test_a_handler_answers_by_its_names_or_by_its_own_path() -> None:
    played = twin()
    assert played.elsewhere == ("far",)
    assert f"POST {REFUND}" in played.places
    assert {"GET /refunds/find", "POST /far"} <= set(played.places)
    assert played.call("POST", REFUND, b"{}")[0] is HTTPStatus.OK
    assert played.call("GET", "/refunds/find?id=1", b"")[0] is HTTPStatus.OK
    named = REFUND.replace("create_refund", "")
    cyrillic = quote("знайти замовлення/№", safe="")
    status, made_up = played.call("POST", named + cyrillic, b'{"order": "A-1"}')
    assert status is HTTPStatus.OK
    assert made_up == {"status": "sent", "order": "A-1"}
    for target in ("/refunds/find", "//evil.example/refunds/find", "/%", "/refunds/find/.."):
        status, known = played.call("POST", target, b"{}")
        assert status is HTTPStatus.NOT_FOUND
        assert isinstance(known, dict)
        assert known["handlers"] == list(played.places)


@pytest.mark.parametrize("body", [b"[1]", b"no", b'"x"'])
def test_arguments_that_are_no_object_are_a_bad_request(body: bytes) -> None:
    assert twin().call("POST", REFUND, body)[0] is HTTPStatus.BAD_REQUEST


def test_what_was_written_is_read_back_and_every_call_is_told() -> None:
    told: list[str] = []
    played = twin(told=told)
    _, made = played.call("POST", REFUND, b'{"invoice": "INV-7"}')
    assert isinstance(made, dict)
    _, found = played.call("GET", f"/refunds/find?id={made['id']}", b"")
    assert isinstance(found, dict)
    assert found["invoice"] == "INV-7"
    assert [line.partition("(")[0] for line in told] == ["create_refund", "get_refund"]


def test_a_recorded_call_is_answered_as_it_was_and_queries_find_their_types() -> None:
    played = twin(
        ToolCallRecord(name="get_refund", args={"id": 7, "all": True}, result={"state": "paid"}),
        ToolCallRecord(name="get_refund", args={"id": "7"}, result={"state": "text"}),
        ToolCallRecord(name="get_refund", args={"id": "8"}, error="timeout: no"),
    )
    assert played.call("GET", "/refunds/find?id=7&all=true", b"")[1] == {"state": "paid"}
    assert played.call("GET", "/refunds/find?id=7", b"")[1] == {"state": "text"}
    assert played.call("GET", "/refunds/find?id=8", b"")[1] == {"id": "8"}
    assert played.call("GET", "/refunds/find?id=8&id=9", b"")[1] == {"id": ["8", "9"]}


SUITE = """\
integration:
  name: bot
  provider: openai
  model: m
  handlers: [{name: find_order, isSideEffect: false}]
run: {runner: gateway}
cases:
  - name: one
    category: c
    input: {kind: scripted_single, message: hi}
    assertions: [{kind: contains, value: hi}]
"""


@contextmanager
def served(folder: Path, *args: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [*PROCTOR, "twin", "suite.yaml", "--port", "0", *args]
    with subprocess.Popen(command, cwd=folder, env=CLEAN, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if found := re.fullmatch(r"export INTEG_CORE_URL=(\S+)\n", line):
                    yield found.group(1), process
                    break
            else:
                raise AssertionError("it never said where it is")
        finally:
            process.kill()


def asked(url: str, args: dict[str, Any]) -> Any:
    request = urllib.request.Request(f"{url}/bot/webhook/find_order", json.dumps(args).encode())  # noqa: S310 - loopback
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310 - as above
        return json.loads(answer.read())


def test_the_command_plays_a_recorded_run_until_it_is_interrupted(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(SUITE, encoding="utf-8")
    call = ToolCallRecord(name="find_order", args={"order": "A-1"}, result={"status": "sent"})
    spoken = said("It is on its way.").model_copy(update={"tool_calls": (call,)})
    run = tmp_path / "run.json"
    run.write_text(document(result(1, transcript=(spoken,))).model_dump_json(), encoding="utf-8")
    with served(tmp_path, "--from", "run.json") as (url, process):
        assert asked(url, {"order": "A-1"}) == {"status": "sent"}
        assert asked(url, {"order": "A-2"}) == {"order": "A-2"}
        taken = proctor(tmp_path, "twin", "suite.yaml", "--port", url.rpartition(":")[2])
        assert (taken.returncode, "cannot answer at" in taken.stderr) == (3, True)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=PATIENCE) == 0


@pytest.mark.parametrize(
    ("source", "said_"), [("nothing.json", "is not a run's id"), ("suite.yaml", "is no run exported as json")]
)
def test_a_recording_that_is_none_is_wrong_usage(tmp_path: Path, source: str, said_: str) -> None:
    (tmp_path / "suite.yaml").write_text(SUITE, encoding="utf-8")
    ended = proctor(tmp_path, "twin", "suite.yaml", "--from", source)
    assert (ended.returncode, said_ in ended.stderr) == (3, True)


def test_a_suite_without_handlers_has_nothing_to_play(tmp_path: Path) -> None:
    bare = SUITE.replace("handlers: [{name: find_order, isSideEffect: false}]", "handlers: []")
    (tmp_path / "suite.yaml").write_text(bare, encoding="utf-8")
    ended = proctor(tmp_path, "twin", "suite.yaml")
    assert (ended.returncode, "has no integration.handlers" in ended.stderr) == (3, True)
