from __future__ import annotations

from typing import Any

from proctor_contracts.enums import Provider, ResultStatus
from proctor_contracts.stability import CaseStability, CaseTrial, StabilityReport
from proctor_contracts.verdicts import Stability
from proctor_grading.repeats import instability, quarantine, stability
from proctor_grading.statistics import wilson
from proctor_reports.stability import render_stability
from tests.reports.documents import START, uid


def steadiness(said: str, **more: Any) -> CaseStability:
    """A case by its trials: p passed, f failed."""
    n, c = len(said), said.count("p")
    ends = {"p": ResultStatus.PASSED, "f": ResultStatus.FAILED}
    values: dict[str, Any] = {
        "case_id": uid(1), "case_ref": "RM-1", "case_name": "Вітання", "category": "Мова", "revision": 1,
        "trials": n, "passed": c, "pass_rate_ci95": wilson(c, n), "instability": instability(n, c),
        "stability": stability(n, c), "quarantine": quarantine(n, c),
        "recent": tuple(CaseTrial(run_id=uid(2), trial=1, status=ends[one], at=START) for one in said[-20:]),
    }  # fmt: skip
    return CaseStability(**values | more)


def report(*cases: CaseStability, **more: Any) -> StabilityReport:
    counts = {Stability.FLAKY: 1, Stability.STABLE_PASS: 3}
    return StabilityReport(
        integration_id=uid(3), like=uid(4), provider=Provider.OPENAI, model="m", runs=8, counts=counts,
        cases=cases, **more,
    )  # fmt: skip


def test_cases_that_disagree_are_shown_with_their_trials() -> None:
    text = render_stability(report(steadiness("ppfppppp"), steadiness("pppppp", case_ref="RM-2")))
    assert "✓✓✗✓✓✓✓✓" in text
    assert "7/8" in text
    assert "25 %" in text
    assert "RM-1 · Вітання [Мова] (set apart until it is understood?)" in text
    assert "RM-2" not in text
    assert "1 flaky, 3 always pass; first attempts of 8 runs" in text
    assert f"run {uid(4)} on openai · m" in text


def test_every_case_is_shown_on_request_and_only_the_last_trials() -> None:
    text = render_stability(report(steadiness("p" * 30, case_ref=None)), every=True)
    assert "✓" * 20 in text
    assert "✓" * 21 not in text
    assert "30/30" in text
    assert "no case passed and failed" in render_stability(report(steadiness("p" * 30)))


def test_critical_cases_are_marked_and_names_cannot_act_on_the_terminal() -> None:
    hostile = steadiness("pf", critical=True, case_name="\x1b[31m" + "довга назва " * 30, quarantine=False)
    text = render_stability(report(hostile), width=70)
    assert "CRITICAL" in text
    assert "\x1b" not in text
    assert max(map(len, text.splitlines()[1:3])) <= 70
    assert "set apart" not in text


def test_no_run_is_said() -> None:
    assert render_stability(StabilityReport(integration_id=uid(3))) == "no run is over yet\n"
