"""Whether a server answers and lets us in, asked with the same clients that Proctor uses."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar
from urllib.parse import urlsplit

import aio_pika
import aiohttp
import asyncpg
from pamqp.common import FieldValue

__all__ = [
    "amqp_answers",
    "database_answers",
    "free_port",
    "plain_dsn",
    "port_open",
    "queues_can_be_declared",
    "run_apart",
    "url_answers",
    "wait_for",
]

T = TypeVar("T")
LOGIN_SECONDS = 5.0


def run_apart(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on a loop of its own, also when the caller already has one."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, work).result()


def plain_dsn(url: str) -> str:
    """The database URL without SQLAlchemy's driver name, as asyncpg wants it."""
    return url.replace("postgresql+asyncpg://", "postgresql://", 1)


def port_open(url: str, default_port: int) -> bool:
    """Whether anybody listens at this URL's host and port."""
    parts = urlsplit(url)
    try:
        with socket.create_connection((parts.hostname or "127.0.0.1", parts.port or default_port), 1.0):
            return True
    except OSError:
        return False


def amqp_answers(url: str) -> bool:
    """Whether a broker lets us log in at this URL."""

    async def login() -> bool:
        try:
            connection = await aio_pika.connect(url, timeout=LOGIN_SECONDS)
        except Exception:  # noqa: BLE001 - whatever the client raises, the answer is no
            return False
        await connection.close()
        return True

    return port_open(url, 5672) and run_apart(login())


def queues_can_be_declared(url: str) -> bool:
    """Whether the broker still makes quorum queues with safe dead-lettering, which one may lose for good."""

    async def declare() -> bool:
        arguments: dict[str, FieldValue] = {
            "x-queue-type": "quorum",
            "x-overflow": "reject-publish",
            "x-dead-letter-exchange": "",
            "x-dead-letter-strategy": "at-least-once",
        }
        try:
            async with asyncio.timeout(LOGIN_SECONDS), await aio_pika.connect(url) as connection:
                channel = await connection.channel()
                queue = await channel.declare_queue("probe", durable=True, arguments=arguments)
                await queue.delete(if_unused=False, if_empty=False)
        except Exception:  # noqa: BLE001 - whatever the client raises, the answer is no
            return False
        return True

    return amqp_answers(url) and run_apart(declare())


def database_answers(url: str) -> bool:
    """Whether a database lets us log in at this URL and create databases."""

    async def login() -> bool:
        try:
            connection = await asyncpg.connect(plain_dsn(url), timeout=LOGIN_SECONDS)
        except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
            return False
        try:
            query = "SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user"
            return bool(await connection.fetchval(query))
        finally:
            await connection.close()

    return port_open(url, 5432) and run_apart(login())


def url_answers(url: str, *, key: str | None = None) -> bool:
    """Whether this HTTP address answers 200 to a GET (credentials may be in the URL, or a bearer key)."""
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}

    async def get() -> bool:
        with contextlib.suppress(aiohttp.ClientError, TimeoutError):
            timeout = aiohttp.ClientTimeout(total=LOGIN_SECONDS)
            async with (
                aiohttp.ClientSession(timeout=timeout, headers=headers) as session,
                session.get(url) as response,
            ):
                return response.status == 200  # noqa: PLR2004 - the one good answer
        return False

    return run_apart(get())


def wait_for(answers: Callable[[], bool], *, seconds: float, alive: Callable[[], bool]) -> bool:
    """Ask until the answer is yes (True), the process is gone or the time is over (False)."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if answers():
            return True
        if not alive():
            return False
        time.sleep(0.1)
    return False


def free_port() -> int:
    """A port on loopback that nobody listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
