"""`python -m proctor_scheduler`: the scheduler on RabbitMQ and PostgreSQL."""

from __future__ import annotations

import os
from contextlib import AsyncExitStack

from proctor_chassis.process import Parts, Service, run_process, serve
from proctor_chassis.settings import DatabaseSettings
from proctor_store.engine import create_engine
from proctor_store.session import Database

from .app import create_scheduler

__all__ = ["main"]

PROBE_PORT = 8083


async def run() -> None:
    """Run the scheduler with the settings of the environment until it is told to stop."""
    async with AsyncExitStack() as closing:

        async def build(parts: Parts) -> Service:
            where = DatabaseSettings.from_env(parts.env).required()
            database = Database(
                create_engine(
                    where.url or "",
                    pool_size=where.connections,
                    overflow=where.connections,
                    transaction_pooler=where.transaction_pooler,
                )
            )
            closing.push_async_callback(database.close)
            return create_scheduler(database=database, clock=parts.clock, meters=parts.meters)

        await run_process("scheduler", env=os.environ, build=build, port=PROBE_PORT)


def main() -> None:
    """Run the process."""
    serve(run, name="scheduler")


if __name__ == "__main__":
    main()
