"""Short ways to say a conversation and to grade it."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from proctor_contracts.assertions import Assertion
from proctor_contracts.cases import CaseFields
from proctor_contracts.effects import Effect
from proctor_contracts.enums import Role
from proctor_contracts.results import AssertionResult, Verdict
from proctor_contracts.transcript import ToolCallRecord, TranscriptEntry
from proctor_grading.context import GradingContext
from proctor_grading.engine import grade
from proctor_grading.regex import QuickJsRegex

REGEX = QuickJsRegex()
_ASSERTION: TypeAdapter[Assertion] = TypeAdapter(Assertion)


def assertion(kind: str, **fields: Any) -> Assertion:
    return _ASSERTION.validate_python({"kind": kind, **fields})


def user(text: str = "Питання") -> TranscriptEntry:
    return TranscriptEntry(role=Role.TESTER, content=text)


def agent(text: str, *calls: ToolCallRecord, **fields: Any) -> TranscriptEntry:
    return TranscriptEntry(role=Role.AGENT, content=text, tool_calls=calls, **fields)


def call(name: str, args: Any = None, **fields: Any) -> ToolCallRecord:
    return ToolCallRecord(name=name, args=args, **fields)


def turn(*calls: ToolCallRecord, text: str = "Готово") -> tuple[TranscriptEntry, TranscriptEntry]:
    return user(), agent(text, *calls)


def write(entity: str, data: dict[str, Any] | None = None, **fields: Any) -> Effect:
    values: dict[str, Any] = {"action": "create", "tool": f"create_{entity}", "turn": 1, "call": 1} | fields
    return Effect(entity=entity, data=data or {}, **values)


def context(**fields: Any) -> GradingContext:
    values: dict[str, Any] = {"regex": REGEX, "tools_captured": True} | fields
    return GradingContext(**values)


def check(
    wanted: Assertion, *entries: TranscriptEntry | str, known: GradingContext | None = None
) -> AssertionResult:
    """Grade one assertion; a bare string is an agent's answer to a question."""
    transcript: list[TranscriptEntry] = []
    for entry in entries:
        transcript.extend([user(), agent(entry)] if isinstance(entry, str) else [entry])
    return grade([wanted], transcript, known or context())[0]


def holds(wanted: Assertion, *entries: TranscriptEntry | str, known: GradingContext | None = None) -> bool:
    """Whether an assertion passes; anything but a pass or a failure is a mistake of the test."""
    result = check(wanted, *entries, known=known)
    assert result.verdict in {Verdict.PASSED, Verdict.FAILED}, result
    return result.verdict is Verdict.PASSED


def result(
    verdict: str | Verdict, weight: int = 1, *, kind: str = "contains", required: bool = False, **fields: Any
) -> AssertionResult:
    verdict = Verdict(verdict)
    passed = {Verdict.PASSED: True, Verdict.FAILED: False}.get(verdict)
    return AssertionResult(
        index=0, kind=kind, weight=weight, required=required, verdict=verdict, passed=passed, **fields
    )


def case(*assertions: dict[str, Any], **fields: Any) -> CaseFields:
    body = {
        "name": "Кейс",
        "category": "Мова",
        "input": {"kind": "scripted_single", "message": "Питання"},
        "assertions": assertions,
    }
    return CaseFields.model_validate(body | fields)
