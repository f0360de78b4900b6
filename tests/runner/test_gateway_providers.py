"""The gateway loop end to end: the vendors' real SDKs, handlers over real HTTP, both on loopback."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from proctor_chassis.clock import SystemClock
from proctor_chassis.egress import Operator
from proctor_chassis.egress.door import OutgoingDoor
from proctor_chassis.secrets import Redactor, Secrets
from proctor_contracts.agents import HandlerSnapshot
from proctor_contracts.enums import Blame, Provider
from proctor_contracts.messages import CaseExecuted, CaseRequested
from proctor_grading.regex import QuickJsRegex
from proctor_llm import LlmSettings, Models, Surroundings
from proctor_llm.replay import RecordingClient
from proctor_runner.attempts import Attempts
from proctor_runner.gateway.webhook import Webhooks
from proctor_runner.grader import Grader
from tests.runner.fakes import GRADING, gateway_job, handler
from tests.support.stub_provider import Say, Seen, StubProvider, Tool
from tests.support.webhooks import Dripping, HungUp, Never, Raw, WebhookServer

MODELS = {
    Provider.ANTHROPIC: "claude-sonnet-4-5",
    Provider.OPENAI: "gpt-4o",
    Provider.GROQ: "llama-3.3-70b-versatile",
}
ENVIRON = {"PROCTOR_SECRET_CRM_KEY": "s3cr3t-value"}
all_providers = pytest.mark.parametrize("provider", list(MODELS))

LONG = "get_" + "x" * 66
CYRILLIC = "Перевірити Замовлення"
TWO_ALIKE = ("escalation.payment", "escalation_payment")


@dataclass
class Stage:
    stub: StubProvider
    hooks: WebhookServer
    models: Models
    webhooks: Webhooks
    attempts: Attempts

    async def play(self, provider: Provider, *handlers: HandlerSnapshot, **more: Any) -> CaseExecuted:
        return await self.attempts.play(self.job(provider, *handlers, **more))

    def job(
        self, provider: Provider, *handlers: HandlerSnapshot, says: tuple[str, ...] = ("Привіт",), **more: Any
    ) -> CaseRequested:
        fields = {"provider": provider, "model": MODELS[provider]}
        return gateway_job(*says, handlers=handlers, agent_fields=fields, **more)

    def answers(self, provider: Provider) -> list[tuple[str, str]]:
        """Id and text of every tool result that the last request carried."""
        messages = self.stub.requests[-1].body["messages"]
        if provider is Provider.ANTHROPIC:
            blocks = [
                block for one in messages if isinstance(one["content"], list) for block in one["content"]
            ]
            return [(one["tool_use_id"], one["content"]) for one in blocks if one["type"] == "tool_result"]
        return [(one["tool_call_id"], one["content"]) for one in messages if one["role"] == "tool"]


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async def no_pause(_seconds: float) -> None:
        return

    loop = asyncio.get_running_loop()
    door = OutgoingDoor(rules=Operator(loopback=True))
    redactor = Redactor()
    secrets = Secrets(environ=ENVIRON, embedded=True, redactor=redactor)
    async with StubProvider() as stub, WebhookServer() as hooks:
        models = Models(
            settings=LlmSettings(
                base_urls={"anthropic": stub.anthropic_url, "openai": stub.openai_url, "groq": stub.groq_url},
                api_keys={"anthropic": "key-a", "groq": "key-g", "openai": "key-o"},
            ),
            door=door,
            secrets=secrets,
            surroundings=Surroundings(
                now=lambda: datetime.now(UTC), monotonic=loop.time, sleep=no_pause, rng=random.Random(1)
            ),
        )
        webhooks = Webhooks(door=door, secrets=secrets, core_url=hooks.url, seconds=0.3)
        attempts = Attempts(
            models=models,
            handlers=webhooks,
            grader=Grader(thread=GRADING),
            regex=QuickJsRegex(),
            languages=None,
            redactor=redactor,
            clock=SystemClock(),
            worker_id="runner-1",
        )
        yield Stage(stub, hooks, models, webhooks, attempts)
        await models.aclose()
        await door.aclose()


def reader(name: str, **more: Any) -> HandlerSnapshot:
    return handler(name, is_side_effect=False, **more)


def tool_names(seen: Seen) -> list[str]:
    return [one["name"] if "name" in one else one["function"]["name"] for one in seen.body["tools"]]


@all_providers
async def test_the_same_conversation_with_every_provider(stage: Stage, provider: Provider) -> None:
    get_order = reader("get_order", body={"order_id": "A-7"}, headers={"X-Key": {"secret": "CRM_KEY"}})
    stage.hooks.answers["/support-bot/webhook/get_order"] = {
        "id": "A-7",
        "status": "paid",
        "echo": "s3cr3t-value",
    }
    stage.stub.script(
        Say(
            "Зараз.",
            tools=(Tool("get_order", {"order_id": "A-7"}), Tool("create_refund", {"order_id": "A-7"})),
        ),
        Say(tools=(Tool("get_refund", {"order_id": "A-7"}),)),
        Say("Вітаю, повернення створено."),
        Say("Прошу."),
    )
    fact = await stage.play(
        provider,
        get_order,
        reader("get_refund"),
        handler("create_refund", is_side_effect=True),
        says=("Поверніть гроші за A-7", "Дякую"),
        assertions=[
            {"kind": "contains", "value": "Вітаю"},
            {"kind": "tool_call", "toolName": "create_refund", "maxOccurrence": 1},
            {
                "kind": "state",
                "expect": [{"entity": "refund", "count": 1, "where": {"order_id": "A-7"}}],
                "noOtherWrites": True,
            },
        ],
    )
    assert fact.error is None
    assert [result.passed for result in fact.assertion_results] == [True] * 3
    assert [call.path for call in stage.hooks.calls] == ["/support-bot/webhook/get_order"]
    assert stage.hooks.calls[0].body == {"order_id": "A-7"}
    assert stage.hooks.calls[0].headers["X-Key"] == "s3cr3t-value"
    answers = stage.answers(provider)
    assert len(answers) == 3
    assert len({one for one, _ in answers}) == 3
    assert json.loads(answers[2][1]) == {"dryRun": True, "order_id": "A-7", "id": "A-7"}
    assert "s3cr3t-value" not in fact.model_dump_json()
    assert fact.usage.total == 60
    assert fact.cost_micro_usd


@all_providers
async def test_every_request_has_all_ids_answered_in_one_block(stage: Stage, provider: Provider) -> None:
    stage.stub.answer = lambda seen: Say(tools=tuple(Tool(name) for name in tool_names(seen)))
    fact = await stage.play(provider, reader("a"), reader("b"), handler("c"))
    assert fact.error is None
    assert len(stage.stub.requests) == 6
    for seen in stage.stub.requests[1:]:
        messages = seen.body["messages"]
        if provider is Provider.ANTHROPIC:
            asked = [
                [block["id"] for block in one["content"]] for one in messages if one["role"] == "assistant"
            ]
            given = [
                [block["tool_use_id"] for block in one["content"]]
                for one in messages[1:]
                if one["role"] == "user"
            ]
        else:
            asked = [
                [call["id"] for call in one["tool_calls"]] for one in messages if one["role"] == "assistant"
            ]
            flat = [one["tool_call_id"] for one in messages if one["role"] == "tool"]
            given = [flat[at : at + 3] for at in range(0, len(flat), 3)]
        assert asked == given
        assert len({one for block in asked for one in block}) == 3 * len(asked)


@all_providers
async def test_names_that_no_provider_accepts_reach_their_own_handlers(
    stage: Stage, provider: Provider
) -> None:
    names = [*TWO_ALIKE, LONG, CYRILLIC]
    stage.stub.answer = lambda seen: (
        Say("Вітаю") if len(stage.stub.requests) > 1 else Say(tools=tuple(map(Tool, tool_names(seen))))
    )
    fact = await stage.play(
        provider,
        *map(reader, names),
        assertions=[{"kind": "tool_call", "toolName": name, "maxOccurrence": 1} for name in names],
    )
    assert [result.passed for result in fact.assertion_results] == [True] * 4
    aliases = tool_names(stage.stub.requests[0])
    assert len(set(aliases)) == 4
    assert all(alias.isascii() and len(alias) <= 64 for alias in aliases)
    assert [call.name for call in fact.transcript[1].tool_calls] == names
    assert [call.path.rpartition("/")[2] for call in stage.hooks.calls][:3] == names[:3]


@all_providers
async def test_a_call_cut_by_the_token_limit_reaches_nobody(stage: Stage, provider: Provider) -> None:
    finish = "max_tokens" if provider is Provider.ANTHROPIC else "length"
    stage.stub.script(Say(tools=(Tool("create_refund", raw='{"order_id": "A'),), finish=finish))
    fact = await stage.play(provider, handler("create_refund"), dry_run=False)
    assert fact.error is not None
    assert (fact.error.code, fact.error.blame) == ("truncated_tool_call", Blame.AGENT)
    assert stage.hooks.calls == []
    assert fact.effects == ()


@all_providers
async def test_arguments_that_are_no_json_are_answered_with_an_error(
    stage: Stage, provider: Provider
) -> None:
    stage.stub.script(Say(tools=(Tool("get_order", raw='{"id": '),)), Say("Вітаю"))
    fact = await stage.play(provider, reader("get_order"))
    assert fact.error is None
    assert stage.hooks.calls == []
    ((_, said),) = stage.answers(provider)
    assert "invalid_arguments" in said


FAULTS = {
    "slow": (Never(), "timeout"),
    "dripping": (Dripping(), "timeout"),
    "large": (Raw(b"x" * 10_000_000), "answer_too_large"),
    "html": (Raw(b"<html>login</html>", content_type="text/html"), "not_json"),
    "nan": (Raw(b'{"price": NaN}'), "not_json"),
    "redirect": (Raw(b"", status=302, headers={"Location": "http://10.0.0.1/"}), "redirect"),
    "broken": (Raw(b"", status=500), "http_500"),
    "gone": (HungUp(), "connection_broken"),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_handler_that_fails_is_recorded_told_and_survived(stage: Stage, fault: str) -> None:
    answer, code = FAULTS[fault]
    stage.hooks.answers["/support-bot/webhook/get_order"] = answer
    stage.stub.script(Say(tools=(Tool("get_order"), Tool("get_other"))), Say("Вітаю, є збій."))
    fact = await stage.play(Provider.ANTHROPIC, reader("get_order"), reader("get_other"))
    assert fact.error is None
    assert fact.assertion_results[0].passed is True
    failed, worked = fact.transcript[1].tool_calls
    assert str(failed.error).startswith(code)
    assert worked.error is None
    (_, said), (_, fine) = stage.answers(Provider.ANTHROPIC)
    assert json.loads(said)["error"] == code
    assert json.loads(fine)["ok"] is True


@pytest.mark.parametrize(
    ("url", "code"), [("http://127.0.0.1:1/x", "unreachable"), ("http://10.0.0.1/x", "refused_by_egress")]
)
async def test_a_handler_that_is_not_there(stage: Stage, url: str, code: str) -> None:
    stage.stub.script(*[Say(tools=(Tool("get_order"),)), Say("Вітаю")] * 2)
    lenient = await stage.play(Provider.OPENAI, reader("get_order", url=url))
    assert lenient.error is None
    assert str(lenient.transcript[1].tool_calls[0].error).startswith(code)
    strict = await stage.play(Provider.OPENAI, reader("get_order", url=url), on_tool_error="error")
    assert strict.error is not None
    assert (strict.error.code, strict.error.blame) == ("tool_unreachable", Blame.TOOL)


async def test_a_dry_run_of_many_cases_writes_nothing_over_http(stage: Stage) -> None:
    stage.stub.answer = lambda seen: (
        Say("Вітаю")
        if any(one["role"] == "tool" for one in seen.body["messages"])
        else Say(tools=(Tool("create_refund", {"id": "1"}), Tool("get_order"), Tool("send_sms")))
    )
    tools = (
        handler("create_refund"),
        handler("send_sms", is_side_effect=True),
        reader("get_order", method="GET"),
    )
    facts = await asyncio.gather(*(stage.play(Provider.OPENAI, *tools, attempt=at) for at in range(1, 31)))
    assert {fact.error for fact in facts} == {None}
    assert [len(fact.effects) for fact in facts] == [2] * 30
    assert stage.hooks.writes == []
    assert len(stage.hooks.calls) == 30


async def test_a_conversation_with_tools_is_replayed_as_it_was_recorded(stage: Stage, tmp_path: Path) -> None:
    stage.hooks.answers["/support-bot/webhook/get_order"] = {"id": "A-7", "status": "paid"}
    stage.stub.script(
        Say("Зараз.", tools=(Tool("get_order", {"id": "A-7"}), Tool("create_refund", {"order_id": "A-7"}))),
        Say("Вітаю, готово."),
    )
    tools = (reader("get_order"), handler("create_refund"))
    live = stage.models.client(Provider.OPENAI)
    stage.models._clients[Provider.OPENAI, ""] = RecordingClient(inner=live, file=tmp_path / "replies.jsonl")
    recorded = await stage.play(Provider.OPENAI, *tools)
    stage.models._settings = dataclasses.replace(stage.models._settings, replay_dir=tmp_path)
    fields = {"provider": Provider.REPLAY, "model": MODELS[Provider.OPENAI]}
    replayed = await stage.attempts.play(gateway_job("Привіт", handlers=tools, agent_fields=fields))
    assert replayed.error is None
    assert len(stage.stub.requests) == 2, "the model was asked only while it was recorded"
    assert [(one.content, one.finish) for one in replayed.transcript] == [
        (one.content, one.finish) for one in recorded.transcript
    ]
    assert replayed.effects == recorded.effects
    assert len(stage.hooks.calls) == 2, "handlers are called by a replay too"


async def test_a_slow_handler_holds_up_its_own_case_alone_and_a_cancel_ends_it(stage: Stage) -> None:
    stage.webhooks._seconds = 600
    stage.hooks.answers["/support-bot/webhook/stuck"] = Never()
    stage.stub.answer = lambda seen: (
        Say("Вітаю")
        if any(one["role"] == "tool" for one in seen.body["messages"])
        else Say(tools=(Tool(tool_names(seen)[0]),))
    )
    stuck = asyncio.create_task(stage.play(Provider.OPENAI, reader("stuck")))
    await stage.hooks.until(lambda: stage.hooks.in_flight == 1)
    others = await asyncio.gather(
        *(stage.play(Provider.OPENAI, reader("quick"), attempt=at) for at in range(2, 12))
    )
    assert [fact.error for fact in others] == [None] * 10
    assert not stuck.done()
    stuck.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stuck
    await stage.hooks.until(lambda: stage.hooks.gone == 1)
