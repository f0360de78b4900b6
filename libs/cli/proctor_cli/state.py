"""The `.proctor` folder: one database, at most one owner, and where to reach an owner that serves."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from .exits import ExitCode, Stop

__all__ = ["Owner", "StateFolder"]

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@dataclass(frozen=True, slots=True)
class Owner:
    """A process that owns the folder and serves its API."""

    url: str
    key: str
    pid: int


@dataclass(frozen=True, slots=True)
class StateFolder:
    """Where the embedded platform keeps its things."""

    path: Path

    @property
    def database_url(self) -> str:
        """The SQLite file, as a database URL."""
        return f"sqlite:///{self.path.absolute() / 'proctor.db'}"

    @property
    def _server(self) -> Path:
        return self.path / "server.json"

    def prepare(self) -> None:
        """Make the folder, private to its user and ignored by Git."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        ignore = self.path / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")

    @contextlib.contextmanager
    def owned(self) -> Iterator[None]:
        """Own the folder until the block ends; the lock goes with the process, however it dies.

        Raises:
            Stop: when another process owns it.
        """
        self.prepare()
        descriptor = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                _lock(descriptor)
            except OSError as error:
                message = (
                    f"{self.path} is in use by another proctor; wait for it, give this one its own folder "
                    "(--state DIR), or let several share one: start `proctor up` first"
                )
                raise Stop(ExitCode.UNDECIDED, message) from error
            yield
        finally:
            os.close(descriptor)

    def announce(self, owner: Owner) -> None:
        """Say where this folder's owner serves; readable by the user alone, since it holds a key."""
        draft = self.path / f"server.json.{owner.pid}"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(asdict(owner), file)
        draft.replace(self._server)

    def withdraw(self) -> None:
        """Take the announcement back."""
        self._server.unlink(missing_ok=True)

    def owner(self) -> Owner | None:
        """Find the owner that serves, if its process still lives."""
        try:
            found = json.loads(self._server.read_text(encoding="utf-8"))
            owner = Owner(url=str(found["url"]), key=str(found["key"]), pid=int(found["pid"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return owner if _alive(owner.pid) else None


def _alive(pid: int) -> bool:
    if sys.platform == "win32":
        return True  # the health check that follows decides
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
