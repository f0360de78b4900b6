from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from proctor_alerter.choosing import MOST_CATEGORIES, Choice, choose
from proctor_alerter.findings import Findings
from proctor_alerter.settings import AlerterSettings
from proctor_alerter.targets import policy
from proctor_contracts.alerts import AlertSettings, ModelChange
from proctor_contracts.verdicts import RegressionVerdict
from proctor_grading.regression import CategoryFinding

CHANGED = (ModelChange(role="agent", what="model", before=("a",), now=("b",)),)
DROPS = {
    RegressionVerdict.REGRESSION: 30.0,
    RegressionVerdict.SUSPECTED: 12.0,
    RegressionVerdict.DRIFT: 5.0,
    RegressionVerdict.OK: 0.0,
}


def decided(
    *verdicts: RegressionVerdict,
    stale: bool = False,
    changed: Sequence[ModelChange] = (),
    told_before: Sequence[str] = (),
    **own: Any,
) -> Choice:
    categories = {
        f"{place}": CategoryFinding(verdict, 100 - DROPS[verdict], 100.0, DROPS[verdict], 0.01, 10, 7)
        for place, verdict in enumerate(verdicts)
    }
    findings = Findings(threshold=10, runs_used=7, categories=categories, stale=stale)
    chosen = policy(AlerterSettings(), AlertSettings.model_validate(own))
    return choose(findings, changed, chosen, told_before=told_before)


def drafts(choice: Choice) -> dict[str, str | None]:
    return {draft.kind.value: draft.untold for draft in choice.drafts}


EVERYTHING = (RegressionVerdict.REGRESSION, RegressionVerdict.SUSPECTED, RegressionVerdict.DRIFT)


def test_everything_at_once_is_one_alert() -> None:
    choice = decided(*EVERYTHING, changed=CHANGED, tell=["suspected", "drift", "model_change"])
    assert drafts(choice) == {
        "regression": None,
        "drift": "told_with:regression",
        "model_change": "told_with:regression",
    }
    assert [change.verdict for change in choice.drafts[0].changes] == ["regression", "suspected"]
    assert choice.confirm == ["1"]


def test_the_gravest_that_is_asked_for_is_sent() -> None:
    choice = decided(RegressionVerdict.SUSPECTED, RegressionVerdict.DRIFT, changed=CHANGED, tell=["drift"])
    assert drafts(choice) == {
        "suspected": "not_asked_for",
        "drift": None,
        "model_change": "not_asked_for",
    }


def test_nothing_is_made_of_nothing() -> None:
    assert decided(RegressionVerdict.OK).drafts == []


@pytest.mark.parametrize(
    ("told_before", "untold"),
    [(["0"], "stale_repeat"), (["0", "9"], "stale_repeat"), (["9"], None), ([], None)],
)
def test_a_stale_run_repeats_nothing(told_before: list[str], untold: str | None) -> None:
    choice = decided(RegressionVerdict.REGRESSION, stale=True, told_before=told_before)
    assert drafts(choice) == {"regression": untold}


def test_the_newest_run_is_told_though_the_one_before_was() -> None:
    choice = decided(RegressionVerdict.REGRESSION, told_before=["0"])
    assert drafts(choice) == {"regression": None}


@pytest.mark.parametrize("more", [{"stale": True}, {"muted": True}])
def test_where_no_rerun_makes_sense_none_is_asked_for_and_the_reason_is_kept(more: dict[str, Any]) -> None:
    choice = decided(RegressionVerdict.SUSPECTED, **more)
    assert choice.confirm == ()
    assert choice.reason
    assert choice.fallen[0].note == f"not rerun: {choice.reason}"


def test_a_rerun_and_a_message_have_a_bounded_size() -> None:
    choice = decided(*[RegressionVerdict.SUSPECTED] * 300)
    assert (len(choice.fallen), len(choice.confirm)) == (MOST_CATEGORIES, MOST_CATEGORIES)
