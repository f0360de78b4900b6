from __future__ import annotations

import json
from typing import Any

import pytest

from proctor_casefiles.drafts import FileRefused
from proctor_casefiles.golden import read_golden
from proctor_contracts.assertions import ContainsAll, Outcome, ToolCall
from proctor_contracts.cases import CaseFields
from tests.casefiles.golden import THREE


def cases(value: Any) -> list[CaseFields]:
    return [CaseFields.model_validate(draft.fields) for draft in read_golden(value).drafts]


def problems(value: Any) -> dict[str | None, str]:
    return {
        problem.path: problem.message for draft in read_golden(value).drafts for problem in draft.problems
    }


def test_the_dataset_is_read_as_it_is() -> None:
    billing, angry, legal = cases(THREE)
    assert billing.ref == billing.name == "billing-double-charge"
    assert billing.category == "billing"
    assert billing.assertions == (
        Outcome(field="department", equals="billing"),
        ToolCall(tool_name="lookup_invoices"),
        ToolCall(tool_name="create_refund_ticket"),
        ToolCall(tool_name="close_conversation", must_not_match=True),
        ContainsAll(values=("повернення", "тикет"), case_insensitive=True),
    )
    assert ContainsAll(values=("пароль",), case_insensitive=True) in angry.assertions
    assert [one.kind for one in legal.assertions] == ["outcome", "tool_call", "tool_call"]


def test_what_a_case_may_say_besides_is_kept() -> None:
    reference = {"messages": [{"content": "Ось пароль"}]}
    (case,) = cases(
        [
            {
                **THREE[1],
                "name": "Злий",
                "priority": "high",
                "critical": True,
                "tags": ["a"],
                "reference": reference,
            }
        ]
    )
    assert (case.name, case.priority, case.critical, case.tags) == ("Злий", "high", True, ("a",))
    assert case.reference is not None


def test_a_draft_speaks_only_of_what_the_dataset_says() -> None:
    reading = read_golden(THREE)
    assert not reading.whole
    assert all(
        set(draft.fields) == {"ref", "name", "category", "input", "assertions"} for draft in reading.drafts
    )


def test_a_faulty_entry_does_not_spoil_the_others() -> None:
    value = [
        {"id": 3, "input": "x", "expected": {"tool": ["a"], "tools": "a"}},
        7,
        {"id": "a", "input": "b"},
        {"id": "a", "input": "b", "expected": {"department": 5}},
        THREE[0],
    ]
    found = problems(value)
    assert set(found) == {
        "0.id",
        "0.expected.tool",
        "0.expected.tools",
        "1",
        "2.expected",
        "3.expected.department",
    }
    assert "did you mean tools?" in found["0.expected.tool"]
    assert [bool(draft.problems) for draft in read_golden(value).drafts] == [True, True, True, True, False]


def test_an_entry_without_any_expectation_is_told() -> None:
    empty = {"id": "a", "input": "b", "expected": {"tools": [], "answer_must_mention": []}}
    assert "nothing to check" in problems([empty])["0.expected"]


def test_a_problem_of_a_field_is_put_where_the_dataset_has_it() -> None:
    (draft, *_) = read_golden(THREE).drafts
    assert draft.at("input.message", "is empty").path == "0.input.message"
    assert draft.at("ref", "is too long").path == "0.id"


@pytest.mark.parametrize("value", [{}, "text", None, json.loads('{"cases": []}')])
def test_anything_but_a_list_is_refused(value: Any) -> None:
    with pytest.raises(FileRefused, match="a golden dataset is a list"):
        read_golden(value)
