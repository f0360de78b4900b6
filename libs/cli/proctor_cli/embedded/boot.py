"""Every service in one process, on SQLite and the in-process bus."""

from __future__ import annotations

import logging
import os
import random
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from proctor_api.local import LocalApi, open_local
from proctor_api.meta import LlmMeta
from proctor_api.settings import categories_from_env, judge_from_env, meta_from_env
from proctor_chassis.bus import Meta, Subscription
from proctor_chassis.bus.inprocess import InProcessBus
from proctor_chassis.clock import SystemClock
from proctor_chassis.egress import Operator
from proctor_chassis.egress.door import OutgoingDoor
from proctor_chassis.logging import configure
from proctor_chassis.metrics import Meters
from proctor_chassis.secrets import Redactor, Secrets
from proctor_chassis.settings import LogSettings, SettingsError
from proctor_cli.exits import ExitCode, Stop
from proctor_contracts.messages import RunCompleted
from proctor_contracts.topology import ALERTER_RUNS, SCHEDULER_RUNS, Queue
from proctor_grading.detector import installed_detector
from proctor_grading.regex import QuickJsRegex
from proctor_judge.app import create_judge
from proctor_judge.settings import JudgeServiceSettings
from proctor_llm.metering import counting
from proctor_llm.registry import Models
from proctor_llm.settings import LlmSettings
from proctor_runner.app import create_runner
from proctor_runner.gateway.urls import core_url
from proctor_runner.gateway.webhook import Webhooks
from proctor_runner.settings import RunnerSettings

if TYPE_CHECKING:  # a command that plays its own run starts without schedules and alerts
    from proctor_chassis.process import Service

    from .watching import Watching

__all__ = ["Booted", "boot"]

POOLS = ("default", "high")
OTHER_POOLS = POOLS[1:]
MOST_CONVERSATIONS = 1_000  # what a run may ask for
JUDGED_AT_ONCE = 64
GRACE_SECONDS = 2.0
LOG_LEVEL = "PROCTOR_LOG_LEVEL"
LogLevel = Literal["debug", "info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Booted:
    """The running platform."""

    api: LocalApi
    models: Models
    bus: InProcessBus
    meters: Meters


@asynccontextmanager
async def boot(
    database_url: str,
    *,
    env: Mapping[str, str],
    workers: bool,
    conversations: int = MOST_CONVERSATIONS,
    meters: Meters | None = None,
    log_level: LogLevel | None = None,
    watching: Watching | None = None,
) -> AsyncIterator[Booted]:
    """Start the platform on a SQLite database; without workers it only answers questions.

    `conversations` bounds what all runs play together; the command's runs state their own concurrency.
    `watching` is for a server: schedules fire and alerts are sent.

    Without a log level, here or in PROCTOR_LOG_LEVEL, nothing is logged: reports tell what happened.

    Raises:
        Stop: when a setting in the environment cannot be read; the message names it.
    """
    try:
        settings, judge = LlmSettings.from_environ(env), judge_from_env(env)
        categories, meta = categories_from_env(env), meta_from_env(env)
        rules = Operator.from_environ(env, embedded=True)
        level = env.get(LOG_LEVEL) or log_level
        logs = LogSettings.from_env({**env, LOG_LEVEL: level}) if level else None
    except (SettingsError, ValueError) as error:
        raise Stop(ExitCode.USAGE, str(error)) from error
    async with AsyncExitStack() as closing:
        clock = SystemClock()
        meters = meters or Meters()
        bus = InProcessBus(pools=POOLS, clock=clock, meters=meters)
        redactor = Redactor()
        if logs is not None:
            configure(logs, redact=redactor.json, service="embedded")
        elif not logging.getLogger().handlers:
            logging.getLogger().addHandler(logging.NullHandler())
        door = OutgoingDoor(rules=rules)
        closing.push_async_callback(door.aclose)
        secrets = Secrets(environ=env, embedded=True, redactor=redactor)
        models = Models(
            settings=settings,
            door=door,
            secrets=secrets,
            meter=counting(calls=meters.model_calls, cost_micro_usd=meters.cost_micro_usd),
        )
        closing.push_async_callback(models.aclose)
        regex = QuickJsRegex()
        languages = installed_detector()
        thread = ThreadPoolExecutor(1, thread_name_prefix="regex")
        closing.callback(thread.shutdown, wait=False, cancel_futures=True)
        api = await closing.enter_async_context(
            open_local(
                database_url=database_url,
                bus=bus,
                prices=models.prices,
                judge=judge,
                regex=regex,
                executor=thread,
                clock=clock.now,
                languages=languages,
                categories=categories,
                meta=LlmMeta(settings=meta, models=lambda: models),
                meters=meters,
            )
        )
        closing.push_async_callback(bus.stop, grace_seconds=GRACE_SECONDS)
        await bus.start(api.subscriptions(), api.listeners())
        if workers:
            name = f"embedded-{os.getpid()}"
            runner = create_runner(
                settings=RunnerSettings(
                    worker_id=f"{name}-runner", other_pools=OTHER_POOLS, concurrency=conversations
                ),
                bus=bus,
                models=models,
                handlers=Webhooks(door=door, secrets=secrets, core_url=core_url(env)),
                redactor=redactor,
                regex=regex,
                regex_thread=thread,
                languages=languages,
                clock=clock,
            )
            judging = create_judge(
                settings=JudgeServiceSettings(worker_id=f"{name}-judge", concurrency=JUDGED_AT_ONCE),
                bus=bus,
                models=models,
                redactor=redactor,
                clock=clock,
                rng=random.SystemRandom(),
            )
            services: list[Service] = [runner, judging]
            if watching is None:
                # Nobody is alarmed of a run that somebody sits before, but what comes of it must not pile up.
                await bus.start((_forgotten(SCHEDULER_RUNS), _forgotten(ALERTER_RUNS)))
            else:
                services += watching.services(
                    database=api.services.database,
                    secrets=secrets,
                    redactor=redactor,
                    clock=clock,
                    meters=meters,
                    wake_relay=api.pipeline.relay.wake,
                )
            for service in services:
                await bus.start(listeners=service.listeners())
                await service.start()
                closing.push_async_callback(service.stop)
                await bus.start(service.subscriptions())
        yield Booted(api=api, models=models, bus=bus, meters=meters)
        await bus.pause()


def _forgotten(queue: Queue) -> Subscription:
    async def forget(_message: RunCompleted, _meta: Meta) -> None:
        """Let it go."""

    return Subscription(queue=queue, models={"run.completed": RunCompleted}, handler=forget, concurrency=1)
