"""Handlers as a model sees them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from proctor_contracts.agents import HandlerSnapshot
from proctor_llm.aliases import Aliases
from proctor_runner.gateway.tools import Toolbox, parameters_of


def handler(name: str = "t", **more: Any) -> HandlerSnapshot:
    return HandlerSnapshot(id=UUID(int=9), name=name, **more)


def test_a_handlers_own_schema_is_kept() -> None:
    schema = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    assert parameters_of(handler(parameters_schema=schema, body={"other": 1})) == schema


@pytest.mark.parametrize("given", [{}, {"type": "array"}, {"type": ["object", "null"]}, {"required": []}])
def test_a_schema_that_a_provider_would_refuse_is_made_one_of_an_object(given: dict[str, Any]) -> None:
    schema = parameters_of(handler(parameters_schema=given))
    assert schema["type"] == "object"
    assert schema["properties"] == {}


def test_a_schema_is_derived_from_the_example_body() -> None:
    body = {
        "order_id": "A-7",
        "qty": 2,
        "price": 1.5,
        "vip": True,
        "note": None,
        "items": [{"sku": "x"}],
        "empty": [],
        "to": {"city": "Київ"},
        "from_template": "{{message}}",
    }
    assert parameters_of(handler(body=body)) == {
        "type": "object",
        "properties": {
            "order_id": {"type": "string", "description": "e.g. A-7"},
            "qty": {"type": "integer", "description": "e.g. 2"},
            "price": {"type": "number", "description": "e.g. 1.5"},
            "vip": {"type": "boolean"},
            "note": {},
            "items": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"sku": {"type": "string", "description": "e.g. x"}},
                },
            },
            "empty": {"type": "array", "items": {}},
            "to": {
                "type": "object",
                "properties": {"city": {"type": "string", "description": "e.g. Київ"}},
            },
            "from_template": {"type": "string"},
        },
    }


@pytest.mark.parametrize("body", [None, [], 3, "not json", "[1]"])
def test_an_example_that_is_no_object_suggests_nothing(body: Any) -> None:
    assert parameters_of(handler(body=body)) == {"type": "object", "properties": {}}


def test_an_example_written_as_text_is_read() -> None:
    assert parameters_of(handler(body='{"a": 1}'))["properties"] == {
        "a": {"type": "integer", "description": "e.g. 1"}
    }


def test_an_example_that_is_very_deep_ends() -> None:
    body: dict[str, Any] = {}
    for _ in range(200):
        body = {"a": body}
    assert "properties" in parameters_of(handler(body=body))


def test_tools_are_found_by_their_own_names_and_their_aliases_differ() -> None:
    names = ["escalation.payment", "escalation_payment", "x" * 70, "x" * 71, "повернення.коштів"]
    tools = Toolbox(handler(name) for name in names)
    aliases = Aliases(spec.name for spec in tools.specs)
    assert [spec.name for spec in tools.specs] == names
    assert len({aliases.alias(name) for name in names}) == len(names)
    found = tools.find("escalation.payment")
    assert found is not None
    assert found.handler.name == "escalation.payment"
    assert tools.find("escalation-payment") is None


def test_a_side_effect_is_what_nobody_said_is_none() -> None:
    tools = Toolbox([handler("a"), handler("b", is_side_effect=True), handler("c", is_side_effect=False)])
    guarded = {name: tool.guarded for name in tools.names if (tool := tools.find(name)) is not None}
    assert guarded == {"a": True, "b": True, "c": False}


def test_of_two_handlers_with_one_name_a_model_is_told_of_one() -> None:
    tools = Toolbox([handler("a", description="first"), handler("a", description="second")])
    assert [spec.description for spec in tools.specs] == ["first"]


def test_a_description_is_never_empty() -> None:
    assert Toolbox([handler("a", description=" ")]).specs[0].description


def test_descriptions_count_as_prompt() -> None:
    small, large = Toolbox([handler("a")]), Toolbox([handler("a", description="ї" * 500)])
    assert large.tokens - small.tokens >= 900
    assert Toolbox([]).tokens == 0
