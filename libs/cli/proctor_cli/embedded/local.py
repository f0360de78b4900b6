"""A platform in this process for one command."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from proctor_cli.state import StateFolder

from .boot import boot
from .platform import EmbeddedPlatform

__all__ = ["open_embedded"]

REPLIES = "PROCTOR_REPLAY_DIR"


@asynccontextmanager
async def open_embedded(
    folder: StateFolder, *, workers: bool, replies: Path | None = None
) -> AsyncIterator[EmbeddedPlatform]:
    """Own the folder and run the platform on its database until the block ends.

    Runs that an earlier owner did not finish are ended as cancelled, so that they can be resumed.

    Raises:
        Stop: when another process owns the folder, or a setting cannot be read.
    """
    env = ({REPLIES: str(replies)} if replies is not None else {}) | os.environ
    with folder.owned():
        async with boot(folder.database_url, env=env, workers=workers) as platform:
            await platform.api.end_interrupted()
            yield EmbeddedPlatform(platform.api, models=platform.models)
