from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor_contracts.diff import CaseChange, CaseDiff, PairedTest, RunDiff
from proctor_contracts.enums import ResultStatus
from proctor_contracts.schemas.runs import RunDocument
from proctor_reports.changes import render_diff
from proctor_reports.junit import render_junit
from proctor_reports.markdown import render_markdown
from proctor_reports.spreadsheet import render_csv
from proctor_reports.terminal import render_terminal
from tests.reports.documents import mixed, tooled, uid

GOLDENS = Path(__file__).parent.parent / "data" / "reports"
REWRITE = "PROCTOR_REWRITE_GOLDENS"

DIFF = RunDiff(
    run_a=uid(50),
    run_b=uid(1),
    cases=(
        CaseDiff(
            case_id=uid(7),
            case_ref="RM-7",
            case_name="Бот не пише Рамосу кирилицею",
            category="Мова",
            critical=True,
            change=CaseChange.BROKEN,
            status_a=ResultStatus.PASSED,
            status_b=ResultStatus.FAILED,
            score_a=100,
            score_b=33,
        ),
        CaseDiff(
            case_id=uid(6),
            case_ref="RM-6",
            case_name="Case 6",
            category="Мова",
            change=CaseChange.FIXED,
            status_a=ResultStatus.FAILED,
            status_b=ResultStatus.PASSED,
            score_a=0,
            score_b=100,
        ),
        CaseDiff(
            case_id=uid(10),
            case_name="Case 10",
            category="Мова",
            change=CaseChange.ONLY_IN_A,
            status_a=ResultStatus.PASSED,
            score_a=100,
        ),
    ),
    counts={"broken": 1, "fixed": 1, "only_in_a": 1, "still_passing": 0},
    coverage=0.9,
    comparable=True,
    test=PairedTest(
        method="mcnemar_mid_p",
        pairs=20,
        better=1,
        worse=1,
        p_value=0.75,
        p_exact=1,
        rate_a=0.9,
        rate_b=0.9,
        mean_difference=0,
        ci95=(-0.1519, 0.1519),
        smallest_detectable=0.25,
    ),
)

RENDERERS: dict[str, Callable[[RunDocument], str]] = {
    "terminal.txt": render_terminal,
    "terminal-narrow.txt": lambda document: render_terminal(document, width=60),
    "terminal-color.txt": lambda document: render_terminal(document, color=True),
    "junit.xml": render_junit,
    "comment.md": render_markdown,
    "comment-diff.md": lambda document: render_markdown(document, DIFF),
    "results.csv": render_csv,
    "diff.txt": lambda _: render_diff(DIFF),
}


TOOLED: dict[str, Callable[[RunDocument], str]] = {
    "tools-terminal.txt": render_terminal,
    "tools-terminal-narrow.txt": lambda document: render_terminal(document, width=60),
    "tools-junit.xml": render_junit,
    "tools-comment.md": render_markdown,
    "tools-results.csv": render_csv,
}


@pytest.mark.parametrize("name", RENDERERS)
def test_a_run_with_everything_in_it_renders_as_the_golden_file(name: str) -> None:
    is_golden(name, RENDERERS[name](mixed()))


@pytest.mark.parametrize("name", TOOLED)
def test_a_run_that_called_tools_renders_as_the_golden_file(name: str) -> None:
    is_golden(name, TOOLED[name](tooled()))


def is_golden(name: str, rendered: str) -> None:
    golden = GOLDENS / name
    if os.environ.get(REWRITE):
        golden.write_text(rendered, encoding="utf-8", newline="")
    with golden.open(encoding="utf-8", newline="") as file:
        assert file.read() == rendered, f"set {REWRITE}=1 to write it anew, then read the difference"
