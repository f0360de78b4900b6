"""The judge through the real SDKs, against a provider that speaks their wire formats."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from proctor_chassis.clock import SystemClock
from proctor_chassis.egress import Operator
from proctor_chassis.egress.door import OutgoingDoor
from proctor_chassis.secrets import Redactor, Secrets
from proctor_contracts.agents import JudgeSettings
from proctor_contracts.enums import Provider
from proctor_contracts.results import Verdict
from proctor_judge.judging import Judging
from proctor_judge.selftest import self_test
from proctor_llm import LlmSettings, Models, Surroundings
from tests.judge.fakes import NONCE, job
from tests.support.stub_provider import BreakOff, Reply, Say, Seen, Status, StubProvider, Tool

JUDGES = (
    (Provider.ANTHROPIC, "claude-sonnet-4-5"),
    (Provider.OPENAI, "gpt-4o"),
    (Provider.GROQ, "llama-3.3-70b-versatile"),
)


@dataclass
class Stage:
    stub: StubProvider
    judging: Judging


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
            secrets=Secrets(environ={}, embedded=True, redactor=redactor),
            surroundings=Surroundings(
                now=lambda: datetime.now(UTC), monotonic=loop.time, sleep=no_pause, rng=random.Random(1)
            ),
        )
        judging = Judging(
            models=models,
            redactor=redactor,
            clock=SystemClock(),
            worker_id="judge-1",
            rng=random.Random(2),
        )
        yield Stage(stub, judging)
        await models.aclose()
        await door.aclose()


def settings(provider: Provider, model: str) -> JudgeSettings:
    return JudgeSettings.model_validate({"provider": provider, "model": model})


def prompt_of(seen: Seen) -> str:
    return seen.last_user_text


def grade(seen: Seen, verdict: str) -> Tool:
    found = NONCE.search(prompt_of(seen))
    assert found is not None
    assert seen.forced_tool is not None
    return Tool(
        seen.forced_tool,
        {
            "evidence": [{"turn": 1, "quote": "Передаю менеджеру"}],
            "reasoning": "Передає.",
            "basis": "said",
            "injection_attempt": False,
            "verdict": verdict,
            "nonce": found.group(1),
        },
    )


@pytest.mark.parametrize(("provider", "model"), JUDGES)
async def test_a_forced_verdict_comes_back_through_each_sdk(
    stage: Stage, provider: Provider, model: str
) -> None:
    stage.stub.answer = lambda seen: Say(tools=(grade(seen, "fail"),))
    fact = await stage.judging.judge(job(judge=settings(provider, model)))
    result = fact.assertion_results[0]
    assert (result.verdict, result.votes[0].verdict) == (Verdict.FAILED, "fail")
    body = stage.stub.requests[0].body
    assert body["temperature"] == 0
    tool = body["tools"][0]
    schema = tool.get("input_schema") or tool["function"]["parameters"]
    assert list(schema["properties"])[-2:] == ["verdict", "nonce"]
    assert fact.cost_micro_usd is not None
    assert fact.judge_model == model


@pytest.mark.parametrize(("provider", "model"), JUDGES)
async def test_a_gullible_judge_never_passes_an_attack(stage: Stage, provider: Provider, model: str) -> None:
    def obeys(seen: Seen) -> Reply:
        if "K7QEAAAA" in prompt_of(seen):
            return Say('{"reasoning": "так сказано", "verdict": "pass", "nonce": "K7QEAAAA"}')
        return Say(tools=(Tool("grade", {"reasoning": "так сказано", "verdict": "pass"}),))

    stage.stub.answer = obeys
    report = await self_test(stage.judging.judge, settings(provider, model))
    assert report.fooled_by == ()
    assert set(report.verdicts.values()) == {Verdict.UNRESOLVED}


@pytest.mark.parametrize(("provider", "model"), JUDGES)
async def test_a_judge_that_always_answers_garbage_is_an_error_of_the_judge(
    stage: Stage, provider: Provider, model: str
) -> None:
    stage.stub.answer = lambda _seen: Say("**Відповідь: так**")
    fact = await stage.judging.judge(job(judge=settings(provider, model)))
    assert fact.assertion_results[0].code == "judge_error"
    assert fact.assertion_results[0].votes[0].raw == "**Відповідь: так**"
    assert len(stage.stub.requests) == 3
    assert fact.usage.total == 45


@pytest.mark.parametrize(
    ("provider", "model", "finish"),
    [
        (Provider.ANTHROPIC, "claude-sonnet-4-5", "max_tokens"),
        (Provider.OPENAI, "gpt-4o", "length"),
    ],
)
async def test_a_cut_verdict_is_bought_once_more_with_a_larger_cap(
    stage: Stage, provider: Provider, model: str, finish: str
) -> None:
    stage.stub.script(Say(tools=(Tool("grade", raw='{"evidence": [], "reasoning": "Бот ко'),), finish=finish))
    stage.stub.answer = lambda seen: Say(tools=(grade(seen, "pass"),))
    fact = await stage.judging.judge(job(judge=settings(provider, model)))
    assert fact.assertion_results[0].verdict is Verdict.PASSED
    sizes = [
        seen.body.get("max_tokens") or seen.body["max_completion_tokens"] for seen in stage.stub.requests
    ]
    assert sizes == [2048, 4096]
    assert fact.usage.total == 30


async def test_an_overload_inside_the_stream_is_retried_and_half_an_answer_never_read(stage: Stage) -> None:
    half = json.dumps({"reasoning": "x", "verdict": "pass"})
    stage.stub.script(BreakOff(after=(half,)), Status(529))
    stage.stub.answer = lambda seen: Say(tools=(grade(seen, "fail"),))
    fact = await stage.judging.judge(job(judge=settings(Provider.ANTHROPIC, "claude-sonnet-4-5")))
    assert fact.assertion_results[0].verdict is Verdict.FAILED
    assert len(stage.stub.requests) == 3


async def test_a_provider_that_stays_away_is_an_error_with_its_name(stage: Stage) -> None:
    stage.stub.answer = lambda _seen: Status(503, message="maintenance")
    fact = await stage.judging.judge(job("а", "б", judge=settings(Provider.OPENAI, "gpt-4o")))
    assert [result.code for result in fact.assertion_results] == ["judge_error"] * 2
    assert "provider_unavailable" in fact.assertion_results[0].message
