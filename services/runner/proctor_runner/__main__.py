"""`python -m proctor_runner`: a runner on RabbitMQ."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack

from proctor_chassis.egress import Operator
from proctor_chassis.egress.door import OutgoingDoor
from proctor_chassis.process import Parts, Service, run_process, serve
from proctor_chassis.secrets import Secrets
from proctor_grading.detector import installed_detector
from proctor_grading.regex import QuickJsRegex
from proctor_llm import LlmSettings, Models
from proctor_llm.metering import counting

from .app import create_runner
from .gateway.urls import core_url
from .gateway.webhook import Webhooks
from .settings import RunnerSettings

__all__ = ["main"]

PROBE_PORT = 8081


async def run() -> None:
    """Run a runner with the settings of the environment until it is told to stop."""
    async with AsyncExitStack() as closing:

        async def build(parts: Parts) -> Service:
            door = OutgoingDoor(rules=Operator.from_environ(parts.env, embedded=False))
            closing.push_async_callback(door.aclose)
            secrets = Secrets(environ=parts.env, embedded=False, redactor=parts.redactor)
            models = Models(
                settings=LlmSettings.from_environ(parts.env),
                door=door,
                secrets=secrets,
                meter=counting(calls=parts.meters.model_calls, cost_micro_usd=parts.meters.cost_micro_usd),
            )
            closing.push_async_callback(models.aclose)
            regex_thread = ThreadPoolExecutor(1, thread_name_prefix="regex")
            closing.callback(regex_thread.shutdown, wait=False, cancel_futures=True)
            return create_runner(
                settings=RunnerSettings.of(parts.worker),
                bus=parts.bus,
                models=models,
                handlers=Webhooks(door=door, secrets=secrets, core_url=core_url(parts.env)),
                redactor=parts.redactor,
                regex=QuickJsRegex(),
                regex_thread=regex_thread,
                languages=installed_detector(),
                clock=parts.clock,
            )

        await run_process("runner", env=os.environ, build=build, port=PROBE_PORT)


def main() -> None:
    """Run the process."""
    serve(run, name="runner")


if __name__ == "__main__":
    main()
