"""The real mode: API, two runners, RabbitMQ and PostgreSQL on this machine, model latency 0."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks.measure import stub, tree_mb
from benchmarks.work import REGEX, order, question
from tests.support.servers import fresh_amqp, fresh_database
from tools.servers import choose
from tools.servers.probe import free_port

__all__ = ["call", "case", "integration", "new_account", "ready", "real", "saved", "services"]

PROCTOR = str(Path(sys.executable).with_name("proctor"))
RUNNERS = 2
CHUNK = 1_000
POLL_SECONDS = 0.25


@contextmanager
def services(
    environment: Mapping[str, str], folder: Path, *, api: Sequence[str] = (PROCTOR, "serve", "api")
) -> Iterator[tuple[str, dict[str, int]]]:
    """Start the API and the runners; yields the API's URL and the process ids."""
    url = f"http://127.0.0.1:{free_port()}"
    ports = {"api": url.rpartition(":")[2]} | {f"runner-{n}": str(free_port()) for n in range(RUNNERS)}
    processes: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for name, port in ports.items():
            with (folder / f"{name}.log").open("wb") as log:
                processes[name] = subprocess.Popen(  # noqa: S603 - our own command
                    api if name == "api" else [PROCTOR, "serve", "runner"],
                    env={**os.environ, **environment, "PROCTOR_HTTP_PORT": port, "PROCTOR_WORKER_ID": name},
                    stdout=log,
                    stderr=log,
                )
        yield url, {name: process.pid for name, process in processes.items()}
    finally:
        for process in processes.values():
            process.terminate()
        for process in processes.values():
            process.wait(timeout=60)


async def ready(client: aiohttp.ClientSession, url: str) -> None:
    """Wait until a service answers."""
    for _ in range(240):
        try:
            async with client.get(f"{url}/readyz") as answer:
                if answer.status == 200 and "down" not in await answer.text():
                    return
        except aiohttp.ClientError:
            pass
        await asyncio.sleep(POLL_SECONDS)
    raise RuntimeError(f"{url} did not become ready")


async def call(client: aiohttp.ClientSession, method: str, url: str, body: Any = None) -> Any:
    """Call the API and insist on success."""
    async with client.request(method, url, json=body) as answer:
        text = await answer.text()
        if answer.status >= 400:
            raise RuntimeError(f"{method} {url}: {answer.status} {text[:500]}")
        return (await answer.json())["data"]


async def play(url: str, key: str, model: str, *, count: int, pids: Mapping[str, int]) -> None:
    """Save the cases, run a small run cold and the whole one, and print what was seen."""
    headers = {"Authorization": f"Bearer {key}"}
    async with aiohttp.ClientSession(headers=headers) as client:
        await ready(client, url)
        bot = await integration(client, url, model)
        ids = await saved(client, url, bot, count=count)
        for name, some in (("cold", ids[:10]), ("warm", ids[:10]), ("all", ids)):
            await timed(client, url, model, bot, some, name=name, pids=pids)


async def integration(client: aiohttp.ClientSession, url: str, model: str) -> str:
    """Save the stub as a bot; returns its id."""
    endpoint = {
        "url": f"{model}/v1/chat/completions",
        "body": {"model": "stub", "messages": "{{messages}}"},
        "replyPath": "$.choices[0].message.content",
    }
    body = {"name": "stub", "provider": "http", "endpoint": endpoint}
    return str((await call(client, "POST", f"{url}/api/integrations", body))["id"])


async def saved(client: aiohttp.ClientSession, url: str, bot: str, *, count: int) -> list[str]:
    """Save so many cases; returns their ids."""
    ids: list[str] = []
    for start in range(0, count, CHUNK):
        cases = [case(number) for number in range(start, min(start + CHUNK, count))]
        body = {"integrationId": bot, "cases": cases}
        ids += (await call(client, "POST", f"{url}/api/testing/cases/bulk", body))["ids"]
    return ids


def case(number: int) -> dict[str, Any]:
    """A case of the one workload."""
    return {
        "ref": f"B-{number}",
        "name": f"Order {number}",
        "category": "orders",
        "input": {"kind": "scripted_single", "message": question(number)},
        "assertions": [{"kind": "contains", "value": order(number)}, {"kind": "regex", "pattern": REGEX}],
    }


async def timed(
    client: aiohttp.ClientSession,
    url: str,
    model: str,
    integration: str,
    ids: list[str],
    *,
    name: str,
    pids: Mapping[str, int],
) -> None:
    """Play one run to its end and print its figures."""
    async with client.post(f"{model}/reset") as answer:
        await answer.read()
    cpu = {who: cpu_seconds(pid) for who, pid in pids.items()}
    started = time.time()
    run = await call(
        client, "POST", f"{url}/api/testing/runs", {"integrationId": integration, "caseIds": ids}
    )
    accepted = time.time()
    peak = dict.fromkeys(pids, 0.0)
    while run["status"] in {"pending", "running"}:
        await asyncio.sleep(POLL_SECONDS)
        peak = {who: max(peak[who], tree_mb(pid)) for who, pid in pids.items()}
        run = await call(client, "GET", f"{url}/api/testing/runs/{run['id']}")
    wall = time.time() - started
    async with client.get(f"{model}/seen") as answer:
        seen = await answer.json(content_type=None)
    summary = run["summary"]
    print(
        f"{name:5}{len(ids):7} cases  {wall:7.2f} s  {len(ids) / wall:6.0f} cases/s  accepted after "
        f"{accepted - started:.2f} s, first model call {seen['first'] - accepted:+.2f} s after that; "
        f"passed {summary['passed']}, failed {summary['failed']}, error {summary['error']}"
    )
    for who, pid in pids.items():
        used = cpu_seconds(pid) - cpu[who]
        print(f"      {who:10} CPU {used:6.2f} s ({used / wall:4.0%} of one core), peak {peak[who]:.0f} MB")


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def new_account(environment: Mapping[str, str]) -> str:
    """Make the tables and an account; returns its key."""
    env = {**os.environ, **environment}
    for command in (["migrate"], ["accounts", "create", "bench"]):
        subprocess.run([PROCTOR, *command], env=env, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own
    made = subprocess.run(  # noqa: S603 - our own command
        [PROCTOR, "keys", "create", "--account", "bench"],
        env=env,
        check=True,
        capture_output=True,
        text=True,
    )
    return made.stdout.split()[-1]


def real(*, count: int) -> None:
    """Print the figures of the real mode."""
    servers = choose.ensure()
    print(f"\nreal RabbitMQ and PostgreSQL, {RUNNERS} runners, model latency 0 (bar 300 cases/s, aim 600)")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        environment = {
            "PROCTOR_AMQP_URL": stack.enter_context(fresh_amqp(servers)),
            "PROCTOR_DATABASE_URL": stack.enter_context(fresh_database(servers)),
            "PROCTOR_EGRESS_ALLOW": "127.0.0.0/8",
        }
        key = new_account(environment)
        model = stack.enter_context(stub(0))
        url, pids = stack.enter_context(services(environment, folder))
        try:
            asyncio.run(play(url, key, model, count=count, pids=pids))
        except BaseException:
            for log in sorted(folder.glob("*.log")):
                print(f"--- {log.name}\n{log.read_text()[-3000:]}")
            raise
