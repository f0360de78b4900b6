from __future__ import annotations

import pytest

from proctor_contracts.diff import PairedTest
from proctor_contracts.summary import RunSummary
from proctor_grading.corrections import ALPHA, FALSE_DISCOVERIES
from proctor_grading.diff import diff
from proctor_grading.summary import summarise
from proctor_reports import evidence
from proctor_reports.changes import render_diff
from proctor_reports.evidence import points, rates_text, repeats_text, unstable_text, verdict_text
from proctor_reports.markdown import render_markdown
from proctor_reports.terminal import render_terminal
from tests.grading.rows import row
from tests.reports.documents import document, result, uid


def compared(said: str, category: str = "Мова") -> PairedTest:
    """One letter a case: b broke, f was fixed, p passes in both."""
    before = [row(n, "failed" if one == "f" else "passed", category=category) for n, one in enumerate(said)]
    after = [row(n, "failed" if one == "b" else "passed", category=category) for n, one in enumerate(said)]
    test = diff(uid(1), uid(2), before, after).test
    assert test is not None
    return test


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (-0.14, "-14 points"),
        (0.0758, "+7.6 points"),
        (0, "0 points"),
        (-0.0001, "0 points"),
        (1, "+100 points"),
    ],
)
def test_points(share: float, text: str) -> None:
    assert points(share) == text


def test_a_difference_is_told_with_its_interval_and_what_could_have_been_shown() -> None:
    test = compared("b" * 10 + "fff" + "p" * 37)
    assert rates_text(test) == "pass rate 94 % -> 80 %, -14 points (95 % interval -28.1 to +0.1)"
    assert verdict_text(test) == (
        "3 better, 10 worse of 50 pairs; McNemar mid-p p = 0.057: no evidence of a difference; "
        "smallest one this could have shown: 19.6 points"
    )


def test_a_clear_difference_is_more_than_noise() -> None:
    assert verdict_text(compared("b" * 12 + "p" * 30)).endswith("p = 0.0002: more than noise")


def test_few_cases_are_said_to_be_few() -> None:
    test = compared("bppp")
    assert "few cases" in (rates_text(test) or "")
    assert verdict_text(test).endswith("so few pairs cannot show any")


def test_categories_with_evidence_are_named_and_others_are_not() -> None:
    rows = [
        (row(n, "passed", category=category), row(n, after, category=category))
        for n, (category, after) in enumerate(
            [("Гроші", "failed")] * 8 + [("Мова", "failed")] + [("Мова", "passed")] * 20
        )
    ]
    text = render_diff(diff(uid(1), uid(2), *zip(*rows, strict=True)), width=120)
    assert "Гроші: -100 points (0 better, 8 worse of 8; adjusted p = 0.008)" in text
    assert "Мова: " not in text


def repeated() -> RunSummary:
    said = ["11011", "11111", "10100", "1"]
    return summarise(
        row(number, "passed" if one == "1" else "failed", trial=trial)
        for number, trials in enumerate(said, 1)
        for trial, one in enumerate(trials, 1)
    )


def test_repeats_are_told_by_the_most_trials_made() -> None:
    assert repeats_text(repeated()) == (
        "of 5 trials any passes 100 % (pass@5), all pass 33.3 % (pass^5); 1 cases had fewer"
    )
    assert unstable_text(repeated()) == "RM-3 (2 of 5), RM-1 (4 of 5)"
    assert unstable_text(repeated(), most=1) == "RM-3 (2 of 5), …"
    assert repeats_text(RunSummary()) is None
    assert unstable_text(RunSummary()) is None


def test_reports_tell_of_repeats() -> None:
    shown = document(result(1), summary=repeated())
    assert "unstable   RM-3 (2 of 5)" in render_terminal(shown)
    assert "Most unstable: `RM-3 (2 of 5), RM-1 (4 of 5)`." in render_markdown(shown)


def test_reports_and_tests_hold_evidence_against_the_same_limits() -> None:
    assert (evidence.ALPHA, evidence.FALSE_DISCOVERIES) == (ALPHA, FALSE_DISCOVERIES)
