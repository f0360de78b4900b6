"""Dry runs and weather: what is called, what the twin answers, what the ledger holds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from proctor_contracts.agents import HandlerSnapshot
from proctor_contracts.effects import Action, HandlerEffect
from proctor_contracts.messages import CaseExecuted
from proctor_llm.types import ToolUse
from proctor_runner.gateway.outcome import Failure
from proctor_runner.gateway.weather import POISON
from tests.runner.fakes import FakeAgent, FakeHandlers, asks, attempts, gateway_job, handler, use

GET_ORDER = handler("get_order", is_side_effect=False)
GET_REFUND = handler("get_refund", is_side_effect=False)
CREATE_REFUND = handler("create_refund", is_side_effect=True)
UPDATE_ORDER = handler("update_order")
CANCEL_ORDER = handler("cancel_order")
TOOLS = (GET_ORDER, GET_REFUND, CREATE_REFUND, UPDATE_ORDER, CANCEL_ORDER)
BROKEN = Failure("http_500", "the handler answered 500", "the tool answered 500")


async def play(
    *uses: ToolUse,
    handlers: FakeHandlers | None = None,
    tools: Sequence[HandlerSnapshot] = TOOLS,
    **more: Any,
) -> tuple[CaseExecuted, list[Any]]:
    """Play calls one by one; gives the fact and what the model was told of each."""
    agent = FakeAgent(answers=(*(asks(one) for one in uses), "Вітаю"))
    fact = await attempts(agent, handlers=handlers).play(gateway_job(handlers=tools, **more))
    told = [result.content for message in agent.requests[-1].messages for result in message.tool_results]
    return fact, told


async def test_a_dry_run_calls_no_side_effect_and_writes_down_what_would_have_been() -> None:
    handlers = FakeHandlers()
    fact, told = await play(
        use("create_refund", {"order_id": "7", "amount": 20}),
        use("update_order", {"id": "7", "status": "returned"}),
        use("cancel_order", {"id": "7"}),
        use("get_order", {"id": "8"}),
        handlers=handlers,
    )
    assert [name for name, _ in handlers.calls] == ["get_order"]
    assert [(one.action, one.entity, one.key, one.tool, one.call) for one in fact.effects] == [
        (Action.CREATE, "refund", "7", "create_refund", 1),
        (Action.UPDATE, "order", "7", "update_order", 2),
        (Action.DELETE, "order", "7", "cancel_order", 3),
    ]
    assert [one.record for one in fact.effects] == [
        {"order_id": "7", "amount": 20, "id": "7"},
        {"id": "7", "status": "returned"},
        None,
    ]
    assert {(one.dry_run, one.failed, one.turn) for one in fact.effects} == {(True, False, 1)}
    assert json.loads(told[0]) == {"dryRun": True, "order_id": "7", "amount": 20, "id": "7"}
    records = [call for entry in fact.transcript for call in entry.tool_calls]
    assert [call.dry_run for call in records] == [True, True, True, False]


@pytest.mark.parametrize("keyed", [True, False])
async def test_what_was_written_is_what_is_read(keyed: bool) -> None:  # noqa: FBT001 - a parameter of the test
    handlers = FakeHandlers()
    fact, told = await play(
        use("create_refund", {"order_id": "7", "amount": 20}),
        use("get_refund", {"order_id": "7"} if keyed else {}),
        handlers=handlers,
    )
    assert handlers.calls == []
    assert json.loads(told[1]) == {"dryRun": True, "order_id": "7", "amount": 20, "id": "7"}
    assert fact.transcript[2].tool_calls[0].dry_run is True
    assert len(fact.effects) == 1


async def test_a_read_of_another_record_is_a_real_call() -> None:
    handlers = FakeHandlers({"get_refund": {"id": "8", "amount": 1}})
    _, told = await play(
        use("create_refund", {"order_id": "7"}), use("get_refund", {"order_id": "8"}), handlers=handlers
    )
    assert handlers.calls == [("get_refund", {"order_id": "8"})]
    assert json.loads(told[1]) == {"id": "8", "amount": 1}


async def test_a_change_is_laid_over_the_real_record() -> None:
    handlers = FakeHandlers({"get_order": {"id": "7", "status": "paid", "city": "Київ"}})
    fact, told = await play(
        use("update_order", {"id": "7", "status": "returned"}),
        use("get_order", {"id": "7"}),
        handlers=handlers,
    )
    assert json.loads(told[1]) == {"id": "7", "status": "returned", "city": "Київ", "dryRun": True}
    assert fact.transcript[2].tool_calls[0].dry_run is True
    handlers = FakeHandlers({"get_order": BROKEN})
    _, told = await play(
        use("update_order", {"id": "7", "status": "returned"}),
        use("get_order", {"id": "7"}),
        handlers=handlers,
    )
    assert json.loads(told[1]) == {"id": "7", "status": "returned", "dryRun": True}


async def test_what_was_deleted_is_not_found_again() -> None:
    handlers = FakeHandlers()
    _, told = await play(use("cancel_order", {"id": "7"}), use("get_order", {"id": "7"}), handlers=handlers)
    assert handlers.calls == []
    assert json.loads(told[1])["found"] is False


async def test_conversations_do_not_share_a_memory() -> None:
    handlers = FakeHandlers({"get_refund": {"real": True}})
    agent = FakeAgent(answers=(asks(use("create_refund")), "Вітаю", asks(use("get_refund")), "Вітаю"))
    played = attempts(agent, handlers=handlers)
    await played.play(gateway_job(handlers=TOOLS))
    await played.play(gateway_job(handlers=TOOLS))
    assert handlers.calls == [("get_refund", {})]


async def test_a_read_that_nobody_called_harmless_is_not_called_and_says_what_to_set() -> None:
    handlers = FakeHandlers()
    unset = handler("find_customer")
    twice = (use("find_customer", {"id": 1}), use("find_customer", {"id": 2}))
    fact, told = await play(*twice, handlers=handlers, tools=(unset,))
    assert handlers.calls == []
    assert json.loads(told[0])["dryRun"] is True
    assert fact.effects == ()
    assert len([line for line in fact.logs if "find_customer" in line and "isSideEffect" in line]) == 1


async def test_what_a_handler_says_of_its_effect_is_what_the_ledger_says() -> None:
    said = HandlerEffect(entity="ticket", action=Action.UPDATE, key="number")
    odd = handler("escalation.payment", effect=said)
    agent = FakeAgent(answers=(asks(use("escalation.payment", {"number": 5, "id": 1})), "Вітаю"))
    fact = await attempts(agent).play(gateway_job(handlers=(odd,)))
    assert [(one.entity, one.action, one.key) for one in fact.effects] == [("ticket", Action.UPDATE, "5")]


async def test_a_real_run_calls_everything_and_writes_down_what_worked_and_what_did_not() -> None:
    handlers = FakeHandlers(
        {"create_refund": {"id": "R-1", "ok": True}, "update_order": BROKEN, "cancel_order": "done"}
    )
    fact, _ = await play(
        use("create_refund", {"amount": 20}),
        use("update_order", {"id": "7"}),
        use("cancel_order", {"id": "7"}),
        use("get_order", {"id": "7"}),
        handlers=handlers,
        dry_run=False,
    )
    assert len(handlers.calls) == 4
    assert [(one.key, one.record, one.dry_run, one.failed) for one in fact.effects] == [
        ("R-1", {"id": "R-1", "ok": True}, False, False),
        ("7", None, False, True),
        ("7", None, False, False),
    ]


async def test_a_scripted_run_keeps_no_ledger_and_a_gateway_run_always_does() -> None:
    check = {"kind": "state", "expect": [{"entity": "refund", "count": 0}], "noOtherWrites": True}
    fact, _ = await play(use("get_order"), assertions=[check])
    assert fact.assertion_results[0].passed is True


async def test_a_double_refund_fails_on_the_state_although_the_text_is_right() -> None:
    checks = [
        {"kind": "contains", "value": "Вітаю"},
        {"kind": "state", "expect": [{"entity": "refund", "count": 1}]},
    ]
    refund = use("create_refund", {"order_id": "7", "amount": 20})
    once, _ = await play(refund, assertions=checks)
    twice, _ = await play(refund, refund, assertions=checks)
    assert [result.passed for result in once.assertion_results] == [True, True]
    assert [result.passed for result in twice.assertion_results] == [True, False]


async def played_in(
    weather: str, *, seed: str = "case|1|w", calls: int = 3, **more: Any
) -> tuple[CaseExecuted, list[str]]:
    handlers = FakeHandlers({"get_order": {"id": "7", "status": "paid"}})
    uses = [use("get_order", {"id": str(at)}) for at in range(1, calls + 1)]
    fact, told = await play(*uses, handlers=handlers, weather=weather, seed=seed, **more)
    assert fact.weather == weather
    return fact, told


@pytest.mark.parametrize(
    ("weather", "errors"),
    [
        ("ok", [None, None, None]),
        ("timeout@2", [None, "timeout", None]),
        ("5xx@1", ["http_50", None, None]),
        ("429@*", ["http_429", "http_429", "http_429"]),
        ("timeout@1:create_*", [None, None, None]),
        ("timeout@3:get_*", [None, None, "timeout"]),
        ("malformed", ["malformed", None, None]),
        ("poison", [None, None, None]),
    ],
)
async def test_weather_strikes_the_same_call_every_time(weather: str, errors: list[str | None]) -> None:
    first, told = await played_in(weather)
    again, told_again = await played_in(weather)
    calls = [call for entry in first.transcript for call in entry.tool_calls]
    assert len(calls) == 3
    for call, error in zip(calls, errors, strict=True):
        assert (call.error is None) if error is None else str(call.error).startswith(error)
    assert told == told_again
    assert [(entry.content, [call.error for call in entry.tool_calls]) for entry in first.transcript] == [
        (entry.content, [call.error for call in entry.tool_calls]) for entry in again.transcript
    ]


async def test_some_call_is_chosen_by_the_seed() -> None:
    struck = set()
    for seed in map(str, range(20)):
        fact, _ = await played_in("timeout@?", seed=seed)
        calls = [call for entry in fact.transcript for call in entry.tool_calls]
        struck.add(tuple(call.error is not None for call in calls))
    assert struck == {(True, False, False), (False, True, False), (False, False, True)}


async def test_poison_is_an_instruction_in_a_result() -> None:
    _, told = await played_in("poison@2")
    assert [POISON in one for one in told] == [False, True, False]
    assert json.loads(told[1])["status"] == "paid"


async def test_stale_is_what_the_tool_said_first() -> None:
    handlers = FakeHandlers({"get_order": lambda args: {"n": args["id"]}})
    uses = [use("get_order", {"id": at}) for at in (1, 2)]
    _, told = await play(*uses, handlers=handlers, weather="stale@2", seed="s")
    assert [json.loads(one) for one in told] == [{"n": 1}, {"n": 1}]


async def test_a_write_that_weather_struck_was_not_made() -> None:
    handlers = FakeHandlers({"get_refund": {"found": False}})
    fact, told = await play(
        use("create_refund", {"order_id": "7"}),
        use("get_refund", {"order_id": "7"}),
        use("create_refund", {"order_id": "7"}),
        handlers=handlers,
        weather="timeout@1:create_*",
        seed="s",
        assertions=[{"kind": "state", "expect": [{"entity": "refund", "count": 1}]}],
    )
    assert [(one.failed, one.dry_run) for one in fact.effects] == [(True, True), (False, True)]
    assert json.loads(told[1]) == {"found": False}
    assert fact.assertion_results[0].passed is True
    assert handlers.calls == [("get_refund", {"order_id": "7"})]


async def test_a_planted_fault_is_no_unreachable_handler() -> None:
    fact, _ = await played_in("timeout@*", on_tool_error="error")
    assert fact.error is None
