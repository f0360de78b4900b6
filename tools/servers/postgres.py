"""A PostgreSQL server of our own: its own folder, port and password, never as root."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import subprocess
from pathlib import Path

from .model import ServersError
from .packages import postgresql_programs
from .probe import database_answers, free_port

__all__ = ["PostgresProcess"]

USER = "proctor"
SETTINGS = """
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = '{folder}'
max_connections = 200
shared_buffers = 128MB
max_wal_size = 2GB
log_min_messages = warning
timezone = 'UTC'
"""


class PostgresProcess:
    """Starts, stops and restarts one PostgreSQL server in a folder."""

    def __init__(self, *, folder: Path) -> None:
        self._folder = folder
        self._data = folder / "data"
        self._programs = postgresql_programs()
        self._account = pwd.getpwnam("postgres") if os.geteuid() == 0 else None

    @property
    def url(self) -> str:
        """The URL with user and password; the data folder must exist."""
        port = (self._folder / "port").read_text()
        password = (self._folder / "password").read_text()
        return f"postgresql://{USER}:{password}@127.0.0.1:{port}/postgres"

    def start(self) -> None:
        """Start, on the data of the last time if it still works, else on fresh data."""
        if self._data.exists():
            if self.running() and database_answers(self.url):
                return
            self.stop(mode="immediate")
            if self._launch():
                return
        self._create()
        if not self._launch():
            raise ServersError(f"PostgreSQL did not start; see {self._folder / 'log'}")

    def stop(self, *, mode: str = "fast") -> None:
        """Stop; `immediate` is a crash on purpose."""
        if self.running():
            self._control("stop", "--mode", mode, "--wait")

    def restart(self, *, mode: str = "immediate") -> None:
        """Stop and start again at the same port with the same data."""
        self.stop(mode=mode)
        if not self._launch():
            raise ServersError(f"PostgreSQL did not come back; see {self._folder / 'log'}")

    def running(self) -> bool:
        """Whether the server process of this folder is alive."""
        return self._data.exists() and self._control("status").returncode == 0

    def _create(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        password = secrets.token_hex(12)
        port = free_port()
        (self._folder / "password").write_text(password)
        (self._folder / "password").chmod(0o600)
        (self._folder / "port").write_text(str(port))
        if self._account is not None:
            os.chown(self._folder, self._account.pw_uid, self._account.pw_gid)
            os.chown(self._folder / "password", self._account.pw_uid, self._account.pw_gid)
        made = self._run(
            *("initdb", "--pgdata", str(self._data), "--username", USER, "--encoding", "UTF8"),
            *("--locale", "C.UTF-8", "--auth", "scram-sha-256", "--pwfile", str(self._folder / "password")),
        )
        if made.returncode != 0:
            raise ServersError(f"initdb failed:\n{made.stderr[-2000:]}")
        with (self._data / "postgresql.conf").open("a") as conf:
            conf.write(SETTINGS.format(port=port, folder=self._folder))

    def _launch(self) -> bool:
        log = str(self._folder / "log")
        started = self._control("start", "--wait", "--timeout", "60", "--log", log)
        return started.returncode == 0 and database_answers(self.url)

    def _control(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self._run("pg_ctl", "--pgdata", str(self._data), *arguments)

    def _run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        # The server inherits these streams, so they must not be pipes that someone waits on.
        error = self._folder / "error"
        with error.open("w+") as errors:
            done = subprocess.run(
                [str(self._programs / program), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                check=False,
                cwd=self._folder,
                start_new_session=True,
                user=self._account.pw_uid if self._account else None,
                group=self._account.pw_gid if self._account else None,
                extra_groups=[] if self._account else None,
                env={"PATH": os.environ["PATH"], "HOME": str(self._folder), "LC_ALL": "C.UTF-8"},
            )
            errors.seek(0)
            return subprocess.CompletedProcess(done.args, done.returncode, "", errors.read())
