"""A failed check is told even where its case passed, and places are counted as readers count."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from proctor_contracts.enums import Role
from proctor_contracts.results import Verdict, Where
from proctor_contracts.schemas.runs import ResultView
from proctor_reports.junit import render_junit
from proctor_reports.markdown import render_markdown
from proctor_reports.reading import place
from proctor_reports.terminal import render_terminal
from tests.reports.documents import check, document, result, said


def flawed(number: int) -> ResultView:
    broken = check(index=1, message=f"nothing said of {number}", expected="“refund”", seen="no idea")
    return result(number, score=80, assertion_results=(check(verdict=Verdict.PASSED), broken))


def test_every_report_for_people_shows_what_failed_in_a_pass() -> None:
    run = document(flawed(1), result(2))
    for text in (render_terminal(run), render_markdown(run)):
        assert "Passed with failed checks (1)" in text
        assert "score 80, needs 70" in text
        assert "nothing said of 1" in text
        assert "“refund”" in text
        assert "no idea" in text
        assert "RM-2" not in text


def test_junit_notes_it_without_failing_the_case() -> None:
    root = ET.fromstring(render_junit(document(flawed(1), result(2))))  # noqa: S314 - our own output
    assert root.attrib["failures"] == "0"
    (note,) = root.iter("system-out")
    assert note.text is not None
    assert note.text.startswith("passed with failed checks (score 80, needs 70)")
    assert "nothing said of 1" in note.text


def test_many_of_them_are_counted_not_listed() -> None:
    run = document(*map(flawed, range(1, 41)))
    text = render_terminal(run)
    assert "nothing said of 10" in text
    assert "nothing said of 11" not in text
    assert "… and 30 more cases" in text
    assert "… and 10 more" in render_markdown(run)


def test_a_run_without_any_says_nothing_of_it() -> None:
    run = document(result(1))
    assert "failed checks" not in render_terminal(run) + render_markdown(run) + render_junit(run)


def test_a_message_is_numbered_among_those_of_its_side() -> None:
    talk = (said("hi", Role.TESTER), said("hello"), said("and?", Role.TESTER, 2), said("42", turn=2))
    assert place(check(where=Where(entry=3)), talk) == "agent message 2 (turn 2)"
    assert place(check(where=Where(entry=1, excerpt="hello")), talk) == "agent message 1 (turn 1), “hello”"
    assert place(check(where=Where(entry=9)), talk) == "entry 10 of the conversation"
