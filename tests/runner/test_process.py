"""`python -m proctor_runner` on a real broker: plays, answers its probes, ends cleanly, survives a kill."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from uuid import UUID, uuid4

import pytest

from proctor_chassis.bus import Meta, Subscription
from proctor_chassis.bus.rabbit import RabbitBus
from proctor_contracts.endpoint import HttpEndpoint
from proctor_contracts.enums import Provider
from proctor_contracts.messages import CaseExecuted, CaseJudged, CaseRequested, RunCancelled
from proctor_contracts.topology import COLLECTOR_RESULTS
from tests.runner.fakes import agent_snapshot, gateway_job, handler, job
from tests.support.processes import service_process
from tests.support.stub_provider import Say, StubProvider, Tool
from tests.support.until import until
from tests.support.webhooks import WebhookServer

pytestmark = pytest.mark.real

MODULE = "proctor_runner"


@dataclass
class Stage:
    """A broker, a bot, and what runners say of this test's run: a killed one's jobs come back much later."""

    url: str
    bus: RabbitBus
    bot: StubProvider
    run: UUID = field(default_factory=uuid4)
    facts: list[CaseExecuted] = field(default_factory=list)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def env(self) -> dict[str, str]:
        return {"PROCTOR_AMQP_URL": self.url, "PROCTOR_EGRESS_ALLOW": "127.0.0.1"}

    def job(self, attempt: int) -> CaseRequested:
        endpoint = HttpEndpoint.model_validate(
            {"url": self.bot.bot_url, "body": {"message": "{{message}}"}, "replyPath": "$.answer"}
        )
        agent = agent_snapshot(provider=Provider.HTTP, model=None, endpoint=endpoint)
        checks = [{"kind": "regex", "pattern": "^You said: Добрий"}]
        return job(run_id=self.run, attempt=attempt, agent=agent, assertions=checks)

    async def collect(self, fact: CaseExecuted, _meta: Meta) -> None:
        if fact.run_id != self.run:
            return
        async with self.changed:
            self.facts.append(fact)
            self.changed.notify_all()

    async def facts_are(self, count: int) -> list[CaseExecuted]:
        async with asyncio.timeout(60), self.changed:
            await self.changed.wait_for(lambda: len({fact.id() for fact in self.facts}) >= count)
        return self.facts


@pytest.fixture
async def stage(amqp_url: str) -> AsyncIterator[Stage]:
    bus = RabbitBus(amqp_url)
    async with StubProvider() as bot:
        stage = Stage(amqp_url, bus, bot)
        collector = Subscription(
            queue=COLLECTOR_RESULTS,
            models={"case.executed": CaseExecuted, "case.judged": CaseJudged},
            handler=stage.collect,
            concurrency=8,
        )
        await bus.start((collector,))
        yield stage
        await bus.stop(grace_seconds=1)


async def test_a_runner_plays_answers_its_probes_and_ends_cleanly(stage: Stage) -> None:
    async with service_process(MODULE, **stage.env) as runner:
        await runner.logged("service.started")
        for attempt in range(1, 11):
            await stage.bus.publish(stage.job(attempt))
        facts = await stage.facts_are(10)
        assert {fact.assertion_results[0].passed for fact in facts} == {True}
        assert await runner.probe("/healthz") == (200, '{"status": "ok"}')
        assert (await runner.probe("/readyz"))[0] == 200
        status, metrics = await runner.probe("/metrics")
        assert status == 200
        assert 'proctor_model_calls_total{outcome="stop",provider="http"} 10.0' in metrics
        assert await runner.end() == 0
        assert await runner.logged("service.stopped")


async def test_a_runner_calls_tools_where_the_core_is_with_a_secret_that_nothing_shows(stage: Stage) -> None:
    stage.bot.script(Say(tools=(Tool("get_order", {"id": "7"}), Tool("create_refund"))), Say("Вітаю"))
    tools = (
        handler("get_order", is_side_effect=False, headers={"X-Key": {"secret": "CRM_KEY"}}),
        handler("create_refund"),
    )
    fields = {"provider": Provider.OPENAI, "model": "gpt-4o"}
    async with WebhookServer() as hooks:
        hooks.answers["/support-bot/webhook/get_order"] = {"id": "7", "echo": "canary-value"}
        env = {
            "PROCTOR_AMQP_URL": stage.url,
            "INTEG_CORE_URL": hooks.url,
            "OPENAI_BASE_URL": stage.bot.openai_url,
            "OPENAI_API_KEY": "key-o",
            "PROCTOR_SECRET_CRM_KEY": "canary-value",
        }
        async with service_process(MODULE, **env) as runner:
            await runner.logged("service.started")
            await stage.bus.publish(gateway_job(run_id=stage.run, handlers=tools, agent_fields=fields))
            (fact,) = await stage.facts_are(1)
            assert await runner.end() == 0
            assert not any("canary-value" in str(event) for event in runner.events)
    assert fact.error is None
    assert [call.error for entry in fact.transcript for call in entry.tool_calls] == [None, None]
    assert [(effect.entity, effect.dry_run) for effect in fact.effects] == [("refund", True)]
    assert [call.headers["X-Key"] for call in hooks.calls] == ["canary-value"]
    assert "canary-value" not in fact.model_dump_json()


async def test_a_runner_that_is_killed_in_mid_case_loses_nothing(stage: Stage) -> None:
    stage.bot.hold = asyncio.Event()
    async with service_process(MODULE, **stage.env) as doomed:
        await doomed.logged("service.started")
        for attempt in range(1, 6):
            await stage.bus.publish(stage.job(attempt))
        await stage.bot.seen(5)
        assert await doomed.end(signal.SIGKILL) != 0
    stage.bot.hold.set()
    async with service_process(MODULE, **stage.env) as runner:
        await runner.logged("service.started")
        facts = await stage.facts_are(5)
        assert sorted(fact.attempt for fact in facts) == [1, 2, 3, 4, 5]


async def test_a_stopping_runner_finishes_the_case_in_hand(stage: Stage) -> None:
    stage.bot.hold = asyncio.Event()
    async with service_process(MODULE, **stage.env) as runner:
        await runner.logged("service.started")
        await stage.bus.publish(stage.job(1))
        await stage.bot.seen(1)
        ending = asyncio.create_task(runner.end())
        await runner.logged("service.signal")
        stage.bot.hold.set()
        assert await ending == 0
    assert [fact.attempt for fact in await stage.facts_are(1)] == [1]


async def test_a_cancel_stops_a_call_that_is_being_made(stage: Stage) -> None:
    stage.bot.hold = asyncio.Event()
    async with service_process(MODULE, **stage.env) as runner:
        await runner.logged("service.started")
        await stage.bus.publish(stage.job(1))
        await stage.bot.seen(1)
        await stage.bus.announce(RunCancelled(run_ids=(stage.job(1).run_id,)))
        await until(lambda: stage.bot.gone > 0)
        assert await runner.end() == 0
    assert len(stage.bot.requests) == 1
    assert stage.facts == []


async def test_a_wrong_setting_is_named_on_one_line_and_nothing_starts() -> None:
    async with service_process(
        MODULE, PROCTOR_CONCURRENCY="many", PROCTOR_AMQP_URL="amqp://nobody/"
    ) as runner:
        assert await asyncio.wait_for(runner.running.wait(), 30) == 3
        async with runner.changed:
            await runner.changed.wait_for(lambda: bool(runner.events))
        assert "PROCTOR_CONCURRENCY: 'many' is not a whole number" in runner.events[0]["text"]
    async with service_process(MODULE) as runner:
        assert await asyncio.wait_for(runner.running.wait(), 30) == 3
        async with runner.changed:
            await runner.changed.wait_for(lambda: bool(runner.events))
        assert "PROCTOR_AMQP_URL is not set" in runner.events[0]["text"]
