"""Time, money and size: what stops an attempt, and what is kept of it."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_chassis.secrets import Redactor
from proctor_contracts.enums import Blame
from proctor_contracts.messages import CaseExecuted
from proctor_contracts.topology import MAX_BODY_BYTES
from proctor_llm.errors import LlmErrorCode
from proctor_llm.prices import Prices
from proctor_llm.types import ReportedCall, Usage
from proctor_llm.worst_case import call_cost, conversation_cost, tokens_at_most
from proctor_runner.fitting import MAX_TRANSCRIPT_BYTES
from tests.runner.fakes import (
    GROQ_MODEL,
    FakeAgent,
    FakeModels,
    agent_snapshot,
    attempts,
    failure,
    job,
    reply,
)

PRICES = Prices.load()


async def test_an_agent_that_never_answers_ends_in_case_timeout_with_its_call_stopped() -> None:
    agent = FakeAgent(hang=True)
    fact = await attempts(agent, guard_seconds=0).play(job("Раз", timeout_ms=1))
    assert fact.error is not None
    assert (fact.error.code, fact.error.blame) == ("case_timeout", Blame.AGENT)
    assert "1 ms" in fact.error.message
    assert [entry.content for entry in fact.transcript] == ["Раз"]
    assert agent.cancelled.is_set()
    assert fact.cost_micro_usd is None, "what the cut call used is unknown"


async def test_the_deadline_of_a_call_is_that_of_the_case() -> None:
    agent = FakeAgent()
    before = asyncio.get_running_loop().time()
    await attempts(agent).play(job("Раз", "Два", timeout_ms=50_000))
    after = asyncio.get_running_loop().time()
    assert before + 50 <= agent.deadlines[0] == agent.deadlines[1] <= after + 50


async def test_a_client_that_gives_up_at_the_deadline_is_a_case_timeout_too() -> None:
    late = failure(LlmErrorCode.TIMEOUT, usage=Usage(prompt_tokens=10), cost_micro_usd=7)
    fact = await attempts(FakeAgent(answers=(late,))).play(job(timeout_ms=0))
    assert fact.error is not None
    assert fact.error.code == "case_timeout"
    assert fact.cost_micro_usd == 7


async def test_a_timeout_of_one_call_before_the_deadline_keeps_its_own_name() -> None:
    fact = await attempts(FakeAgent(answers=(failure(LlmErrorCode.TIMEOUT),))).play(job())
    assert fact.error is not None
    assert fact.error.code == "timeout"


async def test_no_call_is_made_whose_worst_case_does_not_fit_the_share() -> None:
    first = call_cost(
        PRICES,
        "groq",
        GROQ_MODEL,
        prompt_tokens=tokens_at_most("Ти помічник магазину.") + tokens_at_most("Раз"),
        max_tokens=1024,
    )
    assert first is not None
    agent = FakeAgent(answers=(reply("а", cost_micro_usd=first),))
    refused = await attempts(agent).play(job("Раз", "Два", budget_micro_usd=first - 1))
    assert refused.error is not None
    assert (refused.error.code, refused.error.blame) == ("budget_exhausted", Blame.INFRASTRUCTURE)
    assert agent.requests == []
    assert refused.cost_micro_usd == 0
    half = await attempts(agent).play(job("Раз", "Два", budget_micro_usd=first))
    assert half.error is not None
    assert half.error.code == "budget_exhausted"
    assert len(agent.requests) == 1
    assert half.cost_micro_usd == first
    assert [entry.content for entry in half.transcript] == ["Раз", "а"]


async def test_an_unknown_price_cannot_be_enforced_and_is_not() -> None:
    agent = FakeAgent(answers=(reply("Вітаю", cost_micro_usd=None),))
    fact = await attempts(agent).play(
        job("Раз", "Два", agent=agent_snapshot(model="nobody-knows-it"), budget_micro_usd=1)
    )
    assert fact.error is None
    assert len(agent.requests) == 2


@given(
    texts=st.lists(st.text(min_size=1, max_size=80), min_size=1, max_size=4),
    replies=st.lists(st.integers(min_value=0, max_value=64), min_size=4, max_size=4),
)
def test_a_conversation_never_costs_more_than_was_reserved_for_it(
    texts: list[str], replies: list[int]
) -> None:
    reserved = conversation_cost(
        PRICES, "groq", GROQ_MODEL, system="Роль", turns=[[text] for text in texts], max_tokens=64
    )
    assert reserved is not None
    price = PRICES.find("groq", GROQ_MODEL)
    assert price is not None
    spent, history = 0, len("Роль".encode())
    for text, out in zip(texts, replies, strict=False):
        history += len(text.encode("utf-8", "replace"))
        spent += price.cost(price_usage(history, out))
        history += out
    assert spent <= reserved


def price_usage(prompt: int, completion: int) -> Usage:
    return Usage(prompt_tokens=prompt, completion_tokens=completion)


def size(fact: CaseExecuted) -> int:
    return len(fact.model_dump_json().encode())


@pytest.mark.parametrize("text", ["х" * 500_000, "\x01" * 200_000, "x" * 2_000_000])
async def test_a_transcript_over_the_limit_is_an_error_with_its_beginning_kept(text: str) -> None:
    fact = await attempts(FakeAgent(answers=(text,))).play(job())
    assert fact.error is not None
    assert (fact.error.code, fact.error.blame) == ("transcript_too_large", Blame.AGENT)
    assert str(MAX_TRANSCRIPT_BYTES) in fact.error.message
    assert fact.transcript[1].content.startswith(text[:100])
    assert fact.assertion_results == ()
    assert fact.cost_micro_usd == 500
    assert size(fact) < 64 * 1024


async def test_a_transcript_just_under_the_limit_travels_whole() -> None:
    text = "x" * (MAX_TRANSCRIPT_BYTES - 2_000)
    fact = await attempts(FakeAgent(answers=(text,))).play(job())
    assert fact.error is None
    assert fact.transcript[1].content == text
    assert size(fact) < MAX_BODY_BYTES


async def test_what_tools_returned_counts_as_transcript() -> None:
    call = ReportedCall("dump", {}, "{}", result={"rows": ["ї" * 1000] * 500})
    fact = await attempts(FakeAgent(answers=(reply("Ось", reported_calls=(call,)),))).play(job())
    assert fact.error is not None
    assert fact.error.code == "transcript_too_large"
    assert size(fact) < 64 * 1024


async def test_outcomes_too_large_to_travel_are_an_error_and_not_a_lost_case() -> None:
    fact = await attempts(FakeAgent(answers=(reply("Ось", outcomes={"blob": "x" * 2_000_000}),))).play(job())
    assert fact.error is not None
    assert fact.error.code == "result_too_large"
    assert size(fact) < 64 * 1024


async def test_secrets_do_not_leave_but_checks_read_the_true_text() -> None:
    redactor = Redactor()
    redactor.add("TOKEN", "s3cr3t-value")
    call = ReportedCall(
        "login", {"token": "s3cr3t-value"}, '{"token": "s3cr3t-value"}', result="s3cr3t-value"
    )
    agent = FakeAgent(
        answers=(reply("Ваш ключ s3cr3t-value", reported_calls=(call,), outcomes={"k": "s3cr3t-value"}),)
    )
    fact = await attempts(agent, redactor=redactor).play(
        job(assertions=[{"kind": "not_contains", "value": "s3cr3t"}])
    )
    assert fact.assertion_results[0].passed is False
    assert "s3cr3t-value" not in fact.model_dump_json()
    assert fact.transcript[1].content == "Ваш ключ [secret:TOKEN]"
    assert fact.transcript[1].tool_calls[0].args == {"token": "[secret:TOKEN]"}


async def test_a_secret_echoed_as_a_tools_name_or_a_models_does_not_leave() -> None:
    redactor = Redactor()
    redactor.add("TOKEN", "s3cr3t-value")
    call = ReportedCall("s3cr3t-value", {}, "", error="s3cr3t-value")
    agent = FakeAgent(answers=(reply("ок", reported_calls=(call,), model="s3cr3t-value"),))
    fact = await attempts(agent, redactor=redactor).play(job())
    assert fact.agent_model == "[secret:TOKEN]"
    assert "s3cr3t-value" not in fact.model_dump_json()


async def test_a_secret_that_is_a_word_of_ours_breaks_nothing() -> None:
    redactor = Redactor()
    redactor.add("ROLE", "agent")
    fact = await attempts(FakeAgent(answers=("I am an agent",)), redactor=redactor).play(job())
    assert (
        CaseExecuted.model_validate_json(fact.model_dump_json()).transcript[1].content
        == "I am an [secret:ROLE]"
    )


async def test_an_error_message_is_redacted() -> None:
    redactor = Redactor()
    redactor.add("KEY", "sk-very-secret")
    broken = failure(LlmErrorCode.BAD_REQUEST, "refused: key sk-very-secret")
    fact = await attempts(FakeAgent(answers=(broken,)), redactor=redactor).play(job())
    assert fact.error is not None
    assert fact.error.message == "refused: key [secret:KEY]"


async def test_models_are_asked_for_by_provider_and_endpoint() -> None:
    agent = FakeAgent()
    models = FakeModels(agent)
    played = job()
    await attempts(agent, models=models).play(played)
    assert models.asked == [(played.agent.provider, None)]
