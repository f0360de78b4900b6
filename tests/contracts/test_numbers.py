"""Numbers that users type: what is none is refused, and nothing is read as another one."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from proctor_contracts.agents import JudgeSettings
from proctor_contracts.assertions import Assertion
from proctor_contracts.cases import CaseBudget, CaseFields
from proctor_contracts.gate import GateSettings
from proctor_contracts.schemas.runs import RunCreate

CHECK: TypeAdapter[Any] = TypeAdapter(Assertion)
CASE = {
    "name": "x",
    "category": "c",
    "input": {"kind": "scripted_single", "message": "m"},
    "assertions": [{"kind": "contains", "value": "a"}],
}
RUN = {"integrationId": "0192f0c4-0000-7000-8000-000000000000"}


def _read(where: str, value: Any) -> Any:
    match where.split("."):
        case ["case", field]:
            return CaseFields.model_validate(CASE | {field: value})
        case ["budget", field]:
            return CaseBudget.model_validate({field: value})
        case ["gate", field]:
            return GateSettings.model_validate({field: value})
        case ["run", field]:
            return RunCreate.model_validate(RUN | {field: value})
        case ["judge", field]:
            return JudgeSettings.model_validate({"provider": "openai", "model": "m", field: value})
        case [kind, field]:
            given = {
                "regex": {"pattern": "a"},
                "tool_call": {"toolName": "a"},
                "judge_check": {"rubric": "a"},
            }
            return CHECK.validate_python(
                {"kind": kind.removesuffix("_check"), **given.get(kind, {}), field: value}
            )
        case _:
            raise AssertionError(where)


@pytest.mark.parametrize(
    "where",
    [
        "case.weight", "case.threshold", "budget.maxTokens", "budget.maxCostCents", "gate.minPassRate",
        "gate.maxP95LatencyMs", "run.repeats", "run.scoreThreshold", "run.budgetCents", "run.concurrency",
        "judge.votes", "judge_check.votes", "regex.weight", "tool_call.minOccurrence", "latency.maxMs",
        "cost.maxCents", "grounded_facts.threshold",
    ],
)  # fmt: skip
def test_a_text_or_true_is_no_number(where: str) -> None:
    assert _read(where, 1)
    assert _read(where, 1.0)
    for value in (True, "1", "1.0", [1]):
        with pytest.raises(ValidationError):
            _read(where, value)


def test_no_part_of_a_number_is_dropped() -> None:
    for where in ("case.weight", "case.threshold", "run.repeats", "tool_call.minOccurrence"):
        with pytest.raises(ValidationError, match="fractional"):
            _read(where, 1.5)
