from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest

from proctor_chassis.bus.errors import MessageTooLarge
from proctor_chassis.bus.retry import Dead
from proctor_chassis.bus.wire import check_size, counted, decode, decode_transient, encode, type_of
from proctor_contracts.messages import CaseExecuted, LiveHint, RunCancelled, WorkerHeartbeat
from proctor_contracts.topology import MAX_BODY_BYTES
from tests.bus.world import executed

MODELS: dict[str, Any] = {"case.executed": CaseExecuted}


def body(**changes: Any) -> bytes:
    return json.dumps(json.loads(executed(1).model_dump_json()) | changes).encode()


def test_a_message_is_encoded_with_its_place_and_identity() -> None:
    message = executed(1)
    out = encode(message)
    assert (out.exchange, out.key) == ("proctor.events", "case.executed")
    assert out.id == f"{UUID(int=1)}:{UUID(int=1)}:1:1"
    assert out.correlation == str(UUID(int=1))
    assert decode(MODELS, out.key, out.body) == message


def test_unknown_fields_of_a_newer_sender_are_ignored() -> None:
    assert decode(MODELS, "case.executed", body(somethingNew={"x": 1})) == executed(1)


@pytest.mark.parametrize("version", [0, 2, 99])
def test_an_unknown_version_is_said_so_even_when_the_rest_no_longer_fits(version: int) -> None:
    assert decode(MODELS, "case.executed", body(v=version)) == Dead("unknown_version")
    assert decode(MODELS, "case.executed", json.dumps({"v": version}).encode()) == Dead("unknown_version")


@pytest.mark.parametrize(
    "bad", [b"", b"null", b"[1]", b'"text"', b"\xff", body(caseId="no uuid"), body(v="one"), b'{"v": null}']
)
def test_what_is_no_message_is_undecodable(bad: bytes) -> None:
    assert decode(MODELS, "case.executed", bad) == Dead("undecodable")


def test_a_key_without_a_model_is_undecodable() -> None:
    assert decode(MODELS, "case.judged", body()) == Dead("undecodable")


def test_what_strangers_send_beyond_the_limit_is_not_even_read() -> None:
    large = body(logs=["x" * MAX_BODY_BYTES])
    assert decode(MODELS, "case.executed", large) == Dead("message_too_large")


def test_a_refusal_names_the_fields_and_shows_nothing_of_what_stood_there() -> None:
    found = decode(MODELS, "case.executed", body(caseId="Олена, 0501234567", trial="сім"))
    assert isinstance(found, Dead)
    assert "caseId: " in found.detail
    assert "trial: " in found.detail
    assert "Олена" not in found.detail
    assert "сім" not in found.detail


def test_the_limit_is_one_mebibyte_of_bytes() -> None:
    check_size(b" " * MAX_BODY_BYTES, key="k")
    with pytest.raises(MessageTooLarge, match=r"k: 1048577 bytes"):
        check_size(b" " * (MAX_BODY_BYTES + 1), key="k")


def test_transient_messages_are_told_apart_by_their_type() -> None:
    hint = LiveHint(run_id=UUID(int=1), seq=3)
    models: dict[str, Any] = {"live.hint": LiveHint}
    assert type_of(LiveHint) == "live.hint"
    assert type_of(RunCancelled) == "run.cancelled"
    assert type_of(WorkerHeartbeat) == "worker.heartbeat"
    assert decode_transient(models, "live.hint", hint.model_dump_json().encode()) == hint
    assert decode_transient(models, "live.event", hint.model_dump_json().encode()) is None
    assert decode_transient(models, "live.hint", b"{") is None


@pytest.mark.parametrize(("value", "number"), [(3, 3), ("3", 0), (None, 0), (2.5, 0)])
def test_counting_headers_are_whole_numbers(value: object, number: int) -> None:
    assert counted({"x-delivery": value}, "x-delivery") == number
    assert counted({}, "x-delivery") == 0
