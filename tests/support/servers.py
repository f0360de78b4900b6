"""Fixtures for tests marked `real`: RabbitMQ and PostgreSQL, with a virtual host and a database a module."""

from __future__ import annotations

import json
import os
import re
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from urllib.parse import quote, urlsplit, urlunsplit

import aiohttp
import asyncpg
import pytest

from tests.support.required import real_servers_required
from tools.servers import choose
from tools.servers.model import Servers, ServersError
from tools.servers.probe import plain_dsn, run_apart

__all__ = [
    "Retired",
    "abandoned_vhosts",
    "amqp_url",
    "broker_queues",
    "database_url",
    "fresh_amqp",
    "fresh_database",
    "restart_broker",
    "restart_database",
    "restricted_user",
    "servers",
]


class Retired:
    """Virtual hosts that no test needs any more, deleted when the broker can bear it.

    Deleting quorum queues while they recover from a restart kills RabbitMQ's supervisor of dead-lettering
    (seen with 3.10), after which no queue of that kind can be declared; so deletions wait for a while then.
    """

    SETTLING_SECONDS = 10.0

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._came_back: float | None = None
        self._names: list[str] = []

    def broker_came_back(self) -> None:
        """Note that the broker has just been restarted."""
        self._came_back = self._clock()

    def retire(self, names: Iterable[str]) -> None:
        """Note virtual hosts for deletion."""
        self._names += names

    def due(self) -> list[str]:
        """The names that may be deleted now; they are forgotten here."""
        if self._came_back is not None and self._clock() - self._came_back < self.SETTLING_SECONDS:
            return []
        due, self._names = self._names, []
        return due

    def sweep(self, servers: Servers) -> None:
        """Delete what may be deleted."""
        for name in self.due():
            with suppress(aiohttp.ClientError):
                _management(servers, "DELETE", f"vhosts/{name}", None)


VHOSTS = Retired()


def abandoned_vhosts(servers: Servers) -> list[str]:
    """The virtual hosts of test processes that are gone."""
    names = [
        item["name"] for item in json.loads(run_apart(_get_text(f"{servers.management_url}/api/vhosts")))
    ]
    owners = {name: name.split("-")[1] for name in names if name.startswith("test-")}
    return [name for name, owner in owners.items() if not _alive(owner)]


def _alive(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except PermissionError:
        return True
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    return True


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """The servers of this session, started when they are not running."""
    try:
        known = choose.ensure()
    except ServersError as error:
        if real_servers_required():
            pytest.fail(f"real servers are required here: {error}")
        pytest.skip(f"no real servers: {error}")
    yield known
    if known.management_url is not None:
        VHOSTS.retire(abandoned_vhosts(known))
        VHOSTS.sweep(known)


@pytest.fixture(scope="module")
def amqp_url(servers: Servers) -> Iterator[str]:
    """The AMQP URL of a virtual host that this test module has for itself."""
    with fresh_amqp(servers) as url:
        yield url


@pytest.fixture(scope="module")
def database_url(servers: Servers) -> Iterator[str]:
    """The URL (`postgresql://…`) of an empty database that this test module has for itself."""
    with fresh_database(servers) as url:
        yield url


@contextmanager
def fresh_amqp(servers: Servers) -> Iterator[str]:
    """An empty virtual host, deleted afterwards; without a management API the broker's default one."""
    if servers.management_url is None:
        yield servers.amqp_url
        return
    name = f"test-{os.getpid()}-{uuid.uuid4().hex[:16]}"
    user = urlsplit(servers.management_url).username or "guest"
    everything = {"configure": ".*", "write": ".*", "read": ".*"}
    _management(servers, "PUT", f"vhosts/{name}", {})
    _management(servers, "PUT", f"permissions/{name}/{quote(user)}", everything)
    try:
        yield urlunsplit(urlsplit(servers.amqp_url)._replace(path=f"/{name}"))
    finally:
        VHOSTS.retire([name])
        VHOSTS.sweep(servers)


@contextmanager
def fresh_database(servers: Servers) -> Iterator[str]:
    """An empty database, dropped afterwards whoever is still connected to it."""
    name = f"test_{uuid.uuid4().hex}"
    _execute(servers.database_url, f'CREATE DATABASE "{name}"')
    try:
        yield urlunsplit(urlsplit(servers.database_url)._replace(path=f"/{name}"))
    finally:
        with suppress(OSError, asyncpg.PostgresError):
            _execute(servers.database_url, f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def broker_queues(servers: Servers, amqp_url: str) -> dict[str, tuple[int, int]]:
    """Messages (ready, unacknowledged) of each queue of this virtual host; figures may be seconds old."""
    if servers.metrics_url is None:
        pytest.skip("this broker has no Prometheus plugin to look into its queues")
    vhost = urlsplit(amqp_url).path.removeprefix("/") or "/"
    text = run_apart(
        _get_text(f"{servers.metrics_url}/metrics/detailed?family=queue_coarse_metrics&vhost={quote(vhost)}")
    )
    found: dict[str, dict[str, int]] = {}
    for line in text.splitlines():
        if line.startswith("#") or 'queue="' not in line:
            continue
        metric, _, rest = line.partition("{")
        labels, _, value = rest.rpartition("}")
        queue = labels.partition('queue="')[2].partition('"')[0]
        found.setdefault(queue, {})[metric] = int(float(value))
    return {
        queue: (
            values.get("rabbitmq_detailed_queue_messages_ready", 0),
            values.get("rabbitmq_detailed_queue_messages_unacked", 0),
        )
        for queue, values in found.items()
    }


def restart_broker(*, kill: bool = False) -> None:
    """Restart the broker in mid-test; skips (fails in CI) when the broker is not ours to restart."""
    try:
        choose.restart_broker(kill=kill)
    except ServersError as error:
        _cannot(error)
    VHOSTS.broker_came_back()


def restart_database(*, kill: bool = False) -> None:
    """Restart the database in mid-test; skips (fails in CI) when it is not ours to restart."""
    try:
        choose.restart_database(kill=kill)
    except ServersError as error:
        _cannot(error)


def _cannot(error: ServersError) -> None:
    if real_servers_required():
        pytest.fail(str(error))
    pytest.skip(str(error))


@contextmanager
def restricted_user(servers: Servers, amqp_url: str, *, exchange: str, key: str) -> Iterator[str]:
    """The AMQP URL of a user who may write this one key of this one exchange, and nothing else."""
    if servers.management_url is None:
        pytest.skip("this broker has no management API to make users with")
    name = f"test-{os.getpid()}-{uuid.uuid4().hex[:16]}"
    vhost = quote(urlsplit(amqp_url).path.removeprefix("/") or "/", safe="")
    rights = {"configure": "^$", "write": f"^{re.escape(exchange)}$", "read": "^$"}
    of_topic = {"exchange": exchange, "write": f"^{re.escape(key)}$", "read": "^$"}
    _management(servers, "PUT", f"users/{name}", {"password": name, "tags": ""})
    try:
        _management(servers, "PUT", f"permissions/{vhost}/{name}", rights)
        _management(servers, "PUT", f"topic-permissions/{vhost}/{name}", of_topic)
        parts = urlsplit(amqp_url)
        yield urlunsplit(parts._replace(netloc=f"{name}:{name}@{parts.netloc.rpartition('@')[2]}"))
    finally:
        _management(servers, "DELETE", f"users/{name}", None)


def _execute(url: str, statement: str) -> None:
    async def run() -> None:
        connection = await asyncpg.connect(plain_dsn(url), timeout=10)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()

    run_apart(run())


def _management(servers: Servers, method: str, path: str, body: dict[str, str] | None) -> None:
    async def call() -> None:
        url = f"{servers.management_url}/api/{path}"
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, url, json=body) as response,
        ):
            response.raise_for_status()

    run_apart(call())


async def _get_text(url: str) -> str:
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        response.raise_for_status()
        return await response.text()
