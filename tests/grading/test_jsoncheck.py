from __future__ import annotations

import json
from typing import Any

import pytest

from proctor_contracts.results import Verdict
from proctor_grading.schema import schema_problem
from tests.grading.build import REGEX, assertion, check, holds

NAMED = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def passes(schema: Any, text: str, where: str = "whole", scope: str = "any_agent_msg") -> bool:
    return holds(assertion("json_schema", schema=schema, where=where, scope=scope), text)


@pytest.mark.parametrize(
    ("where", "text", "expected"),
    [
        ("whole", '{"name": "Оля"}', True),
        ("whole", ' {"name": "Оля"}\n', True),
        ("whole", 'Ось: {"name": "Оля"}', False),
        ("whole", '{"name": 1}', False),
        ("whole", '{"name": "a", "name": "b"}', False),
        ("whole", "NaN", False),
        ("embedded", 'Ось [1]: {"name": "Оля"} готово', True),
        ("embedded", 'Ось {"name": 1}', False),
        ("embedded", "Немає", False),
        ("fence", 'Ось:\n```json\n{"name": "Оля"}\n```\nі\n```python\nx\n```', True),
        ("fence", '```\n{"name": "Оля"}\n```', True),
        ("fence", '```json\n{"name": "Оля"}', True),
        ("fence", '```json\n{"name": "```"}\n```\nГотово ```', True),
        ("fence", '```json\r\n{"name": "Оля"}\r\n```\r\nГотово', True),
        ("fence", '```json\n{"name": "Оля"}```\nГотово', True),
        ("fence", '~~~json\n{"name": "Оля"}\n~~~', True),
        ("fence", '```python\nx\n```\n```json\n{"name": "Оля"}\n```', True),
        ("fence", '```python\n{"name": "Оля"}\n```', False),
        ("whole", '\ufeff{"name": "Оля"}', True),
        ("fence", '{"name": "Оля"}', False),
        ("fence", "```json\nне json\n```", False),
    ],
)
def test_the_document_is_looked_for_where_it_should_stand(where: str, text: str, *, expected: bool) -> None:
    assert passes(NAMED, text, where) is expected


def test_a_mismatch_says_where() -> None:
    found = check(assertion("json_schema", schema=NAMED), '{"name": 7}')
    assert found.code == "schema_mismatch"
    assert found.message == "at /name: 7 is not of type 'string'"


def test_scopes_ask_one_message_or_every_message() -> None:
    any_, all_ = (
        assertion("json_schema", schema=NAMED, scope=scope) for scope in ("any_agent_msg", "all_agent_msgs")
    )
    messages = ('{"name": "Оля"}', "Дякую")
    assert holds(any_, *messages)
    assert not holds(all_, *messages)


def test_patterns_are_javascripts() -> None:
    assert passes({"pattern": r"^\p{Lu}\p{L}+$"}, '"Їжак"')
    assert not passes({"pattern": r"^\p{Lu}\p{L}+$"}, '"їжак"')
    assert passes({"pattern": r"^\-a$"}, '"-a"')
    assert not passes({"patternProperties": {r"^\p{L}+$": {"type": "integer"}}}, '{"вік": "сім"}')


@pytest.mark.parametrize(
    ("number", "of", "multiple"),
    [("0.3", 0.1, True), ("4.35", 0.01, True), ("19.99", 0.01, True), ("0.35", 0.1, False), ("7", 2, False),
     ("1e308", 10, True), ("-6", 3, True), ('"x"', 3, True), ("true", 3, True), ("0", 0.7, True)],
)  # fmt: skip
def test_multiples_are_counted_as_they_are_written(number: str, of: float, *, multiple: bool) -> None:
    assert passes({"multipleOf": of}, number) is multiple


@pytest.mark.parametrize(
    ("items", "unique"),
    [("[1, 1.0]", False), ("[1, true]", True), ('[{"a": 1, "b": 2}, {"b": 2, "a": 1}]', False), ("[]", True)],
)
def test_unique_items_compares_by_value(items: str, *, unique: bool) -> None:
    assert passes({"uniqueItems": True}, items) is unique


BOMB: dict[str, Any] = {
    "$defs": {
        **{f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(30)},
        "d30": {"type": "string"},
    },
    "$ref": "#/$defs/d0",
}


@pytest.mark.parametrize(
    ("schema", "text", "code"),
    [
        (BOMB, '"x"', "schema_limit"),
        ({"$ref": "#"}, "1", "schema_limit"),
        ({"$ref": "http://schemas.example/x.json"}, "1", "schema_reference"),
        ({"$ref": "#/nope"}, "1", "schema_reference"),
        ({"pattern": "(a+)+$"}, json.dumps("a" * 40 + "!"), "regex_timeout"),
        ({"pattern": "["}, '"a"', "invalid_pattern"),
        ({}, '"' + "а" * 100_000 + '"', "text_too_long"),
    ],
)
def test_what_cannot_be_checked_in_bounds_is_unresolved(schema: Any, text: str, code: str) -> None:
    found = check(assertion("json_schema", schema=schema), text)
    assert (found.verdict, found.code) == (Verdict.UNRESOLVED, code)


@pytest.mark.parametrize(
    "schema",
    [
        True,
        NAMED,
        {"pattern": r"^\p{L}+$"},
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "definitions": {"x": {}},
            "$ref": "#/definitions/x",
        },
        {"properties": {"pattern": {"type": "string"}, "$ref": {"type": "string"}}},
        {"$anchor": "A", "properties": {"x": {"$ref": "#A"}}},
        {"enum": [{"$ref": "http://data.example"}], "default": {"pattern": "["}},
    ],
)
def test_usable_schemas_are_accepted(schema: Any) -> None:
    assert schema_problem(schema, REGEX) is None


@pytest.mark.parametrize(
    ("schema", "pointer", "says"),
    [
        ({"type": "strin"}, "/type", "strin"),
        ({"properties": {"a": {"pattern": "["}}}, "/properties/a/pattern", "position 0"),
        ({"patternProperties": {"(": {}}}, "/patternProperties", "position 0"),
        ({"$ref": "http://schemas.example/x"}, "/$ref", "remote"),
        ({"$ref": "other.json"}, "/$ref", "remote"),
        ({"allOf": [{"$ref": "#/$defs/no"}]}, "/allOf/0/$ref", "not in the schema"),
        ({"$schema": "http://no.example/dialect"}, "/$schema", "unknown"),
        ({"$schema": 5}, "/$schema", "URI"),
        ({"$schema": ["x"]}, "/$schema", "URI"),
        ({"$schema": None}, "/$schema", "URI"),
    ],
)
def test_an_unusable_schema_is_refused_with_its_place(schema: Any, pointer: str, says: str) -> None:
    problem = schema_problem(schema, REGEX)
    assert problem is not None
    assert problem[0] == pointer
    assert says in problem[1]
