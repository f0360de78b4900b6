from __future__ import annotations

from typing import Any

import pytest

from proctor_contracts.enums import RunStatus
from proctor_contracts.gate import GateOutcome, GateSettings
from proctor_grading.gate import gate
from proctor_grading.rows import ResultRow
from tests.grading.rows import row, rows


def decided(
    given: list[ResultRow], status: RunStatus = RunStatus.COMPLETED, **settings: Any
) -> tuple[int, set[str]]:
    decision = gate(given, GateSettings(**settings), status)
    assert decision.exit_code == {"passed": 0, "failed": 1, "undecided": 2}[decision.outcome]
    return decision.exit_code, {reason.code for reason in decision.reasons}


@pytest.mark.parametrize(
    ("counts", "code", "reasons"),
    [
        ({}, 2, {"nothing_graded"}),
        ({"error": 10}, 2, {"nothing_graded", "errors_high"}),
        ({"passed": 9, "error": 1}, 2, {"errors_high"}),
        ({"passed": 19, "error": 1}, 0, set()),
        ({"passed": 9, "failed": 1}, 0, set()),
        ({"passed": 8, "failed": 2}, 1, {"pass_rate_low"}),
        ({"passed": 8, "failed": 2, "error": 5}, 1, {"pass_rate_low", "errors_high"}),
        ({"passed": 9, "pending": 1}, 2, {"run_unfinished"}),
        ({"passed": 9, "cancelled": 1}, 2, {"results_cancelled"}),
    ],
)
def test_only_measured_passes_open_the_gate(counts: dict[str, int], code: int, reasons: set[str]) -> None:
    assert decided(rows(**counts)) == (code, reasons)


@pytest.mark.parametrize("tenths", range(1, 11))
def test_rates_equal_in_decimal_are_equal(tenths: int) -> None:
    given = rows(passed=tenths, failed=10 - tenths)
    assert decided(given, min_pass_rate=tenths / 10)[0] == 0
    assert decided(given, min_pass_rate=tenths / 10 - 0.01)[0] == 0
    if tenths < 10:
        assert decided(given, min_pass_rate=tenths / 10 + 0.01)[0] == 1


def test_the_rate_is_of_first_attempts() -> None:
    lucky = [row(number, "passed", first_status="failed", flaky=True) for number in range(10)]
    assert decided(lucky) == (1, {"pass_rate_low"})


@pytest.mark.parametrize("marked", [{"critical": True}, {"category": "Безпека"}, {"tags": ("гроші",)}])
@pytest.mark.parametrize(
    ("status", "code", "reason"),
    [("failed", 1, "critical_failed"), ("error", 2, "critical_undecided"), ("passed", 0, None)],
)
def test_a_critical_case_decides_alone(
    marked: dict[str, Any], status: str, code: int, reason: str | None
) -> None:
    given = [*rows(passed=30), row(99, status, **marked)]
    expected = set() if reason is None else {reason}
    assert decided(given, critical=("Безпека", "гроші")) == (code, expected)


def test_a_failure_outranks_a_doubt_and_stands_first() -> None:
    decision = gate(rows(passed=1, failed=9, error=9), GateSettings(), RunStatus.CANCELLED)
    assert decision.outcome is GateOutcome.FAILED
    assert [reason.code for reason in decision.reasons] == ["pass_rate_low", "errors_high", "run_cancelled"]
    assert decision.reasons[0].message == "pass rate 1/10 = 10.0% is below 90%"


def test_a_cancelled_run_is_undecided() -> None:
    assert decided(rows(passed=9), RunStatus.CANCELLED) == (2, {"run_cancelled"})
    assert decided(rows(passed=9), RunStatus.RUNNING) == (2, {"run_unfinished"})


@pytest.mark.parametrize(("limit", "expected"), [(300, (0, set())), (299, (1, {"latency_high"}))])
def test_a_latency_budget(limit: int, expected: tuple[int, set[str]]) -> None:
    assert decided([row(1, "passed", latencies_ms=(100, 300))], max_p95_latency_ms=limit) == expected


@pytest.mark.parametrize(
    ("cost", "expected"),
    [(3_000, (0, set())), (3_001, (1, {"cost_high"})), (None, (2, {"cost_unknown"}))],
)
def test_a_cost_budget(cost: int | None, expected: tuple[int, set[str]]) -> None:
    assert decided([row(1, "passed", cost_micro_usd=cost)], max_cost_cents=0.3) == expected


def test_unknown_latency_is_a_doubt_only_where_it_was_asked_for() -> None:
    assert decided(rows(passed=1)) == (0, set())
    assert decided(rows(passed=1), max_p95_latency_ms=1) == (2, {"latency_unknown"})


def test_confidence_is_asked_for_explicitly() -> None:
    assert decided(rows(passed=20), min_pass_rate=0.9)[0] == 0
    assert decided(rows(passed=34), min_pass_rate=0.9, confidence="wilson_lower") == (1, {"pass_rate_low"})
    assert decided(rows(passed=35), min_pass_rate=0.9, confidence="wilson_lower")[0] == 0


def test_a_suite_without_a_gate_asks_for_every_case() -> None:
    assert decided(rows(passed=99, failed=1), min_pass_rate=1) == (1, {"pass_rate_low"})
    assert decided(rows(passed=99), min_pass_rate=1)[0] == 0


def test_a_made_up_ref_stands_beside_the_name_it_was_made_of() -> None:
    named = row(1, "failed", ref="case-0123456789", name="Opening hours", critical=True)
    own = row(2, "failed", ref="RM-7", name="Name", critical=True)
    (reason, *_) = gate([named, own], GateSettings(), RunStatus.COMPLETED).reasons
    assert reason.message == "critical cases failed: Opening hours (case-0123456789), RM-7"


def test_a_regression_fails_whatever_the_pass_rate() -> None:
    passed = rows(passed=10)
    decision = gate(passed, GateSettings(), RunStatus.COMPLETED, regressions=["Мова got worse"])
    assert (decision.outcome, decision.exit_code) == (GateOutcome.FAILED, 1)
    assert [(reason.code, reason.message) for reason in decision.reasons] == [
        ("regression", "Мова got worse")
    ]
