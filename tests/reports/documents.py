"""Runs to report on, built by hand so that every number in them is chosen."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from proctor_contracts.effects import Action, Effect
from proctor_contracts.enums import (
    Blame,
    Priority,
    Provider,
    ResultStatus,
    Role,
    RunMode,
    Runner,
    RunStatus,
    Trigger,
)
from proctor_contracts.gate import GateDecision, GateOutcome, GateReason
from proctor_contracts.results import AssertionResult, CaseError, Verdict, Where
from proctor_contracts.schemas.runs import AttemptView, ResultView, RunDocument, RunProgress, RunView
from proctor_contracts.summary import GroupSummary, RunSummary
from proctor_contracts.transcript import ToolCallRecord, TranscriptEntry, Usage

START = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


def uid(number: int) -> UUID:
    """Make a readable id."""
    return UUID(f"01990000-0000-7000-8000-{number:012d}")


def said(text: str, role: Role = Role.AGENT, turn: int = 1) -> TranscriptEntry:
    """One message."""
    return TranscriptEntry(role=role, content=text, turn=turn)


def check(**fields: Any) -> AssertionResult:
    """One failed check, unless told otherwise."""
    given: dict[str, Any] = {"index": 0, "kind": "contains", "verdict": Verdict.FAILED, "passed": False}
    return AssertionResult(**(given | fields))


def result(number: int, status: ResultStatus = ResultStatus.PASSED, **fields: Any) -> ResultView:
    """One result of case `number`."""
    given: dict[str, Any] = {
        "id": uid(1000 + number), "run_id": uid(1), "case_id": uid(number), "case_ref": f"RM-{number}",
        "case_name": f"Case {number}", "category": "Мова", "priority": Priority.MEDIUM, "critical": False,
        "weight": 1, "threshold": 70, "trial": 1, "status": status,
        "score": {ResultStatus.PASSED: 100, ResultStatus.FAILED: 0}.get(status),
        "evaluation": None, "assertion_results": (), "transcript": (said("Вітаю!"),), "duration": 1200,
        "duration_ms": 1200, "usage": Usage(prompt_tokens=10, completion_tokens=5), "cost_cents": 0.25,
        "error": None, "logs": (), "attempt_count": 1, "flaky": False, "first_attempt_status": status,
        "started_at": START, "completed_at": START + timedelta(seconds=1),
    }  # fmt: skip
    return ResultView(**(given | fields))


def document(*results: ResultView, summary: RunSummary | None = None, **fields: Any) -> RunDocument:
    """A finished run with these results; the summary counts them unless given."""
    counts = {status.value: sum(r.status is status for r in results) for status in ResultStatus}
    names = ("passed", "failed", "error", "cancelled")
    summary = summary or RunSummary(
        total=len(results), cases=len({r.case_id for r in results}), **{name: counts[name] for name in names}
    )
    progress = RunProgress(
        total=len(results), done=len(results), flaky=0, **{name: counts[name] for name in names}
    )
    given: dict[str, Any] = {
        "id": uid(1), "integration_id": uid(2), "integration_name": "support-bot",
        "status": RunStatus.COMPLETED, "trigger": Trigger.MANUAL, "mode": RunMode.CASE,
        "runner": Runner.SCRIPTED, "dry_run": True, "agent_prompt_snapshot": "", "score_threshold": None,
        "retries_on_failure": 0, "repeats": 1, "budget_cents": None, "budget_mode": "enforce",
        "provider": Provider.HTTP, "model": None, "judge": None, "judge_policy": "always", "concurrency": 50,
        "pool": "default", "tags": (), "rerun_of": None, "prompt_overridden": False, "created_at": START,
        "started_at": START, "completed_at": START + timedelta(seconds=90), "progress": progress,
        "summary": summary,
    }  # fmt: skip
    return RunDocument(run=RunView(**(given | fields)), results=results)


def mixed() -> RunDocument:
    """A run with everything in it: passes, a failure, an error, a flaky pass, one never run."""
    wrong = said("Так, Рамосу — це ми. " + "Дуже раді. " * 3, turn=1)
    failed = result(
        7, ResultStatus.FAILED, case_name="Бот не пише Рамосу кирилицею", critical=True, score=33,
        transcript=(said("Як називається ваша компанія?", Role.TESTER), wrong),
        assertion_results=(
            check(index=0, verdict=Verdict.PASSED, passed=True),
            check(
                index=1, kind="not_contains", ref="forbid-ramosu", weight=2, required=True, code="found",
                message="found a text that must not occur", expected="no “Рамосу”",
                seen="Так, Рамосу — це ми.", where=Where(entry=1, excerpt="Так, Рамосу"),
            ),
        ),
    )  # fmt: skip
    errored = result(
        8, ResultStatus.ERROR, category="Гроші", cost_cents=None,
        error=CaseError(
            code="missing_key", message="no key for anthropic; set ANTHROPIC_API_KEY",
            blame=Blame.INFRASTRUCTURE,
        ),
    )  # fmt: skip
    flaky = result(
        9, category="Гроші", flaky=True, attempt_count=2, first_attempt_status=ResultStatus.FAILED,
        attempts=(
            AttemptView(
                attempt=1, status=ResultStatus.FAILED, score=0, transcript=(said("хм"),),
                assertion_results=(check(message="not found", expected="“повернення”", seen="хм"),),
            ),
        ),
    )  # fmt: skip
    never = result(
        10, ResultStatus.CANCELLED, duration_ms=None, duration=None, transcript=(), cost_cents=None
    )
    summary = RunSummary(
        total=5, cases=5, passed=2, failed=1, error=1, cancelled=1, flaky=1, pass_rate=1 / 3,
        pass_rate_after_retries=2 / 3, pass_rate_ci95=(0.0615, 0.7923), first_attempt_passed=1,
        first_attempt_failed=2, avg_score=77.666, scored=3,
        by_category={
            "Мова": GroupSummary(total=3, passed=1, failed=1, cancelled=1, avg_score=66.5, scored=2),
            "Гроші": GroupSummary(total=2, passed=1, error=1, flaky=1, avg_score=100, scored=1),
        },
        usage=Usage(prompt_tokens=50, completion_tokens=25), cost_cents=None, duration_ms=90_000,
        latency_p50_ms=120, latency_p95_ms=1_450, critical_failed=("RM-7",),
        errors_by_code={"missing_key": 1},
    )  # fmt: skip
    gate = GateDecision(
        outcome=GateOutcome.FAILED, exit_code=1,
        reasons=(GateReason(code="critical_failed", message="critical case RM-7 failed"),),
    )  # fmt: skip
    return document(
        result(6), failed, errored, flaky, never, summary=summary, gate_decision=gate, retries_on_failure=1
    )


def tooled() -> RunDocument:
    """A dry gateway run under two weathers: a double refund, and a bot that did not cope with a timeout."""
    calls = (
        ToolCallRecord(name="lookup_invoices", args={}, result=[{"id": "INV-2042"}], duration_ms=20),
        ToolCallRecord(name="create_refund_ticket", args={"invoice": "INV-2042"}, dry_run=True,
                       result={"dryRun": True, "id": "dry-refund_ticket-1"}),
        ToolCallRecord(name="create_refund_ticket", args_raw="{not json", error="invalid_arguments"),
    )  # fmt: skip
    effects = tuple(
        Effect(
            entity="refund_ticket", action=Action.CREATE, key=f"dry-refund_ticket-{number}",
            data={"invoice": "INV-2042"}, tool="create_refund_ticket", turn=1, call=1 + number,
            failed=number == 3,
        )
        for number in (1, 2, 3)
    )  # fmt: skip
    spoken = said("Повертаю кошти.").model_copy(update={"tool_calls": calls})
    double = result(
        1, ResultStatus.FAILED, weather="ok", trial=1, effects=effects,
        transcript=(said("З мене двічі зняли гроші", Role.TESTER), spoken),
        assertion_results=(
            check(kind="state", code="count", message="2 writes of refund_ticket", expected="1", seen="2"),
        ),
    )  # fmt: skip
    lost = result(
        1, ResultStatus.FAILED, weather="timeout@1", trial=2, effects=(),
        assertion_results=(check(kind="state", code="count", message="no write of refund_ticket"),),
    )  # fmt: skip
    fine = [result(2, weather=weather, trial=trial) for trial, weather in ((1, "ok"), (2, "timeout@1"))]
    return document(
        double, lost, *fine, runner=Runner.GATEWAY, provider=Provider.OPENAI, model="m",
        weather=("ok", "timeout@1"),
    )  # fmt: skip
