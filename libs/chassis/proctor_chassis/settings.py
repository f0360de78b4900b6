"""What a process is told by its environment: frozen values, read once, with errors that name the variable."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Self, cast
from urllib.parse import urlsplit

from proctor_contracts.topology import DEFAULT_POOL

__all__ = [
    "BusSettings",
    "DatabaseSettings",
    "EgressSettings",
    "HttpSettings",
    "LogSettings",
    "SettingsError",
    "WorkerSettings",
    "flag",
]

_POOL = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
MAX_CONCURRENCY = 1000
MAX_CONNECTIONS = 500
_TRUE, _FALSE = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off"})


class SettingsError(Exception):
    """A variable is missing or wrong; the message names it and says what it should be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BusSettings:
    """Where the broker is (None: the bus stays inside this process) and which pools have queues.

    `detailed_metrics` adds the broker client's own metrics, which cost each message a tenth of its handling.
    """

    amqp_url: str | None = None
    pools: tuple[str, ...] = ()
    detailed_metrics: bool = False

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Self:
        """Read PROCTOR_AMQP_URL, PROCTOR_POOLS (names separated by commas) and PROCTOR_BUS_METRICS."""
        return cls(
            amqp_url=_url(env, "PROCTOR_AMQP_URL", schemes=("amqp", "amqps")),
            pools=tuple(dict.fromkeys(_pool(name, "PROCTOR_POOLS") for name in _list(env, "PROCTOR_POOLS"))),
            detailed_metrics=_one_of(env, "PROCTOR_BUS_METRICS", ("basic", "detailed")) == "detailed",
        )

    def required(self) -> Self:
        """Insist on a broker, for a process that shares its work with others."""
        if self.amqp_url is None:
            raise SettingsError(
                "PROCTOR_AMQP_URL is not set; set it to the broker, such as amqp://user:password@host:5672/"
            )
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseSettings:
    """Where the database is; None means a file of this machine, which the caller chooses.

    `connections` are kept, and as many again may be opened under load. `transaction_pooler` says that a
    pooler in transaction mode stands between.
    """

    url: str | None = None
    transaction_pooler: bool = False
    connections: int = 10

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Self:
        """Read PROCTOR_DATABASE_URL, PROCTOR_TRANSACTION_POOLER and PROCTOR_DATABASE_CONNECTIONS."""
        schemes = ("postgresql", "postgres", "postgresql+asyncpg", "sqlite")
        return cls(
            url=_url(env, "PROCTOR_DATABASE_URL", schemes=schemes),
            transaction_pooler=flag(env, "PROCTOR_TRANSACTION_POOLER", default=False),
            connections=_number(env, "PROCTOR_DATABASE_CONNECTIONS", default=10, low=1, high=MAX_CONNECTIONS),
        )

    def required(self) -> Self:
        """Insist on a database, for a process that shares it with others."""
        if self.url is None:
            raise SettingsError(
                "PROCTOR_DATABASE_URL is not set; set it to the database, "
                "such as postgresql://user:password@host:5432/proctor"
            )
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """Which pool a worker serves, how much at once, and how long it may finish after it was told to stop."""

    pool: str = DEFAULT_POOL
    concurrency: int = 16
    grace_seconds: float = 150.0
    worker_id: str = field(default_factory=lambda: f"{socket.gethostname()}-{os.getpid()}")

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Self:
        """Read PROCTOR_POOL, PROCTOR_CONCURRENCY, PROCTOR_GRACE_SECONDS and PROCTOR_WORKER_ID."""
        worker_id = env.get("PROCTOR_WORKER_ID", "").strip()
        return cls(
            pool=_pool(env.get("PROCTOR_POOL", "").strip() or DEFAULT_POOL, "PROCTOR_POOL"),
            concurrency=_number(env, "PROCTOR_CONCURRENCY", default=16, low=1, high=MAX_CONCURRENCY),
            grace_seconds=_number(env, "PROCTOR_GRACE_SECONDS", default=150, low=0, high=7200),
            **({"worker_id": worker_id} if worker_id else {}),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """Where a process answers: the API its clients, a worker its probes."""

    host: str = "127.0.0.1"
    port: int = 8080

    @classmethod
    def from_env(cls, env: Mapping[str, str], *, port: int = 8080) -> Self:
        """Read PROCTOR_HTTP_HOST and PROCTOR_HTTP_PORT (0: any free port)."""
        return cls(
            host=env.get("PROCTOR_HTTP_HOST", "").strip() or "127.0.0.1",
            port=_number(env, "PROCTOR_HTTP_PORT", default=port, low=0, high=65535),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """How much is logged, and for whom."""

    format: Literal["json", "console"] = "console"
    level: Literal["debug", "info", "warning", "error"] = "info"

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Self:
        """Read PROCTOR_LOG_FORMAT and PROCTOR_LOG_LEVEL."""
        return cls(
            format=cast(
                'Literal["json", "console"]', _one_of(env, "PROCTOR_LOG_FORMAT", ("console", "json"))
            ),
            level=cast(
                'Literal["debug", "info", "warning", "error"]',
                _one_of(env, "PROCTOR_LOG_LEVEL", ("info", "debug", "warning", "error")),
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressSettings:
    """Hosts and networks that agents and handlers may be reached at, as they were typed."""

    allow: tuple[str, ...] = ()

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Self:
        """Read PROCTOR_EGRESS_ALLOW (separated by commas or blanks)."""
        return cls(allow=_list(env, "PROCTOR_EGRESS_ALLOW"))


def flag(env: Mapping[str, str], name: str, *, default: bool) -> bool:
    """Read yes or no, in any of their usual spellings.

    Raises:
        SettingsError: when it is neither.
    """
    text = env.get(name, "").strip().lower()
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    if text:
        raise SettingsError(f"{name}: {text!r} is not yes or no")
    return default


def _list(env: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(env.get(name, "").replace(",", " ").split())


def _pool(name: str, variable: str) -> str:
    if _POOL.fullmatch(name) is None:
        raise SettingsError(
            f"{variable}: {name!r} is not a pool name; use lower-case letters, digits, - and _ (at most 63)"
        )
    return name


def _number(env: Mapping[str, str], name: str, *, default: int, low: int, high: int) -> int:
    text = env.get(name, "").strip()
    if not text:
        return default
    try:
        number = int(text)
    except ValueError:
        raise SettingsError(f"{name}: {text!r} is not a whole number") from None
    if not low <= number <= high:
        raise SettingsError(f"{name}: {number} is not between {low} and {high}")
    return number


def _one_of(env: Mapping[str, str], name: str, values: tuple[str, ...]) -> str:
    """Read a word; the first of `values` is the default."""
    text = env.get(name, "").strip().lower()
    if text and text not in values:
        raise SettingsError(f"{name}: {text!r} is not one of {', '.join(values)}")
    return text or values[0]


def _url(env: Mapping[str, str], name: str, *, schemes: tuple[str, ...]) -> str | None:
    text = env.get(name, "").strip()
    if not text:
        return None
    # The value is never shown: it holds a password.
    if urlsplit(text).scheme not in schemes:
        raise SettingsError(f"{name}: the URL must begin with {schemes[0]}://")
    return text
