"""What a run has to do with tools: pure decisions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from proctor_api.usecases.run_plan import case_snapshot, run_settings
from proctor_api.usecases.run_tools import is_blind, runner_problems
from proctor_contracts.effects import Action, HandlerEffect
from proctor_contracts.enums import Provider
from proctor_store.repositories.handlers import HandlerRecord
from tests.api.test_run_plan import AT, ID, INTEGRATION, body, planned, record


@pytest.mark.parametrize("provider", list(Provider))
def test_only_models_that_take_tools_can_be_run_by_the_gateway(provider: Provider) -> None:
    found = runner_problems(body(runner="gateway", onToolError="error", weather=["ok"]), provider)
    if provider is Provider.HTTP:
        [problem] = found
        assert (problem.path, problem.code) == ("runner", "runner_needs_model")
        assert "anthropic, groq, openai" in problem.message
    else:
        assert found == []
    assert runner_problems(body(), provider) == []


@pytest.mark.parametrize(
    ("more", "field"), [({"weather": ["ok"]}, "weather"), ({"onToolError": "error"}, "onToolError")]
)
def test_a_runner_without_tools_has_no_weather_and_no_tool_errors(more: dict[str, Any], field: str) -> None:
    [problem] = runner_problems(body(**more), Provider.OPENAI)
    assert (problem.path, problem.code) == (field, "runner_calls_no_tools")


def handler(name: str, **more: Any) -> HandlerRecord:
    fields: dict[str, Any] = {
        "id": UUID(int=9), "account_id": ID, "integration_id": ID, "name": name,
        "description": "what it does", "url": "/x", "method": "PUT",
        "headers": {"A": {"secret": "TOKEN"}}, "body": {"id": "R-1"},
        "parameters_schema": None, "is_side_effect": None, "effect": {"entity": "refund", "action": "create"},
        "created_at": AT, "updated_at": AT,
    }  # fmt: skip
    return HandlerRecord(**(fields | more))


def test_only_a_gateway_run_takes_the_handlers_along_whole() -> None:
    there = [handler("refund"), handler("шукати", is_side_effect=False, effect=None)]
    plain, _ = run_settings(body(), INTEGRATION, judge=None, handlers=there)
    assert plain.agent.handlers == ()
    settings, warnings = run_settings(
        body(runner="gateway", weather=["timeout@2", "ok"], onToolError="error", dryRun=False),
        INTEGRATION, judge=None, handlers=there,
    )  # fmt: skip
    assert warnings == []
    assert (settings.weather, settings.on_tool_error, settings.dry_run) == (
        ("timeout@2", "ok"),
        "error",
        False,
    )
    first, second = settings.agent.handlers
    assert (first.name, first.method, first.headers) == ("refund", "PUT", {"A": {"secret": "TOKEN"}})
    assert first.effect == HandlerEffect(entity="refund", action=Action.CREATE)
    assert (second.name, second.is_side_effect, second.effect) == ("шукати", False, None)


def test_a_gateway_run_is_warned_of_tools_that_are_not_there() -> None:
    _, [nothing] = run_settings(body(runner="gateway"), INTEGRATION, judge=None)
    assert (nothing.path, nothing.code) == ("runner", "no_handlers")
    weather = ["timeout@1:order.*", "ok", "5xx:refund*", "poison:invoice"]
    _, found = run_settings(
        body(runner="gateway", weather=weather), INTEGRATION, judge=None, handlers=[handler("refund.create")]
    )
    assert [(one.path, one.code) for one in found] == [
        ("weather.0", "no_such_handler"),
        ("weather.3", "no_such_handler"),
    ]


@pytest.mark.parametrize(
    ("check", "seen_by_http"),
    [
        ({"kind": "tool_call", "toolName": "t"}, True),
        ({"kind": "tool_policy", "maxCalls": 1}, True),
        ({"kind": "precedes", "before": {"toolName": "t"}, "after": {"agentText": "так"}}, True),
        ({"kind": "state", "noOtherWrites": True}, False),
        ({"kind": "contains", "value": "так"}, None),
        ({"kind": "precedes", "before": {"userText": "а"}, "after": {"agentText": "так"}}, None),
    ],
)
def test_a_run_knows_which_checks_it_cannot_decide(
    check: dict[str, Any], *, seen_by_http: bool | None
) -> None:
    taken = case_snapshot(record(assertions=[check]), score_threshold=None)
    assert not is_blind(taken, planned())
    scripted = run_settings(body(), INTEGRATION, judge=None)[0]
    assert is_blind(taken, scripted) is (seen_by_http is not None)
    endpoint = {"url": "http://b", "body": {}, "replyPath": "$.a", "toolCallsPath": "$.t"}
    telling = replace(INTEGRATION, provider="http", endpoint=endpoint)
    assert is_blind(taken, run_settings(body(), telling, judge=None)[0]) is (seen_by_http is False)
