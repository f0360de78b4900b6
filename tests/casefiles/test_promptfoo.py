from __future__ import annotations

import json
from textwrap import dedent
from typing import Any

import pytest

from proctor_casefiles.documents import read_yaml
from proctor_casefiles.drafts import CaseDraft, FileRefused, Reading
from proctor_casefiles.promptfoo.reading import read_promptfoo
from proctor_contracts.cases import CaseFields
from proctor_contracts.results import Verdict
from tests.grading.build import agent, check, user
from tests.grading.build import assertion as built

CONFIG = """
    # yaml-language-server: $schema=https://promptfoo.dev/config-schema.json
    description: Support
    prompts: ['{{question}}']
    providers: [openai:gpt-5]
    assertionTemplates:
      polite: {type: llm-rubric, value: 'Answers {{name}} politely'}
    defaultTest:
      vars: {name: Olena}
      assert:
        - {type: latency, threshold: 5000}
    evaluateOptions: {repeat: 3}
    tests:
      - description: Refund
        vars: {question: 'I was charged twice'}
        metadata: {category: Money, tags: [smoke]}
        threshold: 0.8
        assert:
          - {type: icontains, value: refund, weight: 2, metric: mentions}
          - {type: not-contains-any, value: 'sorry, cannot'}
          - {$ref: '#/assertionTemplates/polite'}
          - {type: javascript, value: output.length < 200}
      - vars: {question: [Hello, Bye]}
        assert: [{type: contains, value: '{{name}}'}]
"""


def read(text: str) -> Reading:
    return read_promptfoo(read_yaml(dedent(text)))


def case(draft: CaseDraft) -> CaseFields:
    assert draft.problems == ()
    return CaseFields.model_validate(draft.fields)


def converted(*assertions: dict[str, Any], **more: Any) -> CaseDraft:
    test = {"vars": {"message": "Hi", "n": 7}, "assert": list(assertions), **more}
    (draft,) = read_promptfoo([test]).drafts
    return draft


def one(assertion: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        made.model_dump(by_alias=True, exclude_unset=True, mode="json")
        for made in case(converted(assertion)).assertions
    ]


def lost(assertion: dict[str, Any]) -> str:
    kept = {"type": "contains", "value": "x"}
    draft = converted(kept, assertion)
    (warning,) = draft.warnings
    assert warning.path == "0.assert.1"
    assert "needs_review" in draft.fields["tags"]
    return warning.message


def test_a_configuration_becomes_cases() -> None:
    refund, hello, bye = map(case, read(CONFIG).drafts)
    assert (refund.name, refund.category, refund.threshold) == ("Refund", "Money", 80)
    assert refund.tags == ("smoke", "promptfoo", "needs_review")
    assert [made.kind for made in refund.assertions] == [
        "latency", "contains", "not_contains", "not_contains", "judge",
    ]  # fmt: skip
    assert refund.assertions[1].ref == "mentions"
    # Two forbidden words share the weight of the one assertion that they come from.
    assert [made.weight for made in refund.assertions] == [20, 40, 10, 10, 20]
    assert refund.assertions[4].model_dump()["rubric"] == "Answers Olena politely"
    assert [case_.input.model_dump()["message"] for case_ in (hello, bye)] == ["Hello", "Bye"]
    assert hello.threshold == 100
    assert hello.ref != bye.ref


def test_what_could_not_be_carried_over_is_named_with_its_place_and_reason() -> None:
    reading = read(CONFIG)
    assert {(one.path, one.message) for one in reading.warnings} == {
        ("evaluateOptions", "not carried over: has no counterpart")
    }
    (javascript,) = reading.drafts[0].warnings
    assert javascript.path == "tests.0.assert.3"
    assert "javascript: it is code" in javascript.message


def test_refs_do_not_change_when_assertions_do() -> None:
    first = converted({"type": "contains", "value": "x"})
    second = converted({"type": "contains", "value": "y"}, description=None)
    assert first.fields["ref"] == second.fields["ref"]
    twins = read_promptfoo([{"vars": {"q": "a"}, "assert": [{"type": "contains", "value": "x"}]}] * 2).drafts
    assert twins[1].fields["ref"] == f"{twins[0].fields['ref']}-2"


@pytest.mark.parametrize(
    ("assertion", "checks"),
    [
        ({"type": "contains", "value": 5}, [{"kind": "contains", "value": "5"}]),
        ({"type": "contains", "value": "n={{n}}"}, [{"kind": "contains", "value": "n=7"}]),
        (
            {"type": "not-icontains", "value": "a"},
            [{"kind": "not_contains", "value": "a", "caseInsensitive": True}],
        ),
        ({"type": "contains-all", "value": 'a, "b, c"'}, [{"kind": "contains_all", "values": ["a", "b, c"]}]),
        (
            {"type": "icontains-any", "value": ["a", 2]},
            [{"kind": "contains_any", "values": ["a", "2"], "caseInsensitive": True}],
        ),
        ({"type": "regex", "value": "\\d+"}, [{"kind": "regex", "pattern": "\\d+"}]),
        ({"type": "not-regex", "value": "a"}, [{"kind": "regex", "pattern": "a", "mustMatch": False}]),
        ({"type": "is-json"}, [{"kind": "json_schema", "where": "whole", "schema": True}]),
        (
            {"type": "contains-json", "value": '{"type": "object"}'},
            [{"kind": "json_schema", "where": "embedded", "schema": {"type": "object"}}],
        ),
        (
            {"type": "equals", "value": {"a": 1}},
            [{"kind": "json_schema", "where": "whole", "schema": {"const": {"a": 1}}}],
        ),
        ({"type": "cost", "threshold": 0.002}, [{"kind": "cost", "maxCents": 0.2}]),
        ({"type": "latency", "threshold": 100}, [{"kind": "latency", "maxMs": 100}]),
        (
            {"type": "g-eval", "value": ["a", "b"]},
            [{"kind": "judge", "rubric": "a"}, {"kind": "judge", "rubric": "b"}],
        ),
        (
            {"type": "trajectory:tool-used", "value": ["find", "pay"]},
            [{"kind": "tool_call", "toolName": "find"}, {"kind": "tool_call", "toolName": "pay"}],
        ),
        (
            {"type": "trajectory:tool-used", "value": {"name": "find", "min": 0, "max": 2}},
            [{"kind": "tool_call", "toolName": "find", "minOccurrence": 0, "maxOccurrence": 2}],
        ),
        (
            {"type": "not-trajectory:tool-used", "value": "close"},
            [{"kind": "tool_call", "toolName": "close", "mustNotMatch": True}],
        ),
        (
            {
                "type": "trajectory:tool-sequence",
                "value": {"mode": "exact", "steps": ["find", {"name": "pay"}]},
            },
            [
                {
                    "kind": "tool_sequence",
                    "mode": "exact",
                    "steps": [{"toolName": "find"}, {"toolName": "pay"}],
                }
            ],
        ),
        (
            {"type": "trajectory:tool-args-match", "value": {"name": "pay", "args": {"to": {"id": "{{n}}"}}}},
            [{"kind": "tool_args", "toolName": "pay", "args": {"to.id": {"eq": "7"}}, "match": "contains"}],
        ),
        (
            {
                "type": "trajectory:tool-args-match",
                "value": {"name": "pay", "args": {"a": {}}, "mode": "exact"},
            },
            [{"kind": "tool_args", "toolName": "pay", "args": {"a": {"eq": {}}}, "match": "exact"}],
        ),
        (
            {
                "type": "assert-set",
                "assert": [{"type": "contains", "value": "a"}, {"type": "regex", "value": "b"}],
            },
            [{"kind": "contains", "value": "a"}, {"kind": "regex", "pattern": "b"}],
        ),
    ],
)
def test_an_assertion_becomes_the_check_that_says_the_same(
    assertion: dict[str, Any], checks: list[dict[str, Any]]
) -> None:
    made = one(assertion)
    assert [{key: value for key, value in check.items() if key != "weight"} for check in made] == checks


@pytest.mark.parametrize(
    ("assertion", "good", "bad"),
    [
        ({"type": "equals", "value": "Yes (1+1)."}, "Yes (1+1).", "Yes (1+1)!"),
        ({"type": "equals", "value": "a\nb"}, "a\nb", "a\nb\n"),
        ({"type": "starts-with", "value": "$5"}, "$5 please", "it is $5"),
        ({"type": "not-equals", "value": "no"}, "not", "no"),
    ],
)
def test_fixed_texts_are_compared_as_they_are(assertion: dict[str, Any], good: str, bad: str) -> None:
    (fields,) = one(assertion)
    made = built(fields.pop("kind"), **fields)
    assert check(made, user(), agent(good)).verdict is Verdict.PASSED
    assert check(made, user(), agent(bad)).verdict is Verdict.FAILED


@pytest.mark.parametrize(
    ("assertion", "told"),
    [
        ({"type": "python", "value": "x"}, "python: it is code"),
        ({"type": "not-similar", "value": "x"}, "nearness"),
        ({"type": "not-is-json"}, "opposite"),
        ({"type": "rouge-n", "value": "x"}, "no such check"),
        ({"value": "x"}, "has no type"),
        ("contains", "is an object"),
        ({"type": "contains", "value": "file://a.txt"}, "file://a.txt"),
        ({"type": "contains", "value": "{{nobody}}"}, "nobody"),
        ({"type": "contains", "value": "{{ n | upper }}"}, "filters"),
        ({"type": "contains", "value": "a", "transform": "output.a"}, "transform"),
        ({"type": "contains", "value": "a", "weight": 0}, "weighs nothing"),
        ({"type": "contains", "value": "a", "weight": "2"}, "no number"),
        ({"type": "cost"}, "threshold"),
        ({"type": "is-json", "value": "required: [a]"}, "JSON Schema"),
        ({"type": "equals", "value": "x" * 3000}, "longer"),
        ({"type": "llm-rubric", "value": {"a": 1}}, "in words"),
        (
            {"type": "assert-set", "threshold": 0.5, "assert": [{"type": "contains", "value": "a"}]},
            "threshold",
        ),
        ({"$ref": "#/assertionTemplates/none"}, "none"),
        ({"type": "trajectory:tool-used", "value": {"pattern": "get_*"}}, "get_*"),
        ({"type": "trajectory:step-count", "value": {"max": 3}}, "no such check"),
        ({"type": "trajectory:tool-args-match", "value": {"name": "a", "args": {"b.c": 1}}}, "dot"),
        ({"type": "not-trajectory:tool-used", "value": {"name": "a", "max": 2}}, "number of calls"),
    ],
)
def test_what_has_no_counterpart_is_lost_with_a_reason(assertion: Any, told: str) -> None:
    assert told in lost(assertion)


def test_a_test_of_which_nothing_is_left_to_check_is_a_problem() -> None:
    draft = converted({"type": "javascript", "value": "true"})
    nothing, why = draft.problems
    assert (nothing.path, why.path) == ("0.assert", "0.assert.0")
    assert "nothing to check" in nothing.message


@pytest.mark.parametrize(
    ("prompts", "variables", "message"),
    [
        (None, {"anything": "Hi"}, "Hi"),
        (None, {"input": "Hi", "locale": "uk"}, "Hi"),
        ("{{ a }} and {{b.c}}", {"a": "{{d}}", "b": {"c": True}, "d": 1}, "1 and true"),
        (["file://prompt.txt"], {"q": "Hi"}, "Hi"),
        ([{"raw": "Say {{q}}", "label": "x"}, "{{q}}"], {"q": "Hi"}, "Say Hi"),
        ('[{"role": "system", "content": "Be"}, {"role": "user", "content": "{{q}}"}]', {"q": "Hi"}, "Hi"),
    ],
)
def test_the_user_says_what_the_prompt_makes_of_the_variables(
    prompts: Any, variables: dict[str, Any], message: str
) -> None:
    test = {"vars": variables, "assert": [{"type": "contains", "value": "x"}]}
    (draft,) = read_promptfoo({"prompts": prompts, "tests": [test]}).drafts
    assert case(draft).input.model_dump() == {"kind": "scripted_single", "message": message}


@pytest.mark.parametrize(
    ("prompts", "told"),
    [
        (["file://prompt.txt"], "is not read"),
        (["a {{q}}", "b {{q}}"], "the first is taken"),
        ("Be kind. {{q}}", "agentPrompt"),
        ('[{"role": "system", "content": "Be"}, {"role": "user", "content": "{{q}}"}]', "system messages"),
    ],
)
def test_what_prompts_say_besides_is_told_once(prompts: Any, told: str) -> None:
    test = {"vars": {"q": "Hi"}, "assert": [{"type": "contains", "value": "x"}]}
    warnings = read_promptfoo({"prompts": prompts, "tests": [test, test]}).warnings
    assert [told in one.message for one in warnings].count(True) == 1


def test_several_messages_become_a_script() -> None:
    said = [("user", "Hi"), ("assistant", "Yes?"), ("user", "{{q}}")]
    prompt = json.dumps([{"role": role, "content": content} for role, content in said])
    test = {"vars": {"q": "Go"}, "assert": [{"type": "contains", "value": "x"}]}
    (draft,) = read_promptfoo({"prompts": prompt, "tests": [test]}).drafts
    assert [line["content"] for line in case(draft).input.model_dump()["messages"]] == ["Hi", "Yes?", "Go"]


@pytest.mark.parametrize(
    ("test", "told"),
    [
        ("file://tests.yaml", "is no test"),
        ({"vars": "file://vars.yaml"}, "from a file"),
        ({"vars": {"message": "file://long.txt"}}, "file://long.txt"),
        ({"vars": {"a": "x", "b": "y"}}, "does not show what the user says"),
        ({"vars": {"message": "  "}}, "empty"),
        ({"vars": {"message": "{% if x %}a{% endif %}"}}, "logic"),
        ({"vars": {"message": "{{message}}{{message}}"}}, "without end"),
        ({"vars": {"a": list("abcdefgh"), "b": list("abcdefgh"), "c": list("abcdefgh")}}, "more than 200"),
    ],
)
def test_a_test_that_cannot_be_asked_is_a_problem_and_spoils_no_other(test: Any, told: str) -> None:
    if isinstance(test, dict):
        test = {**test, "assert": [{"type": "contains", "value": "x"}]}
    good = {"vars": {"message": "Hi"}, "assert": [{"type": "contains", "value": "x"}]}
    bad, kept = read_promptfoo([test, good]).drafts
    assert told in bad.problems[0].message
    assert (bad.problems[0].path, kept.problems) == ("0", ())


def test_default_assertions_can_be_left_out_and_variables_spread() -> None:
    reading = read_promptfoo(
        {
            "defaultTest": {"assert": [{"type": "contains", "value": "d"}], "options": {"provider": "x"}},
            "tests": [
                {
                    "description": "Greets",
                    "vars": {"message": ["a", "b"]},
                    "options": {"disableDefaultAsserts": True},
                    "assert": [{"type": "contains", "value": "{{message}}"}],
                }
            ],
        }
    )
    first, second = map(case, reading.drafts)
    assert [first.name, second.name] == ["Greets (1 of 2)", "Greets (2 of 2)"]
    assert [len(first.assertions), second.assertions[0].model_dump()["value"]] == [1, "b"]
    assert [one.path for one in reading.warnings] == ["defaultTest.options"]


@pytest.mark.parametrize("value", [{}, 7, None, {"tests": "file://t.yaml"}, {"tests": {"path": "x.py"}}])
def test_what_holds_no_tests_is_refused(value: Any) -> None:
    with pytest.raises(FileRefused, match="tests"):
        read_promptfoo(value)
