"""The gateway loop: rounds of tool calls, what goes back to the model, what is recorded and what stops it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from proctor_api.pipeline.budget import shares
from proctor_chassis.secrets import Redactor
from proctor_contracts.enums import Blame, Provider
from proctor_contracts.messages import CaseExecuted
from proctor_contracts.run_settings import RunSettings
from proctor_llm.errors import LlmErrorCode
from proctor_llm.prices import Prices
from proctor_llm.types import ChatMessage, ChatRequest, Completion, Finish, ToolUse, Usage
from proctor_runner.gateway.outcome import Failure, Outcome
from proctor_runner.gateway.turn import CAPPED
from proctor_runner.loops.gateway import MAX_ITERATIONS
from tests.runner.fakes import (
    GROQ_MODEL,
    FakeAgent,
    FakeHandlers,
    asks,
    attempts,
    failure,
    gateway_job,
    handler,
    reply,
    use,
)

GET_ORDER = handler("get_order", is_side_effect=False)
CREATE_REFUND = handler("create_refund", is_side_effect=True)
DOWN = Failure("unreachable", "cannot connect to 127.0.0.1:1", "the tool is not available", unreachable=True)
SLOW = Failure("timeout", "no complete answer within 30 s", "the tool did not answer in time")


def calls_of(fact: CaseExecuted) -> list[Any]:
    return [call for entry in fact.transcript for call in entry.tool_calls]


def pairs(request: ChatRequest) -> tuple[list[str], list[str]]:
    """The ids that were asked for and those that were answered."""
    asked = [one.id for message in request.messages for one in message.tool_uses]
    return asked, [one.tool_use_id for message in request.messages for one in message.tool_results]


async def test_parallel_calls_are_made_in_order_and_answered_in_one_message() -> None:
    agent = FakeAgent(
        answers=(
            asks(use("get_order", {"id": 7}), use("check_stock", {"sku": "x"}), text="Зараз перевірю."),
            "Вітаю, готово.",
            "Прошу.",
        )
    )
    handlers = FakeHandlers({"get_order": {"id": 7, "status": "shipped"}, "check_stock": ["ok"]})
    stock = handler("check_stock", is_side_effect=False)
    fact = await attempts(agent, handlers=handlers).play(
        gateway_job("Де замовлення?", "Дякую", handlers=(GET_ORDER, stock))
    )
    assert fact.error is None
    assert handlers.calls == [("get_order", {"id": 7}), ("check_stock", {"sku": "x"})]
    assert [one.name for one in agent.requests[0].tools] == ["get_order", "check_stock"]
    history = agent.requests[2].messages
    assert [message.role for message in history] == ["user", "assistant", "tool", "assistant", "user"]
    assert [(one.tool_use_id, one.content, one.is_error) for one in history[2].tool_results] == [
        ("use-get_order", '{"id":7,"status":"shipped"}', False),
        ("use-check_stock", '["ok"]', False),
    ]
    assert history[1].content == "Зараз перевірю."
    assert history[3] == ChatMessage("assistant", "Вітаю, готово.")
    assert [(entry.content, entry.finish, len(entry.tool_calls)) for entry in fact.transcript[1:3]] == [
        ("Зараз перевірю.", "tool_use", 2),
        ("Вітаю, готово.", "stop", 0),
    ]
    first = calls_of(fact)[0]
    assert (first.id, first.name, first.args, first.args_raw) == (
        "use-get_order",
        "get_order",
        {"id": 7},
        '{"id": 7}',
    )
    assert (first.result, first.dry_run, first.error) == ({"id": 7, "status": "shipped"}, False, None)
    assert first.duration_ms is not None


async def test_time_and_tokens_of_a_whole_turn_stand_on_its_first_entry() -> None:
    spent = Usage(prompt_tokens=10, completion_tokens=1)
    agent = FakeAgent(
        answers=(
            asks(use("get_order"), latency_ms=100, usage=spent, ttft_ms=9, cost_micro_usd=5),
            reply("Вітаю", latency_ms=30, usage=spent, ttft_ms=3, cost_micro_usd=5),
        )
    )
    fact = await attempts(agent).play(gateway_job(handlers=(GET_ORDER,)))
    first, last = fact.transcript[1:]
    (call,) = calls_of(fact)
    assert first.latency_ms == 130 + call.duration_ms
    assert (first.ttft_ms, last.latency_ms, last.ttft_ms, last.usage) == (9, None, None, None)
    assert first.usage is not None
    assert first.usage.total == 22
    assert (fact.usage.total, fact.cost_micro_usd, fact.model_calls) == (22, 10, 2)


async def test_a_model_that_will_not_stop_is_stopped_without_dangling_ids() -> None:
    agent = FakeAgent(answers=(asks(use("get_order")),))
    handlers = FakeHandlers()
    fact = await attempts(agent, handlers=handlers).play(gateway_job("Раз", "Два", handlers=(GET_ORDER,)))
    assert fact.error is None
    assert len(agent.requests) == len(handlers.calls) == MAX_ITERATIONS == 6
    assert fact.transcript[-1].finish == CAPPED
    assert any("6 rounds" in line for line in fact.logs)
    assert [entry.content for entry in fact.transcript if entry.role == "tester"] == ["Раз"]
    assert fact.assertion_results[0].code == "no_agent_message"
    for request in agent.requests:
        asked, answered = pairs(request)
        assert asked == answered
        assert len(set(asked)) == len(asked)


@pytest.mark.parametrize("given", ["", "same"])
async def test_ids_that_are_missing_or_repeated_are_made_unique(given: str) -> None:
    both = asks(use("get_order", id=given), use("get_order", id=given))
    agent = FakeAgent(answers=(both, both, "Вітаю"))
    fact = await attempts(agent).play(gateway_job(handlers=(GET_ORDER,)))
    asked, answered = pairs(agent.requests[-1])
    assert asked == answered
    assert len(set(asked)) == 4
    assert all(asked)
    assert [call.id for call in calls_of(fact)] == asked


async def test_a_failing_tool_is_an_answer_the_model_can_react_to() -> None:
    agent = FakeAgent(answers=(asks(use("get_order"), use("get_order", {"id": 2})), "Вітаю"))
    handlers = FakeHandlers({"get_order": lambda args: SLOW if not args else {"id": 2}})
    fact = await attempts(agent, handlers=handlers).play(gateway_job(handlers=(GET_ORDER,)))
    assert fact.error is None
    failed, worked = agent.requests[1].messages[2].tool_results
    assert (failed.is_error, worked.is_error) == (True, False)
    assert json.loads(failed.content) == {"error": "timeout", "message": "the tool did not answer in time"}
    assert [call.error for call in calls_of(fact)] == ["timeout: no complete answer within 30 s", None]


async def test_a_tool_that_does_not_exist_and_arguments_that_are_none_are_answered_and_never_executed() -> (
    None
):
    broken = ToolUse("b", "get_order", None, '{"id": ')
    agent = FakeAgent(answers=(asks(use("get_weather"), broken), "Вітаю"))
    handlers = FakeHandlers()
    fact = await attempts(agent, handlers=handlers).play(gateway_job(handlers=(GET_ORDER,)))
    assert fact.error is None
    assert handlers.calls == []
    unknown, invalid = agent.requests[1].messages[2].tool_results
    assert unknown.is_error
    assert "get_order" in unknown.content
    assert invalid.is_error
    records = calls_of(fact)
    assert [(one.name, (one.error or "").partition(":")[0]) for one in records] == [
        ("get_weather", "unknown_tool"),
        ("get_order", "invalid_arguments"),
    ]
    assert (records[1].args, records[1].args_raw) == (None, '{"id": ')


async def test_a_tool_call_cut_by_the_token_limit_is_not_made() -> None:
    cut = failure(
        LlmErrorCode.TRUNCATED_TOOL_CALL, blame=Blame.AGENT, usage=Usage(1, 0, 0, 1024), cost_micro_usd=3
    )
    handlers = FakeHandlers()
    fact = await attempts(FakeAgent(answers=(asks(use("get_order")), cut)), handlers=handlers).play(
        gateway_job(handlers=(GET_ORDER, CREATE_REFUND))
    )
    assert fact.error is not None
    assert (fact.error.code, fact.error.blame) == ("truncated_tool_call", Blame.AGENT)
    assert [name for name, _ in handlers.calls] == ["get_order"]
    assert len(calls_of(fact)) == 1
    assert fact.transcript[1].latency_ms is not None, "what there was is kept whole"
    assert fact.cost_micro_usd == 503


@pytest.mark.parametrize("finish", [Finish.REFUSAL, Finish.CONTENT_FILTER, Finish.INCOMPLETE])
async def test_calls_of_a_reply_that_was_broken_off_are_not_made(finish: Finish) -> None:
    odd = reply("Не можу", finish=finish, tool_uses=(use("create_refund"),))
    agent, handlers = FakeAgent(answers=(odd, "Гаразд")), FakeHandlers()
    fact = await attempts(agent, handlers=handlers).play(gateway_job("Раз", "Два", handlers=(CREATE_REFUND,)))
    assert fact.effects == ()
    assert calls_of(fact) == []
    assert pairs(agent.requests[1]) == ([], [])
    assert fact.transcript[1].finish == finish
    assert any("not made" in line for line in fact.logs)


async def test_silence_after_a_tool_call_is_graded_and_the_user_goes_on() -> None:
    agent = FakeAgent(answers=(asks(use("get_order")), failure(LlmErrorCode.EMPTY_REPLY), "Вітаю"))
    fact = await attempts(agent).play(
        gateway_job(
            "Раз", "Два", handlers=(GET_ORDER,), assertions=[{"kind": "tool_call", "toolName": "get_order"}]
        )
    )
    assert fact.error is None
    assert [entry.finish for entry in fact.transcript if entry.role == "agent"] == [
        "tool_use",
        "empty_reply",
        "stop",
    ]
    assert [message.role for message in agent.requests[2].messages] == ["user", "assistant", "tool", "user"]
    assert fact.assertion_results[0].passed is True, "the gateway knows what was called, whatever was said"


async def test_without_a_single_call_tool_checks_are_decided_all_the_same() -> None:
    checks = [
        {"kind": "tool_call", "toolName": "create_refund", "mustNotMatch": polarity}
        for polarity in (True, False)
    ]
    fact = await attempts(FakeAgent()).play(gateway_job(handlers=(CREATE_REFUND,), assertions=checks))
    assert [result.passed for result in fact.assertion_results] == [True, False]


async def test_parallel_repeated_and_failed_calls_are_all_counted() -> None:
    agent = FakeAgent(
        answers=(
            asks(use("search.products", id="1"), use("search.products", id="2"), use("check_stock")),
            "Вітаю",
        )
    )
    tools = [handler(name, is_side_effect=False) for name in ("search.products", "check_stock")]
    fact = await attempts(agent, handlers=FakeHandlers({"check_stock": SLOW})).play(
        gateway_job(
            handlers=tools,
            assertions=[
                {"kind": "tool_call", "toolName": "search.products", "maxOccurrence": 1},
                {"kind": "tool_call", "toolName": "check_stock", "minOccurrence": 1},
            ],
        )
    )
    assert [result.passed for result in fact.assertion_results] == [False, True]
    assert "search.products" in (fact.assertion_results[0].seen or "")


@pytest.mark.parametrize("dry_run", [True, False])
async def test_an_unreachable_handler_is_an_error_of_the_case_only_when_the_run_says_so(
    dry_run: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    answers = (asks(use("get_order"), use("get_order", {"id": 2})), "Вітаю")
    wanted: dict[str, Any] = {"handlers": (GET_ORDER,), "dry_run": dry_run}
    down = FakeHandlers({"get_order": Outcome(failure=DOWN)})
    calm = await attempts(FakeAgent(answers=answers), handlers=down).play(gateway_job(**wanted))
    assert calm.error is None
    agent = FakeAgent(answers=answers)
    strict = await attempts(agent, handlers=down).play(gateway_job(on_tool_error="error", **wanted))
    assert strict.error is not None
    assert (strict.error.code, strict.error.blame) == ("tool_unreachable", Blame.TOOL)
    assert "get_order" in strict.error.message
    assert len(calls_of(strict)) == len(agent.requests) == 1
    slow = FakeHandlers({"get_order": SLOW})
    reached = await attempts(FakeAgent(answers=answers), handlers=slow).play(
        gateway_job(on_tool_error="error", **wanted)
    )
    assert reached.error is None


async def test_a_handler_that_outlasts_the_case_ends_it_and_the_tool_is_to_blame() -> None:
    async def until_the_deadline(*_: Any, deadline: float, **__: Any) -> Outcome:
        loop = asyncio.get_running_loop()
        over = loop.create_future()
        loop.call_at(deadline, over.set_result, None)
        await over
        return Outcome(failure=SLOW, called=True)

    handlers = FakeHandlers()
    handlers.call = until_the_deadline  # type: ignore[method-assign]  # a handler that only time ends
    agent = FakeAgent(answers=(asks(use("get_order")),))
    fact = await attempts(agent, handlers=handlers).play(gateway_job(handlers=(GET_ORDER,), timeout_ms=50))
    assert fact.error is not None
    assert (fact.error.code, fact.error.blame) == ("case_timeout", Blame.TOOL)
    assert len(agent.requests) == 1
    assert calls_of(fact)[0].error.startswith("timeout")
    assert fact.cost_micro_usd == 500, "no call of the model was cut off"


async def test_a_cancelled_case_stops_within_its_tool_call_and_asks_nothing_more() -> None:
    handlers = FakeHandlers(hang=True)
    agent = FakeAgent(answers=(asks(use("get_order"), use("get_order", {"id": 2})),))
    playing = asyncio.create_task(attempts(agent, handlers=handlers).play(gateway_job(handlers=(GET_ORDER,))))
    async with asyncio.timeout(5):
        await handlers.called.wait()
        playing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await playing
    assert handlers.cancelled.is_set()
    assert len(agent.requests) == len(handlers.calls) == 1


async def test_what_is_reserved_for_a_case_is_enough_for_the_longest_conversation() -> None:
    price = Prices.load().find("groq", GROQ_MODEL)
    assert price is not None
    prompt = 2_000

    def dearest(*bubbles: str, **more: Any) -> Completion:
        nonlocal prompt
        spent = Usage(prompt_tokens=prompt, completion_tokens=1_024)
        prompt += 1_024 + 3_000
        return reply(*bubbles, usage=spent, cost_micro_usd=price.cost(spent), **more)

    body = {"id": "A-7", "note": "ї" * 40, "qty": 1, "items": [{"sku": "x"}]}
    tools = [handler(f"get_order_{at}", is_side_effect=False, body=body) for at in range(5)]
    rounds = [
        lambda _: dearest(finish=Finish.TOOL_USE, tool_uses=(use("get_order_1"), use("get_order_2"))),
    ] * (MAX_ITERATIONS - 1)
    agent = FakeAgent(answers=(*rounds, lambda _: dearest("Вітаю"), *rounds, lambda _: dearest("Вітаю")))
    long = FakeHandlers({tool.name: {"text": "x" * 1_500} for tool in tools})
    wanted = gateway_job("Раз", "Два", handlers=tools)
    reserved = shares(wanted.case, RunSettings(agent=wanted.agent, runner=wanted.runner), Prices.load())
    assert reserved is not None
    fact = await attempts(agent, handlers=long).play(
        wanted.model_copy(update={"budget_micro_usd": reserved.agent})
    )
    assert fact.error is None
    assert len(agent.requests) == 2 * MAX_ITERATIONS
    assert fact.cost_micro_usd is not None
    assert fact.cost_micro_usd <= reserved.agent


async def test_no_round_is_begun_whose_worst_case_does_not_fit_the_share() -> None:
    long = {"text": "ї" * 4_000}
    agent = FakeAgent(answers=(asks(use("get_order"), cost_micro_usd=10), reply("Вітаю", cost_micro_usd=10)))
    wanted: dict[str, Any] = {"handlers": (GET_ORDER,)}
    roomy = await attempts(agent, handlers=FakeHandlers({"get_order": long})).play(
        gateway_job(budget_micro_usd=50_000, **wanted)
    )
    assert roomy.error is None
    agent.requests.clear()
    tight = await attempts(agent, handlers=FakeHandlers({"get_order": long})).play(
        gateway_job(budget_micro_usd=3_000, **wanted)
    )
    assert tight.error is not None
    assert tight.error.code == "budget_exhausted"
    assert len(agent.requests) == 1, "the answer of the tool made the second call too dear"
    assert len(calls_of(tight)) == 1
    assert tight.cost_micro_usd == 10


async def test_the_prompt_of_a_round_is_never_estimated_below_what_is_sent() -> None:
    uses = (use("get_order", {"note": "ї" * 50}), use("get_order", {"id": 2}, id="2"))
    agent = FakeAgent(
        answers=(
            asks(*uses, text="Зараз", usage=None),
            reply("Вітаю", usage=None),
            reply("Добре", usage=None),
        )
    )
    estimates: list[int] = []
    played = attempts(agent, handlers=FakeHandlers({"get_order": {"text": "а" * 300}}))
    real = played._allowance

    def spying(job: Any) -> Any:
        allowance = real(job)
        assert allowance is not None

        def cost(prompt_tokens: int) -> int | None:
            estimates.append(prompt_tokens)
            return allowance.cost_of_call(prompt_tokens)

        return type(allowance)(allowance.micro_usd, cost)

    played._allowance = spying  # type: ignore[method-assign]  # to see what is estimated
    await played.play(gateway_job("Раз", "Два", handlers=(GET_ORDER,), budget_micro_usd=10**9))
    for estimate, request in zip(estimates, agent.requests, strict=True):
        assert estimate >= sent_bytes(request)


def sent_bytes(request: ChatRequest) -> int:
    texts = [request.system, *(one.content for one in request.messages)]
    texts += [result.content for one in request.messages for result in one.tool_results]
    texts += [json.dumps(one.args) for message in request.messages for one in message.tool_uses]
    texts += [spec.description + json.dumps(spec.schema) for spec in request.tools]
    return sum(len(text.encode()) for text in texts)


async def test_secrets_leave_neither_in_calls_nor_in_the_ledger_nor_in_errors() -> None:
    redactor = Redactor()
    redactor.add("CRM_KEY", "s3cr3t-value")
    args = {"note": "s3cr3t-value", "id": "s3cr3t-value"}
    agent = FakeAgent(answers=(asks(use("create_refund", args)), asks(use("get_order", args)), "Вітаю"))
    leaky = Failure("http_500", "the handler answered 500: s3cr3t-value", "the tool answered 500")
    fact = await attempts(agent, handlers=FakeHandlers({"get_order": leaky}), redactor=redactor).play(
        gateway_job(handlers=(CREATE_REFUND, GET_ORDER))
    )
    assert len(fact.effects) == 1
    assert "s3cr3t-value" not in fact.model_dump_json()
    assert fact.effects[0].key == "[secret:CRM_KEY]"


async def test_a_ledger_too_large_to_travel_is_an_error_with_the_beginning_kept() -> None:
    huge = {"id": "1", "text": "ї" * 150_000}
    agent = FakeAgent(answers=(asks(use("create_refund", huge)), "Вітаю"))
    fact = await attempts(agent).play(gateway_job(handlers=(CREATE_REFUND,)))
    assert fact.error is not None
    assert fact.error.code in {"transcript_too_large", "result_too_large"}
    assert len(fact.model_dump_json()) < 64 * 1024


async def test_a_run_with_no_handlers_is_a_plain_conversation() -> None:
    agent = FakeAgent()
    fact = await attempts(agent).play(gateway_job())
    assert fact.error is None
    assert agent.requests[0].tools == ()


async def test_replayed_replies_call_tools_as_live_ones_do() -> None:
    agent = FakeAgent(answers=(asks(use("get_order")), "Вітаю"))
    fact = await attempts(agent).play(
        gateway_job(handlers=(GET_ORDER,), agent_fields={"provider": Provider.REPLAY, "model": None})
    )
    assert fact.error is None
    assert [call.name for call in calls_of(fact)] == ["get_order"]
