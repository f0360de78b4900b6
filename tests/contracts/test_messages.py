"""The wire form of every message, pinned in tests/data/messages.

After a field was added, run with PROCTOR_REWRITE_GOLDENS=1 to write the files anew. A field that was renamed
or removed is refused even then: processes of two versions share the bus during every update.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, TypeVar

import pytest

from proctor_contracts.ids import job_id
from proctor_contracts.messages import (
    CaseExecuted,
    CaseJudged,
    CaseRequested,
    JudgeRequested,
    Message,
    RunCompleted,
    Transient,
)
from proctor_contracts.topology import MAX_BODY_BYTES
from tests.contracts.examples import EXAMPLES

FOLDER = Path(__file__).parent.parent / "data" / "messages"
REWRITE = os.environ.get("PROCTOR_REWRITE_GOLDENS") == "1"
T = TypeVar("T")


def wire(message: Message | Transient) -> Any:
    return json.loads(message.model_dump_json())


def leaves(base: type[T]) -> set[type[T]]:
    below = {each for child in base.__subclasses__() for each in leaves(child)}
    return below or {base}


def paths(value: Any, at: str = "") -> set[str]:
    """Name every place in a JSON document; list items share one place."""
    match value:
        case dict():
            return {at} | {place for key, item in value.items() for place in paths(item, f"{at}.{key}")}
        case list():
            return {at} | {place for item in value for place in paths(item, f"{at}[]")}
        case _:
            return {at}


def test_every_message_has_an_example() -> None:
    known = {each for each in leaves(Message) | leaves(Transient) if each.__module__.startswith("proctor_")}
    assert {type(example) for example in EXAMPLES.values()} == known


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_the_wire_form_is_the_pinned_one(name: str) -> None:
    path, example = FOLDER / f"{name}.json", EXAMPLES[name]
    if REWRITE:
        if path.exists():
            lost = paths(json.loads(path.read_text())) - paths(wire(example))
            assert not lost, f"{name} lost {sorted(lost)}; add fields, never rename or remove them"
        path.write_text(json.dumps(wire(example), ensure_ascii=False, indent=2) + "\n")
    assert wire(example) == json.loads(path.read_text())


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_the_pinned_form_is_read_back_as_it_was(name: str) -> None:
    example = EXAMPLES[name]
    assert type(example).model_validate_json((FOLDER / f"{name}.json").read_bytes()) == example


def test_no_pinned_form_is_left_without_its_message() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == set(EXAMPLES)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_a_newer_senders_extra_field_is_ignored(name: str) -> None:
    example = EXAMPLES[name]
    newer = wire(example) | {"fieldOfTheFuture": {"a": [1]}}
    assert type(example).model_validate_json(json.dumps(newer)) == example


@pytest.mark.parametrize(
    ("model", "required"),
    [
        (CaseRequested, {"run_id", "account_id", "result_id", "case", "agent"}),
        (JudgeRequested, {"run_id", "account_id", "result_id", "case_id", "criteria", "transcript", "judge"}),
        (CaseExecuted, {"run_id", "result_id", "case_id", "started_at", "finished_at"}),
        (CaseJudged, {"run_id", "result_id", "case_id", "finished_at"}),
        (RunCompleted, {"run_id", "account_id", "integration_id", "status", "completed_at", "summary"}),
    ],
)
def test_a_field_that_was_added_has_a_default(model: type[Message], required: set[str]) -> None:
    assert {name for name, field in model.model_fields.items() if field.is_required()} == required


def test_names_on_the_wire_are_camel_case() -> None:
    free_text = {"outcomes", "outcomePaths", "byCategory", "byPriority", "errorsByCode", "parametersSchema"}
    free_text |= {"data", "args", "argsRegex", "result", "body"}

    def check(value: Any) -> None:
        match value:
            case dict():
                for key, item in value.items():
                    assert "_" not in key, key
                    assert key[:1].islower(), key
                    if key not in free_text:
                        check(item)
            case list():
                for item in value:
                    check(item)
            case _:
                pass

    for example in EXAMPLES.values():
        check(wire(example))


def test_ids_are_the_job_whatever_the_delivery() -> None:
    requested, executed = EXAMPLES["case.requested"], EXAMPLES["case.executed"]
    judge, judged = EXAMPLES["judge.requested"], EXAMPLES["case.judged"]
    assert isinstance(requested, CaseRequested)
    assert isinstance(executed, CaseExecuted)
    assert isinstance(judge, JudgeRequested)
    assert isinstance(judged, CaseJudged)
    job = job_id(requested.run_id, requested.case.id, 2, 3)
    assert requested.id() == executed.id() == job
    assert judge.id() == judged.id() == f"{job}:judge"


def test_not_a_number_never_reaches_the_wire() -> None:
    executed = EXAMPLES["case.executed"]
    odd = executed.model_copy(update={"outcomes": {"price": float("nan"), "rate": float("inf")}})
    assert b"NaN" not in odd.model_dump_json().encode()
    assert json.loads(odd.model_dump_json())["outcomes"] == {"price": None, "rate": None}


def test_examples_fit_the_bus() -> None:
    assert all(len(example.model_dump_json().encode()) < MAX_BODY_BYTES for example in EXAMPLES.values())
