"""`python -m proctor_scheduler`: the scheduler on RabbitMQ."""

from __future__ import annotations

import os

from proctor_chassis.process import Parts, Service, run_process, serve

from .app import create_scheduler

__all__ = ["main"]

PROBE_PORT = 8083


async def build(_parts: Parts) -> Service:
    """Make the service; it needs nothing but the bus it is subscribed on."""
    return create_scheduler()


async def run() -> None:
    """Run the scheduler with the settings of the environment until it is told to stop."""
    await run_process("scheduler", env=os.environ, build=build, port=PROBE_PORT)


def main() -> None:
    """Run the process."""
    serve(run, name="scheduler")


if __name__ == "__main__":
    main()
