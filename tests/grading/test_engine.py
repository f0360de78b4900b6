from __future__ import annotations

import subprocess
import sys

import pytest

from proctor_contracts.assertions import Assertion
from proctor_contracts.results import Verdict
from proctor_grading.context import RegexLimit
from proctor_grading.engine import grade
from tests.grading.build import agent, assertion, call, check, context, holds, user


def test_results_keep_order_labels_and_weights() -> None:
    wanted = [
        assertion("contains", value="так", weight=2, ref="a", required=True),
        assertion("judge", rubric="Чемно", ref="b"),
        assertion("lang", expected="uk"),
    ]
    results = grade(wanted, (user(), agent("так, звісно")), context())
    assert [(one.index, one.kind, one.ref, one.weight, one.required) for one in results] == [
        (0, "contains", "a", 2, True),
        (1, "judge", "b", 1, False),
        (2, "lang", None, 1, False),
    ]
    assert [one.verdict for one in results] == [Verdict.PASSED, Verdict.PENDING, Verdict.PASSED]
    assert [one.passed for one in results] == [True, None, True]


class Broken:
    def search(self, *_: str) -> None:
        raise ZeroDivisionError


def test_a_fault_of_ours_is_no_verdict_and_touches_no_other_check() -> None:
    broken = context(regex=Broken())
    wanted = [assertion("regex", pattern="x"), assertion("contains", value="так")]
    first, second = grade(wanted, (user(), agent("так")), broken)
    assert (first.verdict, first.code) == (Verdict.UNRESOLVED, "check_crashed")
    assert "ZeroDivisionError" in first.message
    assert second.verdict is Verdict.PASSED


def test_a_refusal_is_a_text_like_any_other() -> None:
    refused = agent("Я не можу з цим допомогти", finish="refusal")
    assert holds(assertion("contains", value="не можу"), user(), refused)


def test_nul_and_lone_surrogates_are_graded_and_the_result_can_be_stored() -> None:
    for text in ("ок\x00", "ок\ud800", "ок\\u0000"):
        found = check(assertion("not_contains", value="ок"), text)
        assert found.verdict is Verdict.FAILED
        stored = found.model_dump_json(by_alias=True)
        assert "\\u0000" not in stored.replace("\\\\u0000", "")
        stored.encode()
    assert check(assertion("contains", value="ок\\u0000"), "ок\\u0000").passed is True


def test_labels_that_cannot_be_stored_do_not_reach_the_result() -> None:
    known = context(outcomes={"department": "бі\ud800\x00л"})
    found = check(assertion("outcome", field="department", equals="billing"), "ок", known=known)
    assert found.verdict is Verdict.FAILED
    found.model_dump_json().encode()


def test_numbers_that_are_none_do_not_reach_the_result() -> None:
    odd = call("price", {"x": float("nan")})
    found = check(assertion("tool_call", toolName="price", argsRegex="null"), user(), agent("ок", odd))
    assert found.verdict is Verdict.PASSED
    assert "NaN" not in found.model_dump_json()


@pytest.mark.parametrize("module", ["jsonschema", "_quickjs", "quickjs", "lingua"])
def test_grading_starts_without_what_it_may_never_need(module: str) -> None:
    code = f"import sys, proctor_grading.engine, proctor_grading.scoring; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


LONG = 150_000


@pytest.mark.parametrize(
    "unit",
    ["а", "a", "«", "a-", "1 ", "111 ", "{", "[", '"', "`", "``` ", "\n", "a@", ".", "1,", "#а", "5 ", "а1"],
)
@pytest.mark.parametrize(
    "wanted",
    [
        assertion("lang", expected="uk", ignoreQuotes=True),
        assertion("grounded_facts"),
        assertion("no_prompt_leak"),
        assertion("contains", value="x", caseInsensitive=True),
        assertion("json_schema", schema=True, where="fence"),
    ],
)
def test_endless_repetition_is_graded(wanted: Assertion, unit: str) -> None:
    text = "Ось " + unit * (LONG // len(unit))
    found = check(
        wanted, text, known=context(prompt="будь чемним і допомагай людям, які щось питають у тебе")
    )
    assert found.code != "check_crashed"


def test_braces_without_end_are_given_up() -> None:
    for unit in ("{", "[", '{"', "[{"):
        found = check(assertion("json_schema", schema=True, where="embedded"), unit * 20_000)
        assert found.code == "no_json"


def test_a_case_full_of_slow_patterns_is_given_up_early() -> None:
    asked: list[str] = []

    class Slow:
        def search(self, pattern: str, *_: str) -> RegexLimit:
            asked.append(pattern)
            return RegexLimit("regex_timeout", "slow")

        def problem(self, *_: str) -> None:
            return None

    wanted = [assertion("regex", pattern=f"p{number}") for number in range(10)]
    results = grade(wanted, (user(), agent("так")), context(regex=Slow()))
    assert {result.code for result in results} == {"regex_timeout"}
    assert asked == ["p0", "p1", "p2"]
