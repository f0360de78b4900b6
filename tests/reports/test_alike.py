"""One cause that stops many cases is told once."""

from __future__ import annotations

from proctor_contracts.enums import Blame, ResultStatus
from proctor_contracts.results import CaseError
from proctor_contracts.schemas.runs import ResultView
from proctor_reports.terminal import render_terminal
from tests.reports.documents import document, result

AWAY = CaseError(code="provider_unavailable", message="nothing listens there", blame=Blame.AGENT)
OTHER = CaseError(code="timeout", message="too slow", blame=Blame.AGENT)


def errored(number: int, error: CaseError = AWAY) -> ResultView:
    return result(number, ResultStatus.ERROR, error=error, critical=number == 2)


def test_the_same_error_of_many_cases_is_told_once() -> None:
    text = render_terminal(document(*map(errored, range(1, 9)), errored(20, OTHER)))
    assert text.count("nothing listens there") == 1
    assert "! 8 results (error: provider_unavailable, blame: agent)" in text
    assert "- RM-2 · Case 2 CRITICAL\n    - RM-1 · Case 1\n" in text
    assert "… and 3 more" in text
    assert "! RM-20 · Case 20 (error: timeout, blame: agent)" in text


def test_two_of_a_kind_are_told_each() -> None:
    text = render_terminal(document(errored(1), errored(3)))
    assert text.count("nothing listens there") == 2
