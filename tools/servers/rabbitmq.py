"""A RabbitMQ node of our own: its own name, ports, cookie and data, beside any other node."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import secrets
import shutil
import signal
import subprocess
from pathlib import Path

from .model import ServersError
from .packages import rabbitmq_programs
from .probe import free_port, queues_can_be_declared, url_answers, wait_for

__all__ = ["RabbitProcess"]

START_SECONDS = 90.0
STOP_SECONDS = 30.0
PLUGINS = "[rabbitmq_management,rabbitmq_prometheus].\n"
SETTINGS = """
listeners.tcp.default = 127.0.0.1:{amqp}
management.tcp.ip = 127.0.0.1
management.tcp.port = {management}
management_agent.disable_metrics_collector = true
prometheus.tcp.ip = 127.0.0.1
prometheus.tcp.port = {metrics}
default_user = proctor
default_pass = {password}
loopback_users = none
consumer_timeout = 7200000
disk_free_limit.absolute = 64MB
log.console = false
log.file = rabbit.log
log.file.level = warning
"""


class RabbitProcess:
    """Starts, stops and restarts one RabbitMQ node in a folder."""

    def __init__(self, *, folder: Path) -> None:
        self._folder = folder
        self._programs = rabbitmq_programs()
        self._account = _account()

    @property
    def _settings(self) -> dict[str, int | str]:
        return dict(json.loads((self._folder / "node.json").read_text()))

    @property
    def url(self) -> str:
        """The AMQP URL of the default virtual host."""
        known = self._settings
        return f"amqp://proctor:{known['password']}@127.0.0.1:{known['amqp']}/"

    @property
    def management_url(self) -> str:
        """The base URL of the management API, with credentials."""
        known = self._settings
        return f"http://proctor:{known['password']}@127.0.0.1:{known['management']}"

    @property
    def metrics_url(self) -> str:
        """The base URL of the Prometheus plugin."""
        return f"http://127.0.0.1:{self._settings['metrics']}"

    def start(self) -> None:
        """Start, on the data of the last time if it still works, else on fresh data."""
        if (self._folder / "node.json").exists():
            if self.running() and queues_can_be_declared(self.url):
                return
            self.stop()
            if self._launch():
                return
            self.stop(how=signal.SIGKILL)
            self._run_epmd("-kill")
        self._create()
        if not self._launch():
            raise ServersError(f"RabbitMQ did not start; see {self._folder / 'console.log'}")

    def stop(self, *, how: signal.Signals = signal.SIGTERM) -> None:
        """Stop the node (SIGTERM is a clean stop, SIGKILL a crash) and wait until it is gone."""
        pid = self._pid()
        if pid is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, how)
        gone = wait_for(lambda: self._pid() is None, seconds=STOP_SECONDS, alive=lambda: True)
        if not gone and how is not signal.SIGKILL:
            self.stop(how=signal.SIGKILL)

    def restart(self, *, how: signal.Signals = signal.SIGTERM) -> None:
        """Stop and start again at the same ports with the same data."""
        self.stop(how=how)
        if not self._launch():
            raise ServersError(f"RabbitMQ did not come back; see {self._folder / 'console.log'}")

    def close(self) -> None:
        """Stop the node and its name server."""
        self.stop()
        if (self._folder / "node.json").exists():
            self._run_epmd("-kill")

    def running(self) -> bool:
        """Whether the node's process is alive."""
        return self._pid() is not None

    def _pid(self) -> int | None:
        """The node's process id; None when it is gone or when the number now belongs to another program."""
        try:
            pid = int((self._folder / "pid").read_text())
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            home = Path(f"/proc/{pid}/cwd").readlink()
        except (OSError, ValueError, IndexError):
            return None
        return pid if state != "Z" and home == self._folder else None

    def _create(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        ports = {name: free_port() for name in ("amqp", "management", "metrics", "dist", "epmd")}
        known = ports | {"password": secrets.token_hex(12)}
        (self._folder / "node.json").write_text(json.dumps(known))
        (self._folder / "rabbitmq.conf").write_text(SETTINGS.format(**known))
        (self._folder / "enabled_plugins").write_text(PLUGINS)
        # An empty file in its place keeps the machine-wide settings of another node away from this one.
        (self._folder / "env.conf").write_text("")
        (self._folder / ".erlang.cookie").write_text(secrets.token_hex(16))
        for path in (self._folder, *self._folder.iterdir()):
            if self._account is not None:
                os.chown(path, self._account.pw_uid, self._account.pw_gid)
        (self._folder / ".erlang.cookie").chmod(0o400)

    def _launch(self) -> bool:
        log = self._folder / "console.log"
        # A shell in between leaves the node without a parent here: it outlives us, and nobody has to reap it.
        with log.open("ab") as output:
            shell = subprocess.run(
                ["/bin/sh", "-c", '"$0" >&2 & echo $!', str(self._programs / "rabbitmq-server")],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=output,
                check=True,
                text=True,
                cwd=self._folder,
                start_new_session=True,
                user=self._account.pw_uid if self._account else None,
                group=self._account.pw_gid if self._account else None,
                extra_groups=[] if self._account else None,
                env=self._environment(),
            )
        (self._folder / "pid").write_text(shell.stdout.strip())
        management = f"{self.management_url}/api/overview"
        return wait_for(
            lambda: queues_can_be_declared(self.url) and url_answers(management),
            seconds=START_SECONDS,
            alive=self.running,
        )

    def _environment(self) -> dict[str, str]:
        known = self._settings
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self._folder),
            "LC_ALL": "C.UTF-8",
            "RABBITMQ_NODENAME": f"proctor{known['amqp']}@localhost",
            "RABBITMQ_BASE": str(self._folder),
            "RABBITMQ_MNESIA_BASE": str(self._folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(self._folder / "logs"),
            "RABBITMQ_CONFIG_FILE": str(self._folder / "rabbitmq.conf"),
            "RABBITMQ_CONF_ENV_FILE": str(self._folder / "env.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self._folder / "enabled_plugins"),
            # Makes the script replace itself by the node, so that the process we start is the node.
            "RUNNING_UNDER_SYSTEMD": "1",
            "RABBITMQ_DIST_PORT": str(known["dist"]),
            "ERL_EPMD_PORT": str(known["epmd"]),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
        }

    def _run_epmd(self, *arguments: str) -> None:
        epmd = shutil.which("epmd")
        if epmd:
            subprocess.run([epmd, *arguments], env=self._environment(), capture_output=True, check=False)


def _account() -> pwd.struct_passwd | None:
    """The package's own account when we are root; otherwise the node runs as the caller."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("rabbitmq")
    except KeyError:
        return None
