"""Pydantic's errors in the words of the API."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from proctor_api.problems import field_problems, kinds
from proctor_contracts.alerts import AlertSettings
from proctor_contracts.cases import CaseFields
from proctor_contracts.schemas.cases import BulkCases
from proctor_contracts.schemas.integrations import HandlerCreate
from proctor_contracts.schemas.schedules import SchedulePreview
from tests.api.conftest import case


def problems(model: type[BaseModel], document: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(document)
    found = field_problems(caught.value.errors(), document)
    assert len({one.path for one in found.errors}) == len(found.errors)
    return {one.path: one.message for one in found.errors}


def assertion(**more: Any) -> dict[str, Any]:
    return case(assertions=[{"kind": "contains", "value": "a"}, more])


def test_the_tag_of_a_union_is_no_part_of_a_path() -> None:
    assert problems(CaseFields, assertion(kind="regex")) == {"assertions.1.pattern": "is required"}
    assert problems(CaseFields, assertion(kind="regex", pattern=5)) == {
        "assertions.1.pattern": "should be a valid string"
    }
    assert problems(CaseFields, case(input={"kind": "scripted_multi", "messages": [{"role": "user"}]})) == {
        "input.messages.0.content": "is required"
    }


def test_a_field_named_like_its_kind_is_still_a_field() -> None:
    found = problems(CaseFields, assertion(kind="contains", value="a", contains="b"))
    assert found == {"assertions.1.contains": "is not a known field"}


@pytest.mark.parametrize("given", ["regexp", "tool_arg"])
def test_an_unknown_kind_names_those_accepted(given: str) -> None:
    found = problems(CaseFields, assertion(kind=given))
    assert list(found) == ["assertions.1.kind"]
    for kind in ("regex", "contains", "judge", "grounded_facts"):
        assert kind in found["assertions.1.kind"]


def test_a_missing_kind_names_those_accepted() -> None:
    found = problems(CaseFields, case(input={"message": "x"}))
    assert found == {"input.kind": "is required; the kinds accepted are scripted_single, scripted_multi"}


def test_a_kind_of_a_later_release_says_so_with_its_own_code() -> None:
    document = case(input={"kind": "persona_dialog", "personaId": "x"})
    with pytest.raises(ValidationError) as caught:
        CaseFields.model_validate(document)
    found = field_problems(caught.value.errors(), document)
    assert (found.status, found.code) == (400, "not_available_yet")
    assert found.errors[0].code == "not_available_yet"


def test_members_of_a_plain_union_are_one_problem() -> None:
    found = problems(CaseFields, assertion(kind="tool_call", toolName="t", argsRegex=5))
    assert list(found) == ["assertions.1.argsRegex"]
    assert "string" in found["assertions.1.argsRegex"]
    found = problems(HandlerCreate, {"name": "t", "headers": {"X-Key": {"secret": "not a name!"}}})
    assert set(found) == {"headers.X-Key", "headers.X-Key.secret"}


def test_paths_use_the_names_that_were_sent_and_camel_case_for_what_was_not() -> None:
    assert list(problems(CaseFields, case(retryPolicy="often"))) == ["retryPolicy"]
    assert list(problems(CaseFields, case(retry_policy="often"))) == ["retry_policy"]
    assert list(problems(CaseFields, case(budget={"maxLatencyMs": 0}))) == ["budget.maxLatencyMs"]
    assert list(problems(BulkCases, {"cases": [case()]})) == ["integrationId"]


def test_bulk_paths_lead_to_the_case() -> None:
    document = {
        "integrationId": "01890000-0000-7000-8000-000000000000",
        "cases": [case(), case(assertions=[{"kind": "lang", "expected": "UKR"}])],
    }
    assert list(problems(BulkCases, document)) == ["cases.1.assertions.0.expected"]


@pytest.mark.parametrize(
    ("document", "path", "part"),
    [
        (case(ref="ї" * 65), "ref", "at most 64 characters"),
        (case(name="   "), "name", "should not be empty"),
        (case(name="a\x00b"), "name", "NUL"),
        (case(name="a\ud800b"), "name", "lone surrogate"),
        (case(weight=99_999_999_999), "weight", "less than or equal to 10000"),
        (case(weight=0), "weight", "greater than or equal to 1"),
        (case(threshold=101), "threshold", "less than or equal to 100"),
        (case(threshold=70.5), "threshold", "fractional part"),
        (case(assertions=[]), "assertions", "at least 1 item"),
        (case(priority="urgent"), "priority", "'high', 'medium' or 'low'"),
        (assertion(kind="tool_call", toolName="t", maxOccurrence=0), "assertions.1", "no number of calls"),
        (assertion(kind="cost"), "assertions.1", "exactly one of maxCents and maxTokens"),
    ],
)
def test_a_wrong_value_says_what_would_be_right(document: dict[str, Any], path: str, part: str) -> None:
    found = problems(CaseFields, document)
    assert list(found) == [path]
    assert part in found[path]


@pytest.mark.parametrize(
    ("model", "document", "path", "message"),
    [
        (
            AlertSettings,
            {"webhookSecret": "whsec_abc"},
            "webhookSecret",
            'should be {"secret": "NAME"}, the name of a secret instead of its value',
        ),
        (CaseFields, case(budget=5), "budget", "should be an object"),
        (
            SchedulePreview,
            {"cronExpression": "0 3 * * *", "after": "2026-03-29T00:00:00"},
            "after",
            "should say its time zone, as 2026-03-29T00:00:00Z does",
        ),
    ],
)
def test_no_name_of_a_class_is_in_a_message(
    model: type[BaseModel], document: dict[str, Any], path: str, message: str
) -> None:
    assert problems(model, document) == {path: message}


def test_integral_floats_are_integers() -> None:
    accepted = CaseFields.model_validate(case(threshold=70.0, weight=1e0))
    assert (accepted.threshold, accepted.weight) == (70, 1)


def test_every_kind_is_listed_once() -> None:
    assert kinds("input") == ("scripted_single", "scripted_multi")
    assert len(set(kinds("assertions"))) == len(kinds("assertions")) >= 14
