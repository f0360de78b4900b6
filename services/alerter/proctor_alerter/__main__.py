"""`python -m proctor_alerter`: the alerter on RabbitMQ."""

from __future__ import annotations

import os
import random
from contextlib import AsyncExitStack

from proctor_chassis.process import Parts, Service, run_process, serve
from proctor_chassis.secrets import Secrets
from proctor_chassis.settings import DatabaseSettings
from proctor_store.engine import create_engine
from proctor_store.session import Database

from .app import create_alerter
from .settings import AlerterSettings

__all__ = ["main"]

PROBE_PORT = 8084


async def run() -> None:
    """Run the alerter with the settings of the environment until it is told to stop."""
    async with AsyncExitStack() as closing:

        async def build(parts: Parts) -> Service:
            where = DatabaseSettings.from_env(parts.env).required()
            settings = AlerterSettings.from_env(parts.env)
            settings.hide(parts.redactor)
            database = Database(
                create_engine(
                    where.url or "",
                    pool_size=where.connections,
                    overflow=where.connections,
                    transaction_pooler=where.transaction_pooler,
                )
            )
            closing.push_async_callback(database.close)
            return create_alerter(
                database=database,
                settings=settings,
                secrets=Secrets(environ=parts.env, embedded=False, redactor=parts.redactor),
                redactor=parts.redactor,
                clock=parts.clock,
                meters=parts.meters,
                rng=random.SystemRandom(),
            )

        await run_process("alerter", env=os.environ, build=build, port=PROBE_PORT)


def main() -> None:
    """Run the process."""
    serve(run, name="alerter")


if __name__ == "__main__":
    main()
