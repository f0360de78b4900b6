"""A platform in this process for one command."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from proctor_cli.exits import ExitCode, Stop
from proctor_cli.state import StateFolder

from .boot import boot
from .platform import EmbeddedPlatform

__all__ = ["open_embedded"]


@asynccontextmanager
async def open_embedded(folder: StateFolder, *, workers: bool) -> AsyncIterator[EmbeddedPlatform]:
    """Own the folder and run the platform on its database until the block ends.

    Runs that an earlier owner did not finish are ended as cancelled, so that they can be resumed.

    Raises:
        Stop: when another process owns the folder, or a setting cannot be read.
    """
    logging.getLogger("proctor_chassis").addHandler(logging.NullHandler())
    with folder.owned():
        try:
            opening = boot(folder.database_url, env=os.environ, workers=workers)
            async with opening as platform:
                await platform.api.end_interrupted()
                yield EmbeddedPlatform(platform.api)
        except ValueError as error:
            raise Stop(ExitCode.USAGE, str(error)) from error
