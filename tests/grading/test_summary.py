from __future__ import annotations

import json
import random

import pytest

from proctor_contracts.enums import Priority
from proctor_contracts.summary import RunSummary
from proctor_contracts.transcript import Usage
from proctor_grading.rows import ResultRow
from proctor_grading.summary import summarise
from tests.grading.rows import row, rows


def test_an_unscored_case_stays_out_of_averages_and_is_shown_beside_them() -> None:
    scored = [row(number, "passed", score=score) for number, score in enumerate((80, 80, 90, 85), 1)]
    summary = summarise([*scored, row(5, "error", error_code="inconclusive")])
    language = summary.by_category["Мова"]
    assert (language.avg_score, language.scored, language.total) == (83.75, 4, 5)
    assert summary.avg_score == 83.75
    assert summary.errors_by_code == {"inconclusive": 1}
    assert "NaN" not in summary.model_dump_json(by_alias=True)


def test_retries_are_not_samples_and_errors_are_not_failures() -> None:
    summary = summarise(
        [
            row(1, "passed", first_status="failed", flaky=True),
            row(2, "failed", first_status="failed"),
            row(3, "error", first_status="error", error_code="overloaded"),
            row(4, "passed", first_status="passed"),
        ]
    )
    assert (summary.total, summary.passed, summary.failed, summary.error, summary.flaky) == (4, 2, 1, 1, 1)
    assert summary.pass_rate == pytest.approx(1 / 3)
    assert summary.pass_rate_after_retries == pytest.approx(2 / 3)
    assert (summary.first_attempt_passed, summary.first_attempt_failed) == (1, 2)


def test_a_run_average_is_weighted_and_group_averages_are_not() -> None:
    summary = summarise([row(1, "passed", weight=3), row(2, "failed", priority=Priority.HIGH)])
    assert summary.avg_score == 75
    assert summary.by_category["Мова"].avg_score == 50
    assert (summary.by_priority["high"].failed, summary.by_priority["medium"].passed) == (1, 1)


def test_results_count_trials_and_cases_count_cases() -> None:
    trials = [
        row(1 + n // 3, status, trial=1 + n % 3) for n, status in enumerate(["passed"] * 5 + ["failed"])
    ]
    summary = summarise(trials)
    assert (summary.total, summary.cases) == (6, 2)
    assert summary.pass_rate_ci95 != summarise(rows(passed=5, failed=1)).pass_rate_ci95


def test_the_interval_of_single_trials_is_wilsons() -> None:
    assert summarise(rows(passed=138, failed=16, error=9)).pass_rate_ci95 == pytest.approx(
        (0.837896, 0.935031), abs=1e-6
    )


def trials(number: int, said: str) -> list[ResultRow]:
    return [
        row(number, "passed" if one == "1" else "failed", trial=trial) for trial, one in enumerate(said, 1)
    ]


def test_several_trials_say_how_often_any_and_all_of_them_pass() -> None:
    summary = summarise([*trials(1, "11011"), *trials(2, "11111"), *trials(3, "10100"), *trials(4, "1")])
    assert [(one.k, one.cases, one.excluded) for one in summary.repeats] == [(k, 3, 1) for k in range(2, 6)]
    two = summary.repeats[0]
    assert two.pass_any == pytest.approx((1 + 1 + 0.7) / 3)
    assert two.pass_all == pytest.approx((0.6 + 1 + 0.1) / 3)


def test_the_most_unstable_cases_come_first() -> None:
    summary = summarise([*trials(1, "11011"), *trials(2, "11111"), *trials(3, "10100"), *trials(4, "1")])
    assert [(case.label, case.passed, case.trials) for case in summary.unstable] == [
        ("RM-3", 2, 5),
        ("RM-1", 4, 5),
    ]
    assert [case.instability for case in summary.unstable] == pytest.approx([0.6, 0.4])
    assert summary.instability == pytest.approx((0.4 + 0 + 0.6) / 3)


def test_retries_are_no_trials() -> None:
    summary = summarise([row(1, "passed", first_status="failed", flaky=True), row(2, "passed")])
    assert (summary.repeats, summary.instability, summary.unstable) == ((), None, ())
    assert summary.flaky_rate == 0.5


def test_an_error_is_no_trial() -> None:
    summary = summarise([*trials(1, "10"), row(1, "error", trial=3)])
    assert [one.k for one in summary.repeats] == [2]
    assert summary.unstable[0].trials == 2


def test_only_the_ten_worst_cases_are_named() -> None:
    summary = summarise([one for number in range(12) for one in trials(number, "10")])
    assert (len(summary.unstable), summary.instability) == (10, 1)


def test_nothing_graded_is_null_everywhere() -> None:
    for empty in (summarise([]), summarise(rows(error=2)), summarise(rows(pending=1, running=1))):
        assert (empty.pass_rate, empty.pass_rate_after_retries, empty.pass_rate_ci95) == (None, None, None)
        assert (empty.avg_score, empty.latency_p95_ms) == (None, None)
        assert (empty.flaky_rate, empty.instability, empty.repeats) == (None, None, ())


def test_an_interval_score_counts_as_a_pass_but_in_no_average() -> None:
    summary = summarise([row(1, "passed", score=None), row(2, "passed", score=80)])
    assert (summary.passed, summary.scored, summary.avg_score) == (2, 1, 80)


def test_money_tokens_and_times_add_up() -> None:
    summary = summarise(
        [
            row(1, "passed", latencies_ms=(100, 200), cost_micro_usd=54_399, usage=Usage(prompt_tokens=3)),
            row(
                2, "failed", latencies_ms=(300,), cost_micro_usd=3_165, judge_usage=Usage(completion_tokens=5)
            ),
        ],
        duration_ms=9,
    )
    assert summary.cost_cents == pytest.approx(5.7564)
    assert (summary.usage.total, summary.judge_usage.total) == (3, 5)
    assert (summary.latency_p50_ms, summary.latency_p95_ms, summary.duration_ms) == (200, 300, 9)


def test_an_unknown_price_makes_the_cost_unknown_not_zero() -> None:
    assert (
        summarise([row(1, "passed", cost_micro_usd=None), row(2, "passed", cost_micro_usd=5)]).cost_cents
        is None
    )


def test_critical_cases_are_named_once() -> None:
    summary = summarise(
        [
            row(1, "failed", critical=True, trial=1),
            row(1, "failed", critical=True, trial=2),
            row(2, "error", critical=True, ref=None),
            row(3, "failed"),
        ]
    )
    assert (summary.critical_failed, summary.critical_error) == (("RM-1",), ("Кейс 2",))


def test_reviews_are_counted() -> None:
    assert summarise([row(1, "passed", needs_review=True), row(2, "passed")]).needs_review == 1


def test_the_order_of_rows_does_not_matter() -> None:
    source = random.Random(3)
    all_rows = [
        row(
            number % 40,
            source.choice(["passed", "failed", "error", "cancelled"]),
            trial=1 + number // 40,
            category=source.choice(["А", "Б"]),
            latencies_ms=(source.randrange(900),),
        )
        for number in range(120)
    ]
    shuffled = source.sample(all_rows, len(all_rows))
    one, other = summarise(all_rows), summarise(shuffled)
    assert one == other
    assert one.total == one.passed + one.failed + one.error + one.cancelled
    assert sum(group.total for group in one.by_category.values()) == one.total


def test_a_summary_survives_the_wire() -> None:
    summary = summarise(rows(passed=2, failed=1, error=1))
    sent = summary.model_dump_json(by_alias=True)
    assert RunSummary.model_validate_json(sent) == summary
    assert {"passRate", "passRateCi95", "byCategory", "criticalFailed"} <= json.loads(sent).keys()
