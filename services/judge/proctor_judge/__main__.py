"""`python -m proctor_judge`: a judge on RabbitMQ."""

from __future__ import annotations

import os
from contextlib import AsyncExitStack

from proctor_chassis.egress import Operator
from proctor_chassis.egress.door import OutgoingDoor
from proctor_chassis.process import Parts, Service, run_process, serve
from proctor_chassis.secrets import Secrets
from proctor_llm import LlmSettings, Models
from proctor_llm.metering import counting

from .app import create_judge
from .settings import JudgeServiceSettings

__all__ = ["main"]

PROBE_PORT = 8082


async def run() -> None:
    """Run a judge with the settings of the environment until it is told to stop."""
    async with AsyncExitStack() as closing:

        async def build(parts: Parts) -> Service:
            door = OutgoingDoor(rules=Operator.from_environ(parts.env, embedded=False))
            closing.push_async_callback(door.aclose)
            models = Models(
                settings=LlmSettings.from_environ(parts.env),
                door=door,
                secrets=Secrets(environ=parts.env, embedded=False, redactor=parts.redactor),
                meter=counting(calls=parts.meters.model_calls, cost_micro_usd=parts.meters.cost_micro_usd),
            )
            closing.push_async_callback(models.aclose)
            return create_judge(
                settings=JudgeServiceSettings.of(parts.worker),
                bus=parts.bus,
                models=models,
                redactor=parts.redactor,
                clock=parts.clock,
            )

        await run_process("judge", env=os.environ, build=build, port=PROBE_PORT)


def main() -> None:
    """Run the process."""
    serve(run, name="judge")


if __name__ == "__main__":
    main()
