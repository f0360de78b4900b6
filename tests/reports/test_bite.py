from __future__ import annotations

import re

import pytest

from proctor_contracts.schemas.bite import (
    BiteOutcome,
    BiteReport,
    BiteSummary,
    CaseBite,
    MutantKind,
    MutantStatus,
    MutantView,
    SkippedMutants,
    Suggestion,
)
from proctor_reports.bite import bite_headline, render_bite, render_bite_markdown

ESC = "\x1b"


def mutant(status: MutantStatus, text: str = "said") -> MutantView:
    survived = status is MutantStatus.SURVIVED
    return MutantView(
        name=f"n:{status}",
        kind=MutantKind.MEANING_NEGATED,
        change=text,
        why=text,
        status=status,
        failed=(text,),
        suggestion=Suggestion(message=text, assertion={"kind": "judge", "rubric": text})
        if survived
        else None,
    )


def a_case(
    outcome: BiteOutcome = BiteOutcome.SCORED, text: str = "said", *statuses: MutantStatus
) -> CaseBite:
    return CaseBite(
        ref=text,
        name=f"name {text}",
        category=text,
        outcome=outcome,
        message=text,
        score=50 if outcome is BiteOutcome.SCORED else None,
        killed=statuses.count(MutantStatus.KILLED),
        survived=statuses.count(MutantStatus.SURVIVED),
        left_to_judge=statuses.count(MutantStatus.LEFT_TO_JUDGE),
        undecided=statuses.count(MutantStatus.UNDECIDED),
        mutants=tuple(mutant(status, text) for status in statuses),
        skipped=(SkippedMutants(kind=MutantKind.WRONG_LANGUAGE, reason=text),),
    )


def summary(**fields: int | None) -> BiteSummary:
    zero = {name: 0 for name in BiteSummary.model_fields if name not in {"cases", "score", "kinds"}}
    return BiteSummary.model_validate({"cases": 1, "score": None} | zero | fields)


def report(*cases: CaseBite, **fields: int | None) -> BiteReport:
    return BiteReport(summary=summary(cases=len(cases), **fields), cases=cases)


@pytest.mark.parametrize("render", [render_bite, render_bite_markdown])
def test_what_is_as_it_should_be_is_shown_on_request_only(render: object) -> None:
    assert callable(render)
    fine = a_case(BiteOutcome.SCORED, "fine", MutantStatus.KILLED, MutantStatus.LEFT_TO_JUDGE)
    bad = a_case(BiteOutcome.SCORED, "bad", MutantStatus.KILLED, MutantStatus.SURVIVED)
    bare = a_case(BiteOutcome.NO_REFERENCE, "bare")
    broken = a_case(BiteOutcome.REFERENCE_FAILS, "broken")
    short, whole = (render(report(fine, bad, bare, broken), every=every) for every in (False, True))
    assert [name in short for name in ("name fine", "name bad", "name bare", "name broken")] == [
        False,
        True,
        False,
        True,
    ]
    assert all(name in whole for name in ("name fine", "name bad", "name bare", "name broken"))
    assert "passes" in short
    assert "left to the judge" in whole.partition("name fine")[2]


def test_the_headline_says_what_was_not_scored() -> None:
    said = bite_headline(
        summary(cases=9, score=67, killed=2, survived=1, left_to_judge=4, undecided=5, no_reference=3)
    )
    assert said == (
        "bite score 67: 2 of 3 wrong conversations fail, 4 left to the judge, 5 that only a run can tell, "
        "9 cases, 3 without a reference"
    )
    assert bite_headline(summary()) == "no bite score, 1 case"


def test_foreign_text_cannot_act() -> None:
    nasty = f"{ESC}[31m</td>`|x` [a](javascript:1) @all \x00\u202e\nnew # line"
    found = report(a_case(BiteOutcome.REFERENCE_FAILS, nasty, MutantStatus.SURVIVED), score=1)
    terminal = render_bite(found, every=True)
    assert ESC not in terminal
    assert "\u202e" not in terminal
    markdown = render_bite_markdown(found, every=True)
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", markdown)
    for part in ("javascript", "@all", "</td>", "# line"):
        assert part in markdown
        assert part not in outside


def test_lines_keep_to_the_width() -> None:
    long = "слово " * 80
    lines = render_bite(
        report(a_case(BiteOutcome.SCORED, long, MutantStatus.SURVIVED)), width=60
    ).splitlines()
    assert max(map(len, lines)) <= 60
    colored = render_bite(report(a_case(BiteOutcome.SCORED, "x", MutantStatus.SURVIVED)), color=True)
    assert f"{ESC}[31m✗" in colored


def test_a_long_markdown_report_says_how_much_is_left_out() -> None:
    cases = [a_case(BiteOutcome.SCORED, f"c{number}", *[MutantStatus.SURVIVED] * 21) for number in range(51)]
    text = render_bite_markdown(report(*cases))
    assert "And 1 more." in text
    assert text.count("- and 1 more") == 50
