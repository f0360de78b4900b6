from __future__ import annotations

from typing import Any

import pytest

from proctor_contracts.results import AssertionResult, Verdict
from proctor_contracts.transcript import ToolCallRecord
from tests.grading.build import assertion, call, check, context, turn

MODES = ("exact", "in_order", "any_order", "unordered", "subset")
LETTERS = {"T": True, "F": False}

# Expected steps, calls made, what the modes say, F1 and ordered F1.
TABLE = [
    ("li cr", "li cr", "TTTTT", 1, 1),
    ("li cr", "cr li", "FFTTT", 1, 0.5),
    ("li cr", "li gh li cr", "FTTFF", 0.666667, 0.666667),
    ("s s", "s", "FFFFT", 0.666667, 0.666667),
    ("a b c", "a c", "FFFFT", 0.8, 0.8),
    ("a b c d", "d c b a", "FFTTT", 1, 0.25),
    ("", "", "TTTTT", 1, 1),
    ("a", "", "FFFFT", 0, 0),
    ("", "a", "FTTFF", 0, 0),
]


def sequence(mode: str, *steps: Any) -> Any:
    return assertion(
        "tool_sequence",
        mode=mode,
        steps=[{"toolName": step} if isinstance(step, str) else step for step in steps],
    )


def graded(mode: str, steps: list[Any], calls: list[ToolCallRecord]) -> AssertionResult:
    return check(sequence(mode, *steps), *turn(*calls))


@pytest.mark.parametrize("row", TABLE)
@pytest.mark.parametrize("mode", MODES)
def test_modes_and_scores_of_the_table(mode: str, row: tuple[str, str, str, float, float]) -> None:
    steps, calls, says, plain, ordered = row
    result = graded(mode, steps.split(), [call(name) for name in calls.split()])
    assert result.passed is LETTERS[says[MODES.index(mode)]]
    assert result.details is not None
    assert (result.details["f1"], result.details["orderedF1"]) == (plain, ordered)
    assert result.score == pytest.approx(ordered if mode in {"exact", "in_order"} else plain, abs=1e-6)


@pytest.mark.parametrize(
    ("steps", "calls", "passes"),
    [("a b", "c d", True), ("a b", "c b", False), ("", "a", True), ("a", "", True)],
)
def test_forbidden_holds_when_no_call_answers_a_step(steps: str, calls: str, *, passes: bool) -> None:
    result = graded("forbidden", list(steps.split()), [call(name) for name in calls.split()])
    assert result.passed is passes
    assert result.score is None


def test_a_step_that_any_call_answers_does_not_take_the_one_that_another_needs() -> None:
    steps = [{"toolName": "search"}, {"toolName": "search", "args": {"q": "a"}}]
    calls = [call("search", {"q": "a"}), call("search", {"q": "b"})]
    assert graded("any_order", steps, calls).passed is True
    assert graded("unordered", steps, calls).passed is True
    assert graded("subset", steps, calls).passed is True
    assert graded("in_order", steps, calls).passed is False


def test_an_argument_too_many_is_judged_alike_in_all_modes() -> None:
    """The rule for arguments does not turn round with the direction of the comparison."""
    calls = [call("search", {"q": "a", "page": 2})]
    for mode in MODES:
        assert graded(mode, [{"toolName": "search", "args": {"q": "a"}}], calls).passed is True
        exact = {"toolName": "search", "args": {"q": "a"}, "match": "exact"}
        assert graded(mode, [exact], calls).passed is False


@pytest.mark.parametrize(
    ("match", "args", "passes"),
    [
        ("exact", {"n": 1.0}, True),
        ("exact", {"n": True}, False),
        ("exact", {"n": "1"}, False),
        ("contains", {}, True),
        ("exact", {}, False),
        ("within", {"n": 1, "m": 2}, True),
        ("within", {"m": 2}, False),
    ],
)
def test_arguments_of_a_step(match: str, args: dict[str, Any], *, passes: bool) -> None:
    step = {"toolName": "t", "args": args, "match": match}
    assert graded("exact", [step], [call("t", {"n": 1})]).passed is passes


def test_no_arguments_equal_an_empty_object() -> None:
    step = {"toolName": "t", "args": {}, "match": "exact"}
    assert graded("exact", [step], [call("t")]).passed is True
    assert graded("exact", [step], [call("t", {})]).passed is True
    assert graded("exact", [step], [call("t", "слова")]).passed is False


@pytest.mark.parametrize(
    ("mode", "steps", "calls", "code", "says"),
    [
        ("in_order", ["a", "b"], ["b", "a"], "wrong_order", "b (step 2)"),
        ("exact", ["a", "b"], ["b", "a"], "wrong_order", "a (step 1)"),
        ("any_order", ["a", "b"], ["a"], "call_missing", "no call answers b"),
        ("subset", ["a"], ["a", "x"], "unexpected_call", "call 2 (x)"),
        ("exact", ["a"], ["a", "x"], "unexpected_call", "call 2 (x)"),
        ("unordered", ["a"], ["x", "a"], "unexpected_call", "call 1 (x)"),
        ("forbidden", ["x"], ["a", "x"], "forbidden_call", "call 2 (x)"),
    ],
)
def test_a_failure_says_what_is_wrong_and_names_the_calls(
    mode: str, steps: list[str], calls: list[str], code: str, says: str
) -> None:
    result = graded(mode, list(steps), [call(name) for name in calls])
    assert result.code == code
    assert says in result.message
    assert result.expected is not None
    assert result.seen is not None
    assert all(name in result.seen for name in calls)


SLOW = {"toolName": "t", "args": {"a": {"regex": "("}}}


def test_a_pattern_without_an_answer_matters_only_where_nothing_else_decides() -> None:
    open_ = graded("any_order", [SLOW], [call("t", {"a": "x"})])
    assert (open_.verdict, open_.code) == (Verdict.UNRESOLVED, "invalid_pattern")
    assert graded("forbidden", [SLOW], [call("t", {"a": "x"})]).verdict is Verdict.UNRESOLVED
    assert graded("any_order", [SLOW, "u"], [call("t", {"a": "x"})]).verdict is Verdict.FAILED
    assert graded("any_order", [SLOW], [call("other")]).verdict is Verdict.FAILED
    assert graded("forbidden", [SLOW, "u"], [call("t", {"a": "x"}), call("u")]).verdict is Verdict.FAILED


@pytest.mark.parametrize("mode", [*MODES, "forbidden"])
def test_without_capture_no_mode_is_decided_and_silence_fails_every_mode(mode: str) -> None:
    blind = context(tools_captured=False, tools_missing_reason="tools_not_reported")
    found = check(sequence(mode, "t"), "Так", known=blind)
    assert (found.verdict, found.code) == (Verdict.UNRESOLVED, "tools_not_reported")
    assert check(sequence(mode, "t"), turn(text="")[0]).code == "no_agent_message"
