"""Which servers to use: given, found, in Docker or from packages; and the commands on them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace

from . import containers
from .model import Origin, Servers, ServersError, data_root, load, save, state_folder
from .postgres import PostgresProcess
from .probe import amqp_answers, database_answers, url_answers, wait_for
from .rabbitmq import RabbitProcess

__all__ = ["ensure", "restart_broker", "restart_database", "running", "stop"]

DEFAULT_AMQP = "amqp://guest:guest@127.0.0.1:5672/"
DEFAULT_MANAGEMENT = "http://guest:guest@127.0.0.1:15672"
DEFAULT_METRICS = "http://127.0.0.1:15692"
DEFAULT_DATABASES = (
    "postgresql://proctor:proctor@127.0.0.1:5432/postgres",
    "postgresql://postgres:postgres@127.0.0.1:5432/postgres",
)
RESTART_SECONDS = 60.0


def running() -> Servers | None:
    """The servers that `ensure` would reuse: the last ones, if both still answer."""
    known = load()
    if known is None or not (_broker_fits(known) and _database_fits(known)):
        return None
    return known


def ensure() -> Servers:
    """Servers that answer: those of the last time, or else found or started now (one caller at a time)."""
    with _alone():
        known = running()
        if known is not None and known.amqp_origin is not Origin.packages:
            return known
        servers = _with_database(_with_broker(load()))
        save(servers)
        return servers


def stop() -> None:
    """Stop what `ensure` started; servers that were merely found stay as they are."""
    with _alone():
        known = load()
        if known is None:
            return
        if known.amqp_origin is Origin.packages:
            RabbitProcess(folder=data_root() / "rabbitmq").close()
        if known.database_origin is Origin.packages:
            PostgresProcess(folder=data_root() / "postgresql").stop()
        for handle in (known.broker_handle, known.database_handle):
            if handle is not None:
                containers.remove(handle)
        save(None)


def restart_broker(*, kill: bool = False) -> None:
    """Restart the broker at the same address and wait until it answers; `kill` makes it a crash."""
    known = _known()
    match known.amqp_origin:
        case Origin.packages:
            how = signal.SIGKILL if kill else signal.SIGTERM
            RabbitProcess(folder=data_root() / "rabbitmq").restart(how=how)
        case Origin.docker:
            containers.restart(known.broker_handle or "", kill=kill)
            _wait_until(lambda: amqp_answers(known.amqp_url), "RabbitMQ")
        case Origin.environment | Origin.found:
            raise ServersError("this RabbitMQ was not started here, so it is not restarted here")


def restart_database(*, kill: bool = False) -> None:
    """Restart the database at the same address and wait until it answers; `kill` makes it a crash."""
    known = _known()
    match known.database_origin:
        case Origin.packages:
            mode = "immediate" if kill else "fast"
            PostgresProcess(folder=data_root() / "postgresql").restart(mode=mode)
        case Origin.docker:
            containers.restart(known.database_handle or "", kill=kill)
            _wait_until(lambda: database_answers(known.database_url), "PostgreSQL")
        case Origin.environment | Origin.found:
            raise ServersError("this PostgreSQL was not started here, so it is not restarted here")


def _known() -> Servers:
    known = load()
    if known is None:
        raise ServersError("no servers are known here; run `make services` first")
    return known


def _wait_until(answers: Callable[[], bool], name: str) -> None:
    if not wait_for(answers, seconds=RESTART_SECONDS, alive=lambda: True):
        raise ServersError(f"{name} did not come back after its restart")


def _broker_fits(known: Servers) -> bool:
    given = os.environ.get("PROCTOR_AMQP_URL")
    return given in (None, "", known.amqp_url) and amqp_answers(known.amqp_url)


def _database_fits(known: Servers) -> bool:
    given = os.environ.get("PROCTOR_DATABASE_URL")
    return given in (None, "", known.database_url) and database_answers(known.database_url)


def _with_broker(last: Servers | None) -> Servers:
    """The broker part; the database part is filled in by `_with_database`."""
    blank = last or Servers(
        amqp_url="", database_url="", amqp_origin=Origin.found, database_origin=Origin.found
    )
    if last is not None and _broker_fits(last):
        return _packaged_broker(last) if last.amqp_origin is Origin.packages else last
    given = os.environ.get("PROCTOR_AMQP_URL")
    if given:
        if not amqp_answers(given):
            raise ServersError(f"PROCTOR_AMQP_URL is set, but nobody lets us log in there: {given}")
        management = os.environ.get("PROCTOR_AMQP_MANAGEMENT_URL") or None
        return replace(
            blank,
            amqp_url=given,
            amqp_origin=Origin.environment,
            management_url=management,
            metrics_url=None,
            broker_handle=None,
        )
    if amqp_answers(DEFAULT_AMQP):
        management = DEFAULT_MANAGEMENT if url_answers(f"{DEFAULT_MANAGEMENT}/api/overview") else None
        metrics = DEFAULT_METRICS if url_answers(f"{DEFAULT_METRICS}/metrics") else None
        return replace(
            blank,
            amqp_url=DEFAULT_AMQP,
            amqp_origin=Origin.found,
            management_url=management,
            metrics_url=metrics,
            broker_handle=None,
        )
    if containers.docker_works():
        if blank.broker_handle is not None:
            containers.remove(blank.broker_handle)
        started = containers.start_broker()
        return replace(
            blank,
            amqp_url=started.url,
            amqp_origin=Origin.docker,
            management_url=started.management_url,
            metrics_url=started.metrics_url,
            broker_handle=started.handle,
        )
    return _packaged_broker(blank)


def _packaged_broker(servers: Servers) -> Servers:
    """Our own node, started if need be and repaired if it no longer does what tests need."""
    node = RabbitProcess(folder=data_root() / "rabbitmq")
    node.start()
    return replace(
        servers,
        amqp_url=node.url,
        amqp_origin=Origin.packages,
        management_url=node.management_url,
        metrics_url=node.metrics_url,
        broker_handle=None,
    )


def _with_database(servers: Servers) -> Servers:
    if servers.database_url and _database_fits(servers):
        return servers
    given = os.environ.get("PROCTOR_DATABASE_URL")
    if given:
        if not database_answers(given):
            raise ServersError("PROCTOR_DATABASE_URL is set, but we cannot log in and create databases there")
        return replace(servers, database_url=given, database_origin=Origin.environment, database_handle=None)
    for url in DEFAULT_DATABASES:
        if database_answers(url):
            return replace(servers, database_url=url, database_origin=Origin.found, database_handle=None)
    if containers.docker_works():
        if servers.database_handle is not None:
            containers.remove(servers.database_handle)
        started = containers.start_database()
        return replace(
            servers,
            database_url=started.url,
            database_origin=Origin.docker,
            database_handle=started.handle,
        )
    database = PostgresProcess(folder=data_root() / "postgresql")
    database.start()
    return replace(servers, database_url=database.url, database_origin=Origin.packages, database_handle=None)


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    with (state_folder() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
