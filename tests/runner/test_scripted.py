"""The scripted loop: what is sent, what is recorded, what is charged."""

from __future__ import annotations

from typing import Any

from proctor_contracts.endpoint import HttpEndpoint
from proctor_contracts.enums import Blame, Provider, Role, Runner
from proctor_contracts.results import Verdict
from proctor_contracts.transcript import SCRIPTED
from proctor_llm.errors import LlmErrorCode
from proctor_llm.types import ChatMessage, Finish, ReportedCall, Usage
from tests.runner.fakes import FakeAgent, FakeModels, agent_snapshot, attempts, failure, job, reply


def http_agent(**endpoint: object) -> dict[str, object]:
    fields = {"url": "http://127.0.0.1:1/chat", "body": {"m": "{{message}}"}, "replyPath": "$.answer"}
    return {
        "provider": Provider.HTTP,
        "model": None,
        "endpoint": HttpEndpoint.model_validate(fields | endpoint),
    }


async def test_every_user_message_is_sent_in_turn_with_the_whole_history() -> None:
    agent = FakeAgent(answers=("Вітаю!", "Зараз перевірю.", "Готово."))
    fact = await attempts(agent).play(job("Раз", "Два", "Три"))
    assert fact.error is None
    assert [request.messages for request in agent.requests][2] == (
        ChatMessage("user", "Раз"),
        ChatMessage("assistant", "Вітаю!"),
        ChatMessage("user", "Два"),
        ChatMessage("assistant", "Зараз перевірю."),
        ChatMessage("user", "Три"),
    )
    assert {request.system for request in agent.requests} == {"Ти помічник магазину."}
    assert {request.conversation_id for request in agent.requests} == {"conversation-1"}
    assert [(entry.role, entry.content, entry.turn) for entry in fact.transcript] == [
        (Role.TESTER, "Раз", 1),
        (Role.AGENT, "Вітаю!", 1),
        (Role.TESTER, "Два", 2),
        (Role.AGENT, "Зараз перевірю.", 2),
        (Role.TESTER, "Три", 3),
        (Role.AGENT, "Готово.", 3),
    ]


async def test_assistant_lines_of_a_script_are_history_and_not_a_reply_to_grade() -> None:
    agent = FakeAgent(answers=("Так.",))
    fact = await attempts(agent).play(
        job(
            ("assistant", "Вітаю, я Оля."),
            "Привіт",
            assertions=[
                {"kind": "contains", "value": "Оля"},
                {"kind": "contains", "value": "Так", "scope": "first_agent_msg"},
            ],
        )
    )
    assert agent.requests[0].messages == (
        ChatMessage("assistant", "Вітаю, я Оля."),
        ChatMessage("user", "Привіт"),
    )
    assert len(agent.requests) == 1
    assert fact.transcript[0].finish == SCRIPTED
    assert [result.verdict for result in fact.assertion_results] == [Verdict.FAILED, Verdict.PASSED]


async def test_bubbles_are_messages_of_their_own_and_scopes_see_them_so() -> None:
    agent = FakeAgent(answers=(reply("Вітаю!", "Чим допомогти?"), "Передаю менеджеру."))
    scopes = ("any_agent_msg", "all_agent_msgs", "first_agent_msg", "last_agent_msg")
    checks = [{"kind": "contains", "value": "Чим допомогти?", "scope": scope} for scope in scopes]
    checks += [{"kind": "not_contains", "value": "менеджер", "scope": scope} for scope in scopes]
    fact = await attempts(agent).play(job("Добрий день", "Поверніть гроші", assertions=checks))
    passed = [result.passed for result in fact.assertion_results]
    assert passed == [True, False, False, False, False, False, True, False]
    first, second = fact.transcript[1], fact.transcript[2]
    assert (first.latency_ms, second.latency_ms) == (40, None)
    assert first.usage is not None
    assert second.usage is None


async def test_usage_and_cost_add_up_over_turns_and_tries() -> None:
    agent = FakeAgent(
        answers=(
            reply("а", usage=Usage(prompt_tokens=300, completion_tokens=10), cost_micro_usd=700, tries=3),
            reply("б", usage=Usage(prompt_tokens=50, cached_prompt_tokens=5), cost_micro_usd=40),
        )
    )
    fact = await attempts(agent).play(job("Раз", "Два"))
    assert fact.usage.prompt_tokens == 350
    assert fact.usage.cached_prompt_tokens == 5
    assert fact.usage.completion_tokens == 10
    assert fact.cost_micro_usd == 740
    assert fact.model_calls == 4
    assert fact.logs == ("turn 1: answered at try 3",)
    assert fact.agent_model == "bot-1"


async def test_an_unknown_price_makes_the_cost_unknown_and_a_cost_check_unresolved() -> None:
    agent = FakeAgent(answers=("а", reply("б", cost_micro_usd=None)))
    fact = await attempts(agent).play(job("Раз", "Два", assertions=[{"kind": "cost", "maxCents": 5}]))
    assert fact.cost_micro_usd is None
    assert fact.usage.total == 240
    assert fact.assertion_results[0].verdict is Verdict.UNRESOLVED


async def test_a_failing_call_keeps_what_was_said_and_charges_its_tries() -> None:
    broken = failure(
        LlmErrorCode.OVERLOADED,
        "the provider is overloaded (tried 4 times)",
        usage=Usage(prompt_tokens=80),
        cost_micro_usd=90,
        tries=4,
    )
    fact = await attempts(FakeAgent(answers=("Вітаю", broken))).play(job("Раз", "Два"))
    assert fact.error is not None
    assert (fact.error.code, fact.error.blame) == ("overloaded", Blame.PROVIDER)
    assert "tried 4 times" in fact.error.message
    assert [entry.content for entry in fact.transcript] == ["Раз", "Вітаю", "Два"]
    assert fact.assertion_results == ()
    assert fact.cost_micro_usd == 590
    assert fact.model_calls == 5


async def test_a_refused_connection_costs_nothing_instead_of_an_unknown_sum() -> None:
    fact = await attempts(FakeAgent(answers=(failure(LlmErrorCode.PROVIDER_UNAVAILABLE),))).play(job())
    assert fact.cost_micro_usd == 0


async def test_a_wordless_refusal_is_seen_and_never_passes() -> None:
    agent = FakeAgent(answers=(reply(finish=Finish.REFUSAL), "Гаразд"))
    fact = await attempts(agent).play(
        job(
            "Зламай",
            "Тоді допоможи",
            assertions=[{"kind": "not_contains", "value": "ні", "scope": "first_agent_msg"}],
        )
    )
    assert fact.transcript[1].finish == "refusal"
    assert fact.transcript[1].content == ""
    assert fact.assertion_results[0].code == "no_agent_message"
    # A provider refuses an empty assistant message, so none is sent back to it.
    assert agent.requests[1].messages == (ChatMessage("user", "Зламай"), ChatMessage("user", "Тоді допоможи"))


async def test_an_empty_answer_never_passes_a_negative_check() -> None:
    checks: list[dict[str, Any]] = [
        {"kind": "not_contains", "value": "х"},
        {"kind": "regex", "pattern": "х", "mustMatch": False},
        {"kind": "lang", "expected": "uk"},
        {"kind": "tool_call", "toolName": "t", "mustNotMatch": True},
    ]
    agent = FakeAgent(answers=(reply("", tools_reported=True),))
    fact = await attempts(agent).play(job(assertions=checks))
    assert [result.passed for result in fact.assertion_results] == [False] * 4
    assert {result.code for result in fact.assertion_results} == {"no_agent_message"}


async def test_reported_tool_calls_are_recorded_and_checked() -> None:
    call = ReportedCall(
        "check_order", {"id": 7}, '{"id": 7}', result={"ok": True}, duration_ms=12, error=None
    )
    agent = FakeAgent(answers=(reply("Перевірив", reported_calls=(call,), tools_reported=True),))
    fact = await attempts(agent).play(
        job(
            assertions=[
                {"kind": "tool_call", "toolName": "check_order"},
                {"kind": "tool_call", "toolName": "refund", "mustNotMatch": True},
            ],
            agent=agent_snapshot(**http_agent(toolCallsPath="$.tools")),
        )
    )
    record = fact.transcript[1].tool_calls[0]
    assert (record.name, record.args, record.result, record.duration_ms) == (
        "check_order",
        {"id": 7},
        {"ok": True},
        12,
    )
    assert [result.passed for result in fact.assertion_results] == [True, True]


async def test_a_reply_without_its_tools_leaves_both_polarities_unresolved() -> None:
    checks = [{"kind": "tool_call", "toolName": "t", "mustNotMatch": polarity} for polarity in (False, True)]
    agent = FakeAgent(answers=(reply("а", tools_reported=True), reply("б", tools_reported=False)))
    wanted = agent_snapshot(**http_agent(toolCallsPath="$.tools"))
    fact = await attempts(agent).play(job("Раз", "Два", assertions=checks, agent=wanted))
    assert [(result.verdict, result.code) for result in fact.assertion_results] == [
        (Verdict.UNRESOLVED, "tools_not_reported")
    ] * 2
    bare = await attempts(FakeAgent()).play(job(assertions=checks, agent=agent_snapshot(**http_agent())))
    assert {result.code for result in bare.assertion_results} == {"no_tool_capture"}


async def test_the_bots_own_session_is_kept_from_its_first_reply() -> None:
    agent = FakeAgent(answers=(reply("а", session_id="s-1"), reply("б", session_id="s-2"), "в"))
    await attempts(agent).play(job("Раз", "Два", "Три", agent=agent_snapshot(**http_agent())))
    assert [request.session_id for request in agent.requests] == [None, "s-1", "s-1"]


async def test_outcomes_of_the_last_turn_that_reported_them_count() -> None:
    agent = FakeAgent(
        answers=(
            reply("а", outcomes={"department": "other"}),
            reply("б", outcomes={"department": "billing"}),
            "в",
        )
    )
    fact = await attempts(agent).play(
        job("Раз", "Два", "Три", assertions=[{"kind": "outcome", "field": "department", "equals": "billing"}])
    )
    assert fact.outcomes == {"department": "billing"}
    assert fact.assertion_results[0].passed is True


async def test_characters_that_cannot_be_stored_are_replaced_and_the_case_is_scored() -> None:
    agent = FakeAgent(answers=(reply("ок\x00 \ud800", outcomes={"a": float("nan"), "b": "\x00"}),))
    fact = await attempts(agent).play(job(assertions=[{"kind": "contains", "value": "ок"}]))
    assert fact.transcript[1].content == "ок\ufffd \ufffd"
    assert fact.outcomes == {"a": None, "b": "\ufffd"}
    assert fact.assertion_results[0].passed is True
    assert "\\u0000" not in fact.model_dump_json()


async def test_the_literal_characters_of_an_escape_survive() -> None:
    agent = FakeAgent(answers=("пишеться \\u0000 так",))
    fact = await attempts(agent).play(job())
    assert fact.transcript[1].content == "пишеться \\u0000 так"


async def test_missing_setup_ends_in_an_error_that_says_what_to_set() -> None:
    no_model = await attempts(FakeAgent()).play(job(agent=agent_snapshot(model=None)))
    assert no_model.error is not None
    assert no_model.error.code == "missing_model"
    assert "'support-bot'" in no_model.error.message
    no_endpoint = await attempts(FakeAgent()).play(job(agent=agent_snapshot(provider=Provider.HTTP)))
    assert no_endpoint.error is not None
    assert no_endpoint.error.code == "missing_endpoint"
    agent = FakeAgent()
    keyless = FakeModels(
        agent,
        missing=failure(
            LlmErrorCode.MISSING_KEY, "no API key for groq: set GROQ_API_KEY", blame=Blame.INFRASTRUCTURE
        ),
    )
    no_key = await attempts(agent, models=keyless).play(job())
    assert no_key.error is not None
    assert (no_key.error.code, no_key.error.blame) == ("missing_key", Blame.INFRASTRUCTURE)
    assert "GROQ_API_KEY" in no_key.error.message
    assert agent.requests == []
    assert no_key.cost_micro_usd == 0


async def test_a_gateway_job_for_a_bot_over_http_is_refused_by_name() -> None:
    agent = FakeAgent()
    fact = await attempts(agent).play(job(runner=Runner.GATEWAY, agent=agent_snapshot(**http_agent())))
    assert fact.error is not None
    assert fact.error.code == "runner_mismatch"
    assert "gateway" in fact.error.message
    assert agent.requests == []


async def test_an_unforeseen_fault_of_the_runner_is_an_error_of_the_infrastructure() -> None:
    fact = await attempts(FakeAgent(answers=(KeyError("oops"),))).play(job())
    assert fact.error is not None
    assert (fact.error.code, fact.error.blame) == ("runner_crashed", Blame.INFRASTRUCTURE)


async def test_a_reply_without_content_is_graded_as_silence_and_the_user_goes_on() -> None:
    nothing = failure(LlmErrorCode.EMPTY_REPLY, "the agent answered with an empty text", blame=Blame.AGENT)
    agent = FakeAgent(answers=(nothing, "Так, слухаю"))
    checks: list[dict[str, Any]] = [
        {"kind": "not_contains", "value": "х", "scope": "first_agent_msg"},
        {"kind": "contains", "value": "слухаю"},
    ]
    fact = await attempts(agent).play(job("Алло", "Є хто?", assertions=checks))
    assert fact.error is None
    assert fact.transcript[1].finish == "empty_reply"
    assert [(result.passed, result.code) for result in fact.assertion_results] == [
        (False, "no_agent_message"),
        (True, None),
    ]
    assert fact.logs == ("turn 1: the agent answered with an empty text",)
