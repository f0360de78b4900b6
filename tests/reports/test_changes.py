from __future__ import annotations

from proctor_grading.diff import diff
from proctor_reports.changes import render_diff
from tests.grading.rows import row
from tests.reports.documents import uid


def test_what_is_in_both_runs_is_counted_apart_from_what_was_graded_in_both() -> None:
    before = [row(1, "passed"), row(2, "passed"), row(3, "passed")]
    text = render_diff(diff(uid(1), uid(2), before, [row(1, "error"), row(2, "passed")]), width=200)
    assert "only 33% of the cases graded in either run were graded in both" in text
    assert "2 of 3 cases are in both runs" in text


def test_a_case_that_can_be_told_at_last_is_fixed() -> None:
    text = render_diff(diff(uid(1), uid(2), [row(1, "error")], [row(1, "passed")]))
    assert "Fixed (1)" in text
    assert "error -> passed" in text
