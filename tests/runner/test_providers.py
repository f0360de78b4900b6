"""The scripted loop through the real adapters, against a provider that speaks their wire formats."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from proctor_chassis.clock import SystemClock
from proctor_chassis.egress import Operator
from proctor_chassis.egress.door import OutgoingDoor
from proctor_chassis.secrets import Redactor, Secrets
from proctor_contracts.endpoint import HttpEndpoint
from proctor_contracts.enums import Blame, Provider
from proctor_contracts.messages import CaseExecuted, CaseRequested
from proctor_grading.regex import QuickJsRegex
from proctor_llm import LlmSettings, Models, Surroundings
from proctor_runner.attempts import Attempts
from proctor_runner.grader import Grader
from tests.runner.fakes import GRADING, FakeHandlers, agent_snapshot, job
from tests.support.stub_provider import Drip, Raw, Say, Status, StubProvider

MODELS = {
    Provider.ANTHROPIC: "claude-sonnet-4-5",
    Provider.OPENAI: "gpt-4o",
    Provider.GROQ: "llama-3.3-70b-versatile",
}
ENVIRON = {"PROCTOR_SECRET_BOT_KEY": "s3cr3t-value"}


@dataclass
class Stage:
    stub: StubProvider
    attempts: Attempts
    models: Models

    async def play(self, wanted: CaseRequested) -> CaseExecuted:
        return await self.attempts.play(wanted)

    def bot(self, **endpoint: Any) -> Any:
        fields = {
            "url": self.stub.bot_url,
            "headers": {"X-Key": {"secret": "BOT_KEY"}},
            "body": {"message": "{{message}}", "id": "{{conversationId}}"},
            "replyPath": "$.answer",
        }
        return agent_snapshot(
            provider=Provider.HTTP, model=None, endpoint=HttpEndpoint.model_validate(fields | endpoint)
        )


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async def no_pause(_seconds: float) -> None:
        return

    loop = asyncio.get_running_loop()
    door = OutgoingDoor(rules=Operator(loopback=True))
    redactor = Redactor()
    async with StubProvider() as stub:
        models = Models(
            settings=LlmSettings(
                base_urls={"anthropic": stub.anthropic_url, "openai": stub.openai_url, "groq": stub.groq_url},
                api_keys={"anthropic": "key-a", "groq": "key-g", "openai": "key-o"},
            ),
            door=door,
            secrets=Secrets(environ=ENVIRON, embedded=True, redactor=redactor),
            surroundings=Surroundings(
                now=lambda: datetime.now(UTC), monotonic=loop.time, sleep=no_pause, rng=random.Random(1)
            ),
        )
        attempts = Attempts(
            models=models,
            handlers=FakeHandlers(),
            grader=Grader(thread=GRADING),
            regex=QuickJsRegex(),
            languages=None,
            redactor=redactor,
            clock=SystemClock(),
            worker_id="runner-1",
        )
        yield Stage(stub, attempts, models)
        await models.aclose()
        await door.aclose()


@pytest.mark.parametrize("provider", list(MODELS))
async def test_each_provider_plays_a_conversation_and_is_charged(stage: Stage, provider: Provider) -> None:
    stage.stub.script(Say("Вітаю!"), Status(500), Say("Передаю менеджеру."))
    wanted = job(
        "Добрий день",
        "Де гроші?",
        assertions=[
            {"kind": "contains", "value": "Вітаю", "scope": "first_agent_msg"},
            {"kind": "regex", "pattern": "менеджер", "scope": "last_agent_msg"},
        ],
        agent=agent_snapshot(provider=provider, model=MODELS[provider]),
    )
    fact = await stage.play(wanted)
    assert fact.error is None
    assert [result.passed for result in fact.assertion_results] == [True, True]
    assert fact.usage.total == 30
    assert fact.cost_micro_usd is not None
    assert fact.cost_micro_usd > 0
    assert fact.model_calls == 3
    assert fact.agent_model == MODELS[provider]
    assert len(stage.stub.requests) == 3


@pytest.mark.parametrize(
    ("provider", "finish", "recorded"),
    [
        (Provider.ANTHROPIC, "refusal", "refusal"),
        (Provider.OPENAI, "content_filter", "content_filter"),
        (Provider.OPENAI, "weird_new_reason", "incomplete"),
    ],
)
async def test_an_answer_that_was_refused_or_filtered_is_named_and_does_not_pass(
    stage: Stage, provider: Provider, finish: str, recorded: str
) -> None:
    stage.stub.script(Say("", finish=finish))
    wanted = job(
        assertions=[{"kind": "not_contains", "value": "х"}],
        agent=agent_snapshot(provider=provider, model=MODELS[provider]),
    )
    fact = await stage.play(wanted)
    assert fact.transcript[1].finish == recorded
    assert fact.assertion_results[0].code == "no_agent_message"
    assert len(stage.stub.requests) == 1


async def test_a_bot_over_http_reports_tools_and_outcomes(stage: Stage) -> None:
    tool = {"name": "create_refund_ticket", "args": {"id": 7}, "result": {"ok": True}}
    reply = {"answer": ["Вітаю!", "Готово."], "tools": [tool], "department": "billing"}
    stage.stub.script(Say(extra=reply))
    agent = stage.bot(toolCallsPath="$.tools", outcomePaths={"department": "$.department"})
    fact = await stage.play(
        job(
            assertions=[
                {"kind": "tool_call", "toolName": "create_refund_ticket", "argsRegex": {"id": "^7$"}},
                {"kind": "tool_call", "toolName": "close_conversation", "mustNotMatch": True},
                {"kind": "outcome", "field": "department", "equals": "billing"},
                {"kind": "contains", "value": "Готово.", "scope": "last_agent_msg"},
            ],
            agent=agent,
        )
    )
    assert [result.passed for result in fact.assertion_results] == [True] * 4
    assert stage.stub.requests[0].headers["X-Key"] == "s3cr3t-value"


async def test_a_path_that_leads_nowhere_leaves_tool_checks_unresolved(stage: Stage) -> None:
    stage.stub.script(Say("Готово"))
    checks = [{"kind": "tool_call", "toolName": "t", "mustNotMatch": True}]
    fact = await stage.play(job(assertions=checks, agent=stage.bot(toolCallsPath="$.tolls")))
    assert fact.assertion_results[0].code == "tools_not_reported"
    assert "(turn 1, toolCallsPath $.tolls: $ has no 'tolls'; it has " in fact.assertion_results[0].message


async def test_a_bot_that_echoes_its_key_leaks_it_into_nothing_that_is_kept(stage: Stage) -> None:
    stage.stub.script(Say("Ключ: s3cr3t-value"))
    fact = await stage.play(job(assertions=[{"kind": "not_contains", "value": "s3cr3t"}], agent=stage.bot()))
    assert fact.assertion_results[0].passed is False
    assert "s3cr3t-value" not in fact.model_dump_json()


async def test_a_bot_without_its_secret_says_what_to_set(stage: Stage) -> None:
    agent = stage.bot(headers={"X-Key": {"secret": "OTHER_KEY"}})
    fact = await stage.play(job(agent=agent))
    assert fact.error is not None
    assert fact.error.code == "missing_key"
    assert "PROCTOR_SECRET_OTHER_KEY" in fact.error.message
    assert stage.stub.requests == []


async def test_a_bot_that_answers_html_is_the_bots_fault_and_shows_where(stage: Stage) -> None:
    stage.stub.script(Raw(b"<html>login</html>", content_type="text/html"))
    fact = await stage.play(job(agent=stage.bot()))
    assert fact.error is not None
    assert (fact.error.code, fact.error.blame) == ("unexpected_shape", Blame.AGENT)
    assert "login" in fact.error.message


async def test_a_place_that_egress_refuses_is_an_error_of_the_setup(stage: Stage) -> None:
    fact = await stage.play(job(agent=stage.bot(url="http://10.1.2.3/chat")))
    assert fact.error is not None
    assert (fact.error.code, fact.error.blame) == ("refused_by_egress", Blame.INFRASTRUCTURE)


async def test_a_drip_ends_in_the_case_timeout(stage: Stage) -> None:
    stage.stub.script(Drip())
    fact = await stage.play(job(agent=stage.bot(), timeout_ms=200))
    assert fact.error is not None
    assert fact.error.code == "case_timeout"
