from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from proctor_grading.baseline import FirstAttempts, Providers, first_attempt, model_changes

RUN, OTHER, CASE = UUID(int=1), UUID(int=2), UUID(int=3)


@pytest.mark.parametrize(
    ("history", "score"),
    [
        ([["passed", 90, 90, 90, False]], 90),
        ([["failed", 0, 0, 0, False], ["passed", 100, 100, 100, False]], 0),
        ([["error", None, 33, 100, True], ["passed", 100, 100, 100, False]], None),
        ([["failed", None, 0, 50, False]], None),
        ([["cancelled", None, None, None, False]], None),
        ([], None),
    ],
)
def test_the_first_attempt_counts_where_it_was_graded(history: list[list[Any]], score: int | None) -> None:
    assert first_attempt(history) == score


def test_scores_are_gathered_by_the_category_of_their_run() -> None:
    scores = FirstAttempts()
    scores.add(RUN, "Мова", CASE, [["passed", 100]])
    scores.add(RUN, "Мова", CASE, [["failed", 20]])
    scores.add(OTHER, "Гроші", CASE, [["passed", 80]])
    scores.add(OTHER, "Тон", CASE, [["error", None]])
    assert scores.of(RUN) == {"Мова": {CASE: [100, 20]}}
    assert scores.of(OTHER) == {"Гроші": {CASE: [80]}}
    assert scores.of(UUID(int=9)) == {}


def test_models_that_did_not_answer_before_are_named() -> None:
    before = Providers(agent_models=["m-1", "m-2"], judge_fingerprints=["fp_1"])
    now = Providers(agent_models=["m-2", "m-3"], judge_fingerprints=["fp_2"])
    assert [(one.role, one.what, one.before, one.now) for one in model_changes(before, now)] == [
        ("agent", "model", ("m-1", "m-2"), ("m-2", "m-3")),
        ("judge", "fingerprint", ("fp_1",), ("fp_2",)),
    ]


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (Providers(), Providers(agent_models=["m"])),
        (Providers(agent_models=["m"]), Providers()),
        (Providers(agent_fingerprints=["a", "b"]), Providers(agent_fingerprints=["b"])),
        (Providers(judge_models=["m"]), Providers(judge_models=["m", "m"])),
    ],
)
def test_what_was_not_reported_or_only_met_less_is_no_change(before: Providers, now: Providers) -> None:
    assert model_changes(before, now) == ()
