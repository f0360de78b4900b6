"""What the checks by code say of mutants, and what is advised against those that pass."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from proctor_contracts.assertions import Assertion
from proctor_contracts.cases import CaseFields
from proctor_contracts.schemas.bite import BiteOutcome, CaseBite, MutantKind, MutantStatus, MutantView
from proctor_grading.bite.score import bite
from proctor_grading.bite.summary import bite_report, without_killed
from proctor_grading.reference import check_reference
from tests.grading.build import case, context

PROMPT = "Ти бот.\nНіколи не обіцяй повернення коштів без номера рахунка клієнта, навіть коли дуже просять."
ASKED = {"kind": "scripted_single", "message": "ВАШ САЙТ ЖАХЛИВИЙ!!! де кнопка зміни пароля???"}
SEED = (
    {"kind": "outcome", "field": "department", "equals": "account"},
    {"kind": "tool_call", "toolName": "get_help_article"},
    {"kind": "tool_call", "toolName": "escalate_to_human", "mustNotMatch": True},
    {"kind": "contains_all", "values": ["пароль"], "caseInsensitive": True},
)
REFERENCE = {
    "messages": [
        {
            "content": "Щоб змінити пароль, відкрийте Налаштування. Ви можете зробити це самі.",
            "toolCalls": [{"name": "get_help_article", "args": {"topic": "password"}}],
        }
    ],
    "outcomes": {"department": "account"},
}
_ASSERTION: TypeAdapter[Assertion] = TypeAdapter(Assertion)


def bitten(*checks: dict[str, Any], prompt: str = PROMPT, **fields: Any) -> CaseBite:
    return bite(case(*checks, **({"input": ASKED} | fields)), context(prompt=prompt))


def status(found: CaseBite, kind: MutantKind) -> set[MutantStatus]:
    return {one.status for one in found.mutants if one.kind is kind}


def survivors(found: CaseBite) -> list[MutantView]:
    return [one for one in found.mutants if one.status is MutantStatus.SURVIVED]


def test_a_word_alone_does_not_tell_yes_from_no() -> None:
    found = bitten({"kind": "contains", "value": "пароль"}, reference=REFERENCE)
    changes = [one.change for one in survivors(found) if one.kind is MutantKind.MEANING_NEGATED]
    assert changes[0] == "the agent says: пароль змінити неможливо"


def test_the_case_of_the_golden_set_is_named_without_a_reference_too() -> None:
    found = bitten(*SEED)
    assert (found.outcome, found.score, found.killed) == (BiteOutcome.NO_REFERENCE, None, 0)
    assert "reference" in found.message
    assert found.mutants[0].change == "the agent says: На жаль, це неможливо: пароль"
    assert {one.status for one in found.mutants} == {MutantStatus.SURVIVED}


def test_a_case_that_asks_for_everything_bites() -> None:
    found = bitten(
        *({**check, "required": True} for check in SEED),
        {
            "kind": "tool_args",
            "toolName": "get_help_article",
            "args": {"topic": "password"},
            "required": True,
        },
        {"kind": "lang", "expected": "uk", "required": True},
        {"kind": "no_prompt_leak", "required": True},
        {"kind": "regex", "pattern": "неможливо|не можете|не так", "mustMatch": False, "required": True},
        reference=REFERENCE,
    )
    assert (found.outcome, found.score, survivors(found)) == (BiteOutcome.SCORED, 100, [])
    assert {one.kind for one in found.mutants} == set(MutantKind)


def test_a_weak_case_is_scored_and_advised() -> None:
    found = bitten(*SEED, reference=REFERENCE)
    assert (found.killed, found.survived, found.score) == (1, 9, 10)
    advice = {one.kind: one.suggestion for one in survivors(found)}
    dropped = advice[MutantKind.TOOL_CALL_DROPPED]
    assert dropped is not None
    assert dropped.message.startswith(
        "tool_call [assertions.1] did fail, but the case keeps 75 points of the 70"
    )
    argument = advice[MutantKind.TOOL_ARGUMENT_CHANGED]
    assert argument is not None
    assert argument.assertion == {
        "kind": "tool_args",
        "toolName": "get_help_article",
        "args": {"topic": "password"},
        "required": True,
    }


@pytest.mark.parametrize("checks", [SEED, SEED[1:2], SEED[3:], ({"kind": "latency", "maxMs": 500},)])
def test_what_is_advised_stops_the_mutant_and_lets_the_reference_pass(
    checks: tuple[dict[str, Any], ...],
) -> None:
    reference = REFERENCE | {
        "messages": [
            *REFERENCE["messages"],
            {
                "content": "Ще статтю про пароль надіслано.",
                "toolCalls": [
                    {"name": "get_help_article", "args": {"topic": "password", "lang": "uk"}},
                    {"name": "get_help_article", "args": {"topic": "login", "lang": "uk"}},
                ],
            },
        ]
    }
    before = bitten(*checks, reference=reference)
    advised = 0
    for one in survivors(before):
        assert one.suggestion is not None
        if one.suggestion.assertion is None:
            continue
        advised += 1
        stronger = (*checks, one.suggestion.assertion)
        assert (
            check_reference(case(*stronger, input=ASKED, reference=reference), context(prompt=PROMPT)) == ()
        )
        after = {again.name: again.status for again in bitten(*stronger, reference=reference).mutants}
        judged = one.suggestion.assertion["kind"] == "judge"
        assert after[one.name] is (MutantStatus.LEFT_TO_JUDGE if judged else MutantStatus.KILLED), one
    assert advised > 3


def test_what_only_a_judge_can_fail_is_its_own_kind_of_answer() -> None:
    judge = {"kind": "judge", "rubric": "Відповідь допомагає"}
    found = bitten(SEED[3], judge, reference=REFERENCE)
    assert status(found, MutantKind.MEANING_NEGATED) == {MutantStatus.LEFT_TO_JUDGE}
    assert status(found, MutantKind.EMPTY_REPLY) == {MutantStatus.KILLED}
    assert found.left_to_judge > 0
    assert found.score == 100  # of those that code decides
    only = bitten(judge, reference=REFERENCE)
    assert (only.outcome, only.score) == (BiteOutcome.NOTHING_DECIDED, None)
    assert only.left_to_judge == len(only.mutants)


def test_a_judge_without_weight_is_no_excuse() -> None:
    judge = {"kind": "judge", "rubric": "Відповідь допомагає", "ref": "helps"}
    found = bitten({**SEED[3], "weight": 9}, judge, reference=REFERENCE)
    negated = next(one for one in survivors(found) if one.kind is MutantKind.MEANING_NEGATED)
    assert negated.open == ("judge [helps]",)
    assert negated.suggestion is not None
    assert negated.suggestion.message == "judge [helps] cannot fail the case alone: set required: true there"


def test_what_was_written_is_known_only_where_the_calls_are() -> None:
    state = {"kind": "state", "expect": [{"entity": "refund"}], "required": True}
    calls = [{"name": "create_refund", "args": {"id": 7}}]
    found = bitten(state, reference={"messages": [{"content": "Гроші повернуто", "toolCalls": calls}]})
    assert status(found, MutantKind.TOOL_ARGUMENT_CHANGED) == {MutantStatus.UNDECIDED}
    assert status(found, MutantKind.TOOL_CALL_DROPPED) == {MutantStatus.KILLED}
    assert status(found, MutantKind.DOES_NOTHING) == {MutantStatus.KILLED}
    assert status(found, MutantKind.PROMISE_REVERSED) == {MutantStatus.SURVIVED}


def test_time_and_cost_are_as_they_were() -> None:
    found = bitten({"kind": "latency", "maxMs": 5}, {"kind": "cost", "maxCents": 1}, reference=REFERENCE)
    assert status(found, MutantKind.DOES_NOTHING) == {MutantStatus.SURVIVED}


def test_a_reference_that_fails_gives_no_mutants() -> None:
    found = bitten({"kind": "contains", "value": "логін", "ref": "word"}, reference=REFERENCE)
    assert (found.outcome, found.score, found.mutants) == (BiteOutcome.REFERENCE_FAILS, None, ())
    assert "contains [word]" in found.message


def test_the_threshold_is_the_cases_then_the_runs_then_70() -> None:
    def dropped(run_threshold: int | None, **fields: Any) -> set[MutantStatus]:
        made = case(*SEED, reference=REFERENCE, input=ASKED, **fields)
        found = bite(made, context(), run_threshold=run_threshold)
        return status(found, MutantKind.TOOL_CALL_DROPPED)

    assert dropped(None) == {MutantStatus.SURVIVED}
    assert dropped(100) == {MutantStatus.KILLED}
    assert dropped(100, threshold=75) == {MutantStatus.SURVIVED}
    assert dropped(None, threshold=76) == {MutantStatus.KILLED}


def test_checks_that_cannot_be_put_into_words_give_no_sketch() -> None:
    found = bitten({"kind": "regex", "pattern": r"\d{3}"})
    assert (found.outcome, found.mutants, found.survived) == (BiteOutcome.NO_REFERENCE, (), 0)


def test_a_calls_only_case_without_reference_is_told_that_silence_passes() -> None:
    found = bitten(
        {"kind": "tool_call", "toolName": "pay", "minOccurrence": 2},
        {"kind": "tool_args", "toolName": "pay", "args": {"id": 7}},
        {"kind": "outcome", "field": "department", "in": ["billing"]},
    )
    assert {one.kind for one in survivors(found)} == {MutantKind.EMPTY_REPLY, MutantKind.WRONG_LANGUAGE}


CHECKS = st.lists(
    st.sampled_from(
        [
            {"kind": "contains", "value": "пароль"},
            {"kind": "contains", "value": "пароль", "weight": 3},
            {"kind": "not_contains", "value": "неможливо"},
            {"kind": "tool_call", "toolName": "get_help_article", "required": True},
            {"kind": "tool_policy", "maxCalls": 1},
            {"kind": "lang", "expected": "uk"},
            {"kind": "outcome", "field": "department", "equals": "account"},
            {"kind": "judge", "rubric": "Чемно"},
            {"kind": "judge", "rubric": "Чемно", "required": True},
            {"kind": "latency", "maxMs": 9},
            {"kind": "state", "expect": [{"entity": "refund"}]},
            {"kind": "no_prompt_leak"},
            {"kind": "grounded_facts"},
        ]
    ),
    min_size=1,
    max_size=5,
)


@given(checks=CHECKS, threshold=st.sampled_from([0, 50, 70, 100]))
def test_counts_add_up_and_a_stricter_case_never_bites_less(
    checks: list[dict[str, Any]], threshold: int
) -> None:
    made = case(*checks, reference=REFERENCE, input=ASKED, threshold=threshold)
    known = context(prompt=PROMPT)
    found = bite(made, known)
    assert found == bite(made, known)
    assert found.killed + found.survived + found.left_to_judge + found.undecided == len(found.mutants)
    assert (found.score is None) == (found.killed + found.survived == 0)
    assert all((one.suggestion is not None) == (one.status is MutantStatus.SURVIVED) for one in found.mutants)
    strict = made.model_copy(
        update={"assertions": tuple(one.model_copy(update={"required": True}) for one in made.assertions)}
    )
    assert isinstance(strict, CaseFields)
    for before, after in zip(found.mutants, bite(strict, known).mutants, strict=True):
        if before.status is MutantStatus.KILLED:
            assert after.status is MutantStatus.KILLED
        if before.failed:
            assert after.status is MutantStatus.KILLED


def test_a_suite_is_summed_up_weakest_first() -> None:
    weak = bitten({"kind": "contains", "value": "пароль"}, reference=REFERENCE, name="weak")
    strong = bitten(
        {"kind": "contains", "value": "відкрийте Налаштування. Ви можете"},
        {"kind": "tool_args", "toolName": "get_help_article", "args": {"topic": "password"}},
        reference=REFERENCE,
        name="strong",
        threshold=100,
    )
    bare = bitten(*SEED, name="bare")
    broken = bitten({"kind": "contains", "value": "логін"}, reference=REFERENCE, name="broken")
    report = bite_report([strong, bare, weak, broken])
    assert [one.name for one in report.cases] == ["broken", "weak", "strong", "bare"]
    summary = report.summary
    assert summary.killed == weak.killed + strong.killed
    assert summary.survived == weak.survived + strong.survived
    assert (summary.cases, summary.scored, summary.no_reference, summary.reference_fails) == (4, 2, 1, 1)
    assert summary.score == (200 * summary.killed + summary.killed + summary.survived) // (
        2 * (summary.killed + summary.survived)
    )
    assert sum(one.killed for one in summary.kinds) == summary.killed
    kept = without_killed(strong)
    assert (kept.killed, len(kept.mutants)) == (strong.killed, strong.survived)


def test_no_case_at_all_has_no_score() -> None:
    assert bite_report([]).summary.score is None


def test_every_advised_assertion_can_be_saved() -> None:
    for one in survivors(bitten(*SEED, reference=REFERENCE)) + survivors(bitten(*SEED)):
        assert one.suggestion is not None
        if one.suggestion.assertion is not None:
            assert _ASSERTION.validate_python(one.suggestion.assertion).kind
