"""What every command is given: how to reach a platform, the environment, the screen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar
from uuid import UUID

import click

from .client import Platform
from .exits import ExitCode, Stop
from .screen import Screen
from .startup import settled
from .target import Opener, Target

__all__ = ["Context", "pass_context", "run_id"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Context:
    """The command's surroundings; tests give their own."""

    env: Mapping[str, str]
    opener: Opener
    target: Target
    screen: Screen = field(repr=False)

    def use(
        self,
        work: Callable[[Platform], Awaitable[T]],
        *,
        workers: bool = False,
        replies: Path | None = None,
    ) -> T:
        """Open the platform, do some work with it, and close it."""
        import asyncio  # noqa: PLC0415 - `--help` and `--version` do without it

        from proctor_chassis.loop import run  # noqa: PLC0415 - as above

        target = replace(self.target, replies=replies)

        async def opened() -> T:
            async with self.opener(target, workers=workers) as platform:
                settled()
                return await work(platform)

        try:
            return run(opened())
        except asyncio.CancelledError:  # a second interrupt
            raise KeyboardInterrupt from None


pass_context = click.make_pass_decorator(Context)


def run_id(text: str) -> UUID:
    """Read a run's id; raises Stop for anything else."""
    try:
        return UUID(text)
    except ValueError:
        raise Stop(ExitCode.USAGE, f"{text!r} is not a run's id; `proctor runs` lists them") from None
