"""`make up` and `make down`: all five services, in Docker Compose or as processes on this machine."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from tools.servers import choose
from tools.servers.containers import docker_works
from tools.servers.model import ServersError, state_folder
from tools.servers.probe import free_port, plain_dsn, port_open, run_apart, url_answers, wait_for

__all__ = ["main"]

DATABASE = "proctor"
ACCOUNT = "local"
API_PORT = 8080
READY_SECONDS = 30.0
STOP_SECONDS = 170.0
PROCTOR = Path(sys.executable).with_name("proctor")


@dataclass(frozen=True, slots=True)
class Service:
    """One process to start: its service, the name of its log, and the port of its HTTP side."""

    service: str
    name: str
    port: int


def main() -> int:
    """Start or stop everything."""
    parser = argparse.ArgumentParser(prog="python -m tools.local", description=__doc__)
    parser.add_argument("command", choices=["up", "down"])
    parser.add_argument("--runners", type=int, default=2)
    parser.add_argument(
        "--processes", action="store_true", help="do not use Docker Compose even if it is there"
    )
    arguments = parser.parse_args()
    composed = not arguments.processes and docker_works() and _has_compose()
    try:
        if arguments.command == "up":
            return _compose_up() if composed else _processes_up(arguments.runners)
        _processes_down()
        if composed:
            subprocess.run(["docker", "compose", "down"], check=True)
    except (ServersError, subprocess.CalledProcessError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _has_compose() -> bool:
    return subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode == 0


def _compose_up() -> int:
    subprocess.run(["docker", "compose", "up", "--build", "--detach", "--wait"], check=True)
    inside = ["docker", "compose", "run", "--rm", "--no-deps", "migrate"]
    _print_access([*inside, "proctor"], {}, f"http://127.0.0.1:{os.environ.get('PROCTOR_PORT', API_PORT)}")
    return 0


def _processes_up(runners: int) -> int:
    _processes_down(again=True)
    servers = choose.ensure()
    print(servers.describe(), flush=True)
    parts = urlsplit(servers.database_url)
    database_url = urlunsplit(parts._replace(path=f"/{DATABASE}"))
    run_apart(_create_database(servers.database_url))
    environment = os.environ | {
        "PROCTOR_AMQP_URL": servers.amqp_url,
        "PROCTOR_DATABASE_URL": database_url,
        # Bots under test usually run on the same machine; elsewhere an operator lists them on purpose.
        "PROCTOR_EGRESS_ALLOW": os.environ.get("PROCTOR_EGRESS_ALLOW", "127.0.0.0/8, ::1/128, localhost"),
    }
    subprocess.run([str(PROCTOR), "migrate"], env=environment, check=True)
    started: dict[str, int] = {}
    services = _services(runners)
    # Links in alerts lead to the API on this machine, unless somebody says where else it is reached.
    environment.setdefault("PROCTOR_PUBLIC_URL", f"http://127.0.0.1:{services[0].port}")
    for one in services:
        started[one.name] = _start(one, environment)
        _pids_file().write_text(json.dumps(started))
    for one in services:
        _wait_until_ready(one, started[one.name])
    _print_access([str(PROCTOR)], environment, f"http://127.0.0.1:{services[0].port}")
    print("`make down` stops the services; `make services-stop` the servers.")
    return 0


def _services(runners: int) -> list[Service]:
    # The port of last time first, so that the variables a shell was given stay good.
    known = urlsplit(_access().get("url", "")).port
    wanted = [port for port in (known, API_PORT) if port is not None]
    free = (port for port in wanted if not port_open("http://127.0.0.1", port))
    api_port = next(free, None) or free_port()
    workers = [Service("runner", f"runner-{number}", free_port()) for number in range(1, runners + 1)]
    others = [Service(name, name, free_port()) for name in ("judge", "scheduler", "alerter")]
    return [Service("api", "api", api_port), *workers, *others]


def _start(one: Service, environment: dict[str, str]) -> int:
    _log(one.name).parent.mkdir(exist_ok=True)
    with _log(one.name).open("ab") as log:
        process = subprocess.Popen(
            [str(PROCTOR), "serve", one.service],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env=environment | {"PROCTOR_HTTP_PORT": str(one.port), "PROCTOR_WORKER_ID": one.name},
        )
    return process.pid


def _wait_until_ready(one: Service, pid: int) -> None:
    ready = f"http://127.0.0.1:{one.port}/readyz"
    if not wait_for(lambda: url_answers(ready), seconds=READY_SECONDS, alive=lambda: _alive(pid)):
        raise ServersError(f"{one.name} did not become ready; see {_log(one.name)}")
    print(f"{one.name:<11} http://127.0.0.1:{one.port}  log {_log(one.name)}", flush=True)


def _processes_down(*, again: bool = False) -> None:
    try:
        started = json.loads(_pids_file().read_text())
    except (OSError, ValueError):
        return
    ours = {name: pid for name, pid in started.items() if _alive(pid)}
    if ours and again:
        print("already up: starting anew with the code as it is now; unfinished runs go on", flush=True)
    for pid in ours.values():
        os.kill(pid, signal.SIGTERM)
    for name, pid in ours.items():
        _wait_until_gone(pid)
        print(f"stopped {name}", flush=True)
    _pids_file().unlink(missing_ok=True)


def _wait_until_gone(pid: int) -> None:
    if not wait_for(lambda: not _alive(pid), seconds=STOP_SECONDS, alive=lambda: True):
        os.kill(pid, signal.SIGKILL)


def _alive(pid: int) -> bool:
    """Whether this process is still there and, as far as this system tells, still one of our services."""
    try:
        os.kill(pid, 0)
        if not Path("/proc/self").exists():
            return True
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return b"proctor\0serve" in command


def _print_access(proctor: list[str], environment: dict[str, str], url: str) -> None:
    """Print URL and key as variables for a shell: the key of last time while it is good, else a new one."""
    known = _access().get("key", "")
    good = known != "" and url_answers(f"{url}/api/testing/runs?take=1", key=known)
    key = known if good else _new_key(proctor, environment)
    file = _access_file()
    file.touch(mode=0o600)
    file.write_text(json.dumps({"url": url, "key": key}))
    print(f"\nexport PROCTOR_SERVER={url} PROCTOR_API_KEY={key}", flush=True)


def _new_key(proctor: list[str], environment: dict[str, str]) -> str:
    env = environment or None
    subprocess.run([*proctor, "accounts", "create", ACCOUNT], env=env, capture_output=True, check=False)
    making = [*proctor, "keys", "create", "--account", ACCOUNT]
    made = subprocess.run(making, env=env, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise ServersError(f"no key could be made: {made.stderr.strip()}")
    return made.stdout.strip()


def _access() -> dict[str, str]:
    """What was printed last time."""
    try:
        known = json.loads(_access_file().read_text())
    except (OSError, ValueError):
        return {}
    return {name: str(value) for name, value in known.items()} if isinstance(known, dict) else {}


async def _create_database(url: str) -> None:
    connection = await asyncpg.connect(plain_dsn(url), timeout=10)
    try:
        if not await connection.fetchval("SELECT 1 FROM pg_database WHERE datname = $1", DATABASE):
            await connection.execute(f'CREATE DATABASE "{DATABASE}"')
    finally:
        await connection.close()


def _log(name: str) -> Path:
    return state_folder() / "logs" / f"{name}.log"


def _access_file() -> Path:
    return state_folder() / "access.json"


def _pids_file() -> Path:
    return state_folder() / "processes.json"


if __name__ == "__main__":
    sys.exit(main())
