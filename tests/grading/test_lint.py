from __future__ import annotations

from typing import Any

import pytest

from proctor_contracts.cases import CaseFields
from proctor_grading.lint import AgentFacts, lint, problems
from tests.grading.build import REGEX, case


def faults(case_: CaseFields) -> list[tuple[str, str]]:
    return [(problem.path, problem.message) for problem in problems(case_, regex=REGEX)]


@pytest.mark.parametrize(
    ("wanted", "path", "says"),
    [
        ({"kind": "regex", "pattern": "[а-яіїєґ]+("}, "assertions.0.pattern", "at position 10"),
        ({"kind": "regex", "pattern": "/RAMOSU/i"}, "assertions.0.pattern", "slashes"),
        ({"kind": "regex", "pattern": "а", "flags": "x"}, "assertions.0.flags", "unknown flag"),
        ({"kind": "regex", "pattern": "а", "flags": "ii"}, "assertions.0.flags", "given twice"),
        ({"kind": "regex", "pattern": "а", "flags": "uv"}, "assertions.0.flags", "together"),
        ({"kind": "tool_call", "toolName": "t", "argsRegex": "("}, "assertions.0.argsRegex", "position"),
        (
            {"kind": "tool_call", "toolName": "t", "argsRegex": {"a": "("}},
            "assertions.0.argsRegex.a",
            "position",
        ),
        (
            {"kind": "tool_call", "toolName": "t", "argsRegex": "a", "argsFlags": "q"},
            "assertions.0.argsFlags",
            "unknown flag",
        ),
        (
            {"kind": "tool_args", "toolName": "t", "args": {"a": {"b": [{"regex": "("}]}}},
            "assertions.0.args.a.b.0.regex",
            "position",
        ),
        (
            {"kind": "tool_args", "toolName": "t", "args": {"a": {"regex": "x", "flags": "q"}}},
            "assertions.0.args.a.flags",
            "unknown flag",
        ),
        (
            {
                "kind": "tool_sequence",
                "mode": "exact",
                "steps": [{"toolName": "t"}, {"toolName": "t", "args": {"a": {"regex": "("}}}],
            },
            "assertions.0.steps.1.args.a.regex",
            "position",
        ),
        (
            {"kind": "state", "expect": [{"entity": "x", "where": {"a": {"regex": "/x/i"}}}]},
            "assertions.0.expect.0.where.a.regex",
            "slashes",
        ),
        (
            {"kind": "precedes", "before": {"userText": "("}, "after": {"toolName": "t"}},
            "assertions.0.before.userText",
            "position",
        ),
        (
            {"kind": "precedes", "before": {"toolName": "t"}, "after": {"agentText": "x", "flags": "uv"}},
            "assertions.0.after.flags",
            "together",
        ),
        ({"kind": "json_schema", "schema": {"type": "x"}}, "assertions.0.schema.type", "x"),
        (
            {"kind": "json_schema", "schema": {"$ref": "http://a.example"}},
            "assertions.0.schema.$ref",
            "remote",
        ),
        ({"kind": "lang", "expected": "pl"}, "assertions.0.expected", ".[lang]"),
    ],
)
def test_what_could_never_be_decided_is_refused_with_its_field(
    wanted: dict[str, Any], path: str, says: str
) -> None:
    found = faults(case(wanted))
    assert [one[0] for one in found] == [path]
    assert says in found[0][1]


def test_a_good_case_has_no_problems_and_every_bad_field_is_named_at_once() -> None:
    good = {"kind": "regex", "pattern": r"(?<![\p{L}\p{N}_])так(?![\p{L}\p{N}_])", "flags": "iu"}
    assert faults(case(good, {"kind": "lang", "expected": "uk"})) == []
    bad = {"kind": "regex", "pattern": "("}
    assert [path for path, _ in faults(case(bad, good, bad))] == [
        "assertions.0.pattern",
        "assertions.2.pattern",
    ]


def warnings(case_: CaseFields, **agent: Any) -> list[tuple[str, str]]:
    return [(warning.path, warning.code) for warning in lint(case_, agent=AgentFacts(**agent))]


@pytest.mark.parametrize(
    ("pattern", "flags", "code"),
    [
        (r"\bпривіт\b", "i", "ascii_word_boundary"),
        (r"тов\w+", "", "ascii_word_boundary"),
        (r"\p{L}+", "", "property_without_u"),
        (r"\Aтак", "", "python_anchor"),
        (r"так\Z", "", "python_anchor"),
        ("(?i)так", "", "python_group"),
        (r"(?P<n>\d)", "", "python_group"),
        ("x{,3}", "", "python_repeat"),
        ("/cart/", "", "pasted_slashes"),
    ],
)
def test_patterns_from_another_engine_are_pointed_out(pattern: str, flags: str, code: str) -> None:
    checked = case({"kind": "regex", "pattern": pattern, "flags": flags})
    assert warnings(checked) == [("assertions.0.pattern", code)]
    args = case({"kind": "tool_call", "toolName": "t", "argsRegex": pattern, "argsFlags": flags})
    assert warnings(args) == [("assertions.0.argsRegex", code)]
    value = case({"kind": "tool_args", "toolName": "t", "args": {"a": {"regex": pattern, "flags": flags}}})
    assert warnings(value) == [("assertions.0.args.a.regex", code)]


def test_a_final_dollar_is_pointed_out_where_a_line_end_may_follow() -> None:
    def of(check: dict[str, Any]) -> list[tuple[str, str]]:
        return warnings(case(check))

    assert of({"kind": "regex", "pattern": "так$"}) == [("assertions.0.pattern", "dollar_before_newline")]
    assert of({"kind": "regex", "pattern": "^так$"}) == []
    assert of({"kind": "tool_call", "toolName": "t", "argsRegex": "так$"}) == []
    assert of({"kind": "tool_call", "toolName": "t", "argsRegex": {"id": "-7$"}}) == []


@pytest.mark.parametrize(
    ("pattern", "flags"),
    [
        (r"\bhello\b", ""),
        (r"\p{L}+", "u"),
        (r"ціна \$", ""),
        ("так$", "m"),
        (r"\\bтак", ""),
        ("так", "i"),
    ],
)
def test_plain_patterns_are_left_alone(pattern: str, flags: str) -> None:
    assert warnings(case({"kind": "regex", "pattern": pattern, "flags": flags})) == []


TOOL = {"kind": "tool_call", "toolName": "t", "mustNotMatch": True}


def test_checks_of_tools_without_capture_are_pointed_out() -> None:
    checked = case(TOOL, budget={"maxToolCalls": 3})
    assert warnings(checked) == []
    assert warnings(checked, captures_tools=True) == []
    assert warnings(checked, captures_tools=False) == [
        ("assertions.0", "no_tool_capture"),
        ("budget.maxToolCalls", "no_tool_capture"),
    ]


ALL_OF_TOOLS = (
    TOOL,
    {"kind": "tool_args", "toolName": "t", "args": {"a": 1}},
    {"kind": "tool_sequence", "mode": "forbidden", "steps": [{"toolName": "t"}]},
    {"kind": "tool_policy", "maxCalls": 1},
    {"kind": "recovery", "expect": "retry", "toolName": "t"},
    {"kind": "precedes", "before": {"userText": "так"}, "after": {"toolName": "t"}},
    {"kind": "precedes", "before": {"userText": "так"}, "after": {"agentText": "ок"}},
    {"kind": "state", "noOtherWrites": True},
)


def test_every_kind_that_a_run_cannot_answer_is_pointed_out() -> None:
    checked = case(*ALL_OF_TOOLS)
    assert warnings(checked) == []
    assert warnings(checked, captures_tools=True, keeps_ledger=True, tools=frozenset({"t"})) == []
    assert warnings(checked, captures_tools=False, keeps_ledger=False) == [
        *((f"assertions.{index}", "no_tool_capture") for index in range(6)),
        ("assertions.7", "no_effect_ledger"),
    ]
    assert warnings(checked, captures_tools=True, keeps_ledger=False) == [
        ("assertions.7", "no_effect_ledger")
    ]


def test_a_tool_that_the_agent_does_not_have_is_pointed_out() -> None:
    assert warnings(case(*ALL_OF_TOOLS), tools=frozenset({"T"})) == [
        ("assertions.0.toolName", "unknown_tool"),
        ("assertions.1.toolName", "unknown_tool"),
        ("assertions.2.steps.0.toolName", "unknown_tool"),
        ("assertions.4.toolName", "unknown_tool"),
        ("assertions.5.after.toolName", "unknown_tool"),
    ]


def test_checks_that_lack_what_they_need_are_pointed_out() -> None:
    checked = case({"kind": "no_prompt_leak"}, {"kind": "judge", "rubric": "Чемно"})
    assert warnings(checked, has_prompt=True, has_judge=True) == []
    assert warnings(checked, has_prompt=False, has_judge=False) == [
        ("assertions.0", "no_prompt"),
        ("assertions.1", "no_judge"),
    ]


def test_checks_of_what_the_agent_does_not_report_are_pointed_out() -> None:
    checked = case(
        {"kind": "outcome", "field": "department", "equals": "x"},
        {"kind": "cost", "maxTokens": 5},
        {"kind": "latency", "maxMs": 5, "metric": "ttft"},
    )
    assert warnings(checked) == []
    told = {"reports_usage": True, "reports_first_token": True, "outcomes": frozenset({"department"})}
    assert warnings(checked, **told) == []
    assert warnings(checked, reports_usage=False, reports_first_token=False, outcomes=frozenset()) == [
        ("assertions.0.field", "outcome_not_reported"),
        ("assertions.1", "no_usage"),
        ("assertions.2", "no_timing"),
    ]


def test_checks_that_cannot_fail_are_pointed_out() -> None:
    assert warnings(case({"kind": "tool_call", "toolName": "t", "minOccurrence": 0})) == [
        ("assertions.0", "always_passes")
    ]
    for mode in ("in_order", "any_order", "forbidden"):
        empty: dict[str, Any] = {"kind": "tool_sequence", "mode": mode, "steps": []}
        assert warnings(case(empty)) == [("assertions.0", "always_passes")]
    assert warnings(case({"kind": "tool_sequence", "mode": "exact", "steps": []})) == []
    assert warnings(case(TOOL | {"minOccurrence": 2})) == [("assertions.0", "bounds_ignored")]
    assert warnings(case(TOOL, threshold=0)) == [("threshold", "always_passes")]
