"""Finding the platform: a server that was named, an owner of the folder that serves, or this process."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

from .client import Platform
from .exits import ExitCode, Stop
from .state import StateFolder

__all__ = ["Opener", "Target", "open_platform", "target_from"]

DEFAULT_STATE = ".proctor"


@dataclass(frozen=True, slots=True)
class Target:
    """Which platform to use; without a server, the one of the state folder.

    `replies` is the folder that the embedded platform replays recorded answers from, if no other is set.
    """

    state: Path
    server: str | None = None
    key: str | None = None
    replies: Path | None = None


Opener = Callable[..., AbstractAsyncContextManager[Platform]]
"""`open_platform` or a stand-in: called with a target and `workers`."""


def target_from(env: Mapping[str, str]) -> Target:
    """Read PROCTOR_SERVER, PROCTOR_API_KEY and PROCTOR_STATE."""
    return Target(
        server=env.get("PROCTOR_SERVER") or None,
        key=env.get("PROCTOR_API_KEY") or None,
        state=Path(env.get("PROCTOR_STATE") or DEFAULT_STATE),
    )


@contextlib.asynccontextmanager
async def open_platform(target: Target, *, workers: bool) -> AsyncIterator[Platform]:
    """Open the platform; `workers` asks for one that also plays runs.

    Raises:
        Stop: when there is none to open.
    """
    if target.server is not None:
        if not target.server.lower().startswith(("http://", "https://")):
            message = f"{target.server!r} is no http:// or https:// URL; did you mean http://{target.server}?"
            raise Stop(ExitCode.USAGE, message)
        if target.key is None:
            message = f"{target.server} asks for a key; give --key or set PROCTOR_API_KEY"
            raise Stop(ExitCode.USAGE, message)
        from .remote import open_remote  # noqa: PLC0415 - a client is only needed with a server

        async with open_remote(url=target.server, key=target.key) as remote:
            yield remote
        return
    folder = StateFolder(target.state)
    if (owner := folder.owner()) is not None:
        from .remote import open_remote  # noqa: PLC0415 - as above

        async with open_remote(url=owner.url, key=owner.key) as remote:
            if await remote.healthy():
                yield remote
                return
    from .embedded.local import open_embedded  # noqa: PLC0415 - the services cost most of a start

    async with open_embedded(folder, workers=workers, replies=target.replies) as local:
        yield local
