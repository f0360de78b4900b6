"""Logs as events with fields: ids are bound once, secrets never get in, people and machines can read them.

Code logs with the standard library: `log.info("case.played", extra={"seconds": 3})`. What is bound by
`bind` is added to every event of the same task. structlog renders them for people when it is installed.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, TextIO

from typing_extensions import override

from .settings import LogSettings

__all__ = ["Redact", "bind", "bound", "configure"]

Redact = Callable[[Any], Any]
"""Takes an event's fields (JSON values) and gives them back without secrets."""

_bound: ContextVar[Mapping[str, str]] = ContextVar("proctor_log_fields", default={})  # noqa: B039 - never changed
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_QUIET = {
    "aio_pika": logging.CRITICAL,
    "aiormq": logging.CRITICAL,
    "aiohttp.access": logging.WARNING,
    "httpx": logging.WARNING,
    "httpx2": logging.WARNING,
    "httpcore": logging.WARNING,
    "httpcore2": logging.WARNING,
}
"""Libraries that say too much; the broker's client writes tracebacks about every lost connection, which the
bus reports itself in a line."""


@contextmanager
def bind(**ids: object) -> Iterator[None]:
    """Add ids (run, case, job, request) to every event logged inside; None is left out."""
    more = {name: str(value) for name, value in ids.items() if value is not None}
    token = _bound.set({**_bound.get(), **more})
    try:
        yield
    finally:
        _bound.reset(token)


def bound() -> Mapping[str, str]:
    """What is bound here."""
    return _bound.get()


def configure(
    settings: LogSettings,
    *,
    redact: Redact | None = None,
    stream: TextIO | None = None,
    service: str | None = None,
) -> None:
    """Set the root logger up: one handler, one event a line, every event through `redact`."""
    handler = logging.StreamHandler(stream or sys.stderr)
    event = _Event(redact=redact or _as_it_is, service=service)
    handler.setFormatter(_Formatter(event, _renderer(settings)))
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(settings.level.upper())
    for name, level in _QUIET.items():
        logging.getLogger(name).setLevel(level if root.level > logging.DEBUG else logging.NOTSET)


class _Event:
    """Turns a record into the fields of its event."""

    def __init__(self, *, redact: Redact, service: str | None) -> None:
        self._redact = redact
        self._service = service

    def fields(self, record: logging.LogRecord) -> dict[str, Any]:
        event: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            "logger": record.name,
        }
        if self._service is not None:
            event["service"] = self._service
        event |= _bound.get()
        event |= {name: _plain(value) for name, value in vars(record).items() if name not in _STANDARD}
        if record.exc_info:
            event["exception"] = logging.Formatter().formatException(record.exc_info)
        redacted: dict[str, Any] = self._redact(event)
        return redacted


class _Formatter(logging.Formatter):
    """Renders the fields of an event, so that secrets are out before anything is shown."""

    def __init__(self, event: _Event, render: Callable[[dict[str, Any]], str]) -> None:
        super().__init__()
        self._event = event
        self._render = render

    @override
    def format(self, record: logging.LogRecord) -> str:
        return self._render(self._event.fields(record))


def _renderer(settings: LogSettings) -> Callable[[dict[str, Any]], str]:
    if settings.format == "json":
        return lambda fields: json.dumps(fields, ensure_ascii=False)
    try:
        from structlog.dev import ConsoleRenderer  # noqa: PLC0415 - the embedded runtime does without it
    except ImportError:
        return _for_people
    render = ConsoleRenderer(timestamp_key="at", colors=sys.stderr.isatty())
    return lambda fields: str(render(None, "", fields))


def _for_people(fields: dict[str, Any]) -> str:
    exception = fields.pop("exception", None)
    head = f"{fields.pop('at')} {fields.pop('level'):<7} {fields.pop('event')}"
    rest = " ".join(f"{name}={value!r}" for name, value in fields.items())
    return "\n".join(part for part in (f"{head} {rest}".rstrip(), exception) if part)


def _plain(value: object) -> Any:
    """Make a field a JSON value, so that `redact` can look inside."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case dict():
            return {str(name): _plain(item) for name, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_plain(item) for item in value]
        case _:
            return str(value)


def _as_it_is(value: Any) -> Any:
    return value
