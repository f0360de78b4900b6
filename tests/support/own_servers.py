"""A broker and a database that one test module has for itself, so that it may stop and start them."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.required import real_servers_required
from tools.servers import containers
from tools.servers.model import Origin, Servers, ServersError, data_root
from tools.servers.postgres import PostgresProcess
from tools.servers.probe import amqp_answers, database_answers, wait_for
from tools.servers.rabbitmq import RabbitProcess

__all__ = ["OwnServer", "own_broker", "own_database"]

BACK_SECONDS = 90.0


@dataclass
class OwnServer:
    """A server at one address; every call returns when it is done. Stopping is a crash with `kill`."""

    url: str
    _stop: Callable[[bool], None]
    _start: Callable[[], None]
    running: bool = field(default=True)

    def stop(self, *, kill: bool = False) -> None:
        self._stop(kill)
        self.running = False

    def start(self) -> None:
        if not self.running:
            self._start()
            self.running = True

    def restart(self, *, kill: bool = False) -> None:
        self.stop(kill=kill)
        self.start()


@contextlib.contextmanager
def own_broker(servers: Servers) -> Iterator[OwnServer]:
    """A RabbitMQ beside the shared one, from where the shared one came; empty, and gone afterwards."""
    match servers.amqp_origin:
        case Origin.packages:
            with _folder("rabbitmq") as folder:
                node = RabbitProcess(folder=folder)
                node.start()
                yield OwnServer(node.url, lambda kill: node.stop(how=_signal(kill)), node.start)
        case Origin.docker:
            started = containers.start_broker()
            with _container(started, amqp_answers) as server:
                yield server
        case Origin.environment | Origin.found:
            _cannot("RabbitMQ")


@contextlib.contextmanager
def own_database(servers: Servers) -> Iterator[OwnServer]:
    """A PostgreSQL beside the shared one, from where the shared one came; empty, and gone afterwards."""
    match servers.database_origin:
        case Origin.packages:
            with _folder("postgresql") as folder:
                process = PostgresProcess(folder=folder)
                process.start()
                yield OwnServer(process.url, lambda kill: process.stop(mode=_mode(kill)), process.start)
        case Origin.docker:
            started = containers.start_database()
            with _container(started, database_answers) as server:
                yield server
        case Origin.environment | Origin.found:
            _cannot("PostgreSQL")


@contextlib.contextmanager
def _folder(kind: str) -> Iterator[Path]:
    """An empty folder for a server of this process; what killed processes left is stopped and removed."""
    for left in data_root().glob("own-*-*"):
        _, what, owner = left.name.split("-")
        if not _alive(int(owner)):
            _remove(left, what)
    folder = data_root() / f"own-{kind}-{os.getpid()}"
    try:
        yield folder
    finally:
        _remove(folder, kind)


def _remove(folder: Path, kind: str) -> None:
    if kind == "rabbitmq":
        node = RabbitProcess(folder=folder)
        node.stop(how=signal.SIGKILL)
        node.close()
    else:
        PostgresProcess(folder=folder).stop(mode="immediate")
    shutil.rmtree(folder, ignore_errors=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@contextlib.contextmanager
def _container(started: containers.Started, answers: Callable[[str], bool]) -> Iterator[OwnServer]:
    import docker  # noqa: PLC0415 - only machines with an engine need it

    container = docker.from_env().containers.get(started.handle)

    def stop(kill: bool) -> None:  # noqa: FBT001 - as OwnServer calls it
        if kill:
            container.kill()
        else:
            container.stop()

    def start() -> None:
        container.start()
        if not wait_for(lambda: answers(started.url), seconds=BACK_SECONDS, alive=lambda: True):
            raise ServersError(f"container {started.handle[:12]} did not come back")

    try:
        yield OwnServer(started.url, stop, start)
    finally:
        containers.remove(started.handle)


def _signal(kill: bool) -> signal.Signals:  # noqa: FBT001 - as OwnServer calls it
    return signal.SIGKILL if kill else signal.SIGTERM


def _mode(kill: bool) -> str:  # noqa: FBT001 - as above
    return "immediate" if kill else "fast"


def _cannot(name: str) -> None:
    message = f"this {name} was not started here, so no second one is started beside it"
    if real_servers_required():
        pytest.fail(message)
    pytest.skip(message)
