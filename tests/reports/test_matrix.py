"""A matrix as a terminal shows it."""

from __future__ import annotations

from proctor_contracts.diff import PairedTest
from proctor_contracts.enums import Provider, ResultStatus, RunStatus
from proctor_contracts.ids import new_id
from proctor_contracts.schemas.compare import (
    CellResult,
    CellView,
    CompareDetail,
    CompareRow,
    CompareStatus,
    PairVerdict,
    PairView,
)
from proctor_contracts.schemas.compare_until import CellStanding
from proctor_reports.matrix import render_compare
from tests.reports.documents import START, check, document, result

CASE, RUN = new_id(), new_id()


def cell(index: int, *, deleted: bool = False, status: RunStatus = RunStatus.COMPLETED) -> CellView:
    run = document().run.model_copy(update={"status": status})
    return CellView(
        index=index, label=f"v{index + 1} · anthropic/\x1b[31mclaude", prompt_version_id=new_id(),
        version_number=index + 1, provider=Provider.ANTHROPIC, model="claude", pool="default",
        budget_cents=None, run_id=RUN, run_ids=(RUN,), run=None if deleted else run,
    )  # fmt: skip


def shown(status: ResultStatus) -> CellResult:
    passed = int(status is ResultStatus.PASSED)
    return CellResult(status=status, score=None, passed=passed, graded=1, trials=1, flaky=False)


def detail(**more: object) -> CompareDetail:
    row = CompareRow(
        case_id=CASE, case_ref="promise", case_name="Не \x1b[2Jобіцяє", category="Гроші", critical=True,
        differs=True, cells=(shown(ResultStatus.PASSED), shown(ResultStatus.FAILED)),
    )  # fmt: skip
    test = PairedTest(
        method="mcnemar_mid_p", pairs=1, better=0, worse=1, p_value=0.5, rate_a=1.0, rate_b=0.0,
        mean_difference=-1.0,
    )  # fmt: skip
    pair = PairView(
        a=0, b=1, with_baseline=True, verdict=PairVerdict.NO_EVIDENCE, coverage=1.0, adjusted=0.5, test=test,
        summary="no evidence of a difference (adjusted p = 0.5); so few pairs cannot show any",
        broken=("promise",),
    )  # fmt: skip
    fields = {
        "id": new_id(), "agent_id": new_id(), "integration_id": new_id(), "status": CompareStatus.COMPLETED,
        "baseline": 0, "cases": 1, "budget_cents": None, "cells": (cell(0), cell(1)), "created_at": START,
        "completed_at": START, "rows": (row,), "rows_total": 1, "pairs": (pair,),
    }  # fmt: skip
    return CompareDetail.model_validate(fields | more)


def test_a_broken_case_stands_with_its_check_and_what_was_said_and_nothing_acts_on_the_terminal() -> None:
    failed = result(1, ResultStatus.FAILED, case_id=CASE, assertion_results=(check(seen="300 грн"),))
    text = render_compare(detail(), {(1, CASE): failed})
    assert "Broken (1)" in text
    assert "✗ CRITICAL promise · Не" in text
    assert "contains:" in text
    assert "seen: 300 грн" in text
    assert "the bot said: Вітаю!" in text
    assert "no evidence of a difference" in text
    assert "pass rate 100 % -> 0 %" in text
    assert "\x1b" not in text


def test_a_broken_case_without_its_result_is_named_all_the_same() -> None:
    assert "✗ CRITICAL promise" in render_compare(detail(), {})


def test_a_deleted_and_a_cancelled_run_are_called_so() -> None:
    text = render_compare(
        detail(cells=(cell(0, status=RunStatus.CANCELLED), cell(1, deleted=True)), pairs=()), {}
    )
    assert "its run was deleted" in text
    assert "cancelled: " in text


def test_a_comparison_that_chose_its_trials_shows_where_its_cells_stand() -> None:
    standing = CellStanding(
        cell=1, verdict="worse", summary="worse by 40 points after 20 pairs", trials=20, pairs=20,
        difference=-0.4, interval=(-0.8, -0.1), evidence=99.0,
    )  # fmt: skip
    assert "worse by 40 points after 20 pairs" in render_compare(detail(pairs=(), standings=(standing,)), {})
