"""Requests to the REST API: one place for retries, refusals and answers that are none."""

from __future__ import annotations

import asyncio
import io
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import aiohttp
from pydantic import BaseModel, ValidationError

from proctor_contracts.schemas.common import Problem

from .client import PlatformRefused, PlatformUnavailable
from .sse import ServerEvent, SseParser

__all__ = ["RETRIES", "Form", "Sleep", "Transport", "backoff", "decoded", "parsed"]

Sleep = Callable[[float], Awaitable[object]]
T = TypeVar("T", bound=BaseModel)
RETRIES = 5
_LONGEST_WAIT = 30.0
_PAGE = 200
_OK, _REDIRECTS = 200, 300
_NOTHING_DONE = frozenset({429, 503})  # the API says so: the same request may be sent again
_GATEWAY = frozenset({502, 504})  # somebody between gave up: only a repeatable request may


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A multipart body: texts, and files by field as what they are called and their bytes."""

    texts: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, tuple[str, bytes]] = field(default_factory=dict)

    def encoded(self) -> aiohttp.FormData:
        """Write it for one request."""
        form = aiohttp.FormData(quote_fields=False)  # names go as UTF-8, as browsers write them
        for name, text in self.texts.items():
            form.add_field(name, text)
        for name, (filename, content) in self.files.items():
            form.add_field(name, content, filename=filename, content_type="application/octet-stream")
        return form


class Transport:
    """An open session with one server and one key."""

    def __init__(self, *, session: aiohttp.ClientSession, url: str, sleep: Sleep = asyncio.sleep) -> None:
        self._session = session
        self._url = url.rstrip("/")
        self.sleep = sleep

    async def healthy(self) -> bool:
        """Whether something that calls itself alive answers at the URL."""
        brief = aiohttp.ClientTimeout(total=2)
        try:
            async with self._session.get(f"{self._url}/healthz", timeout=brief) as reply:
                return reply.status == _OK
        except (aiohttp.ClientError, TimeoutError, OSError):
            return False

    async def stream(self, path: str, headers: Mapping[str, str]) -> AsyncIterator[ServerEvent]:
        """Open an event stream once and yield what comes until it ends or breaks."""
        # Heartbeats come every 15 s: a minute of silence is a dead connection.
        timeout = aiohttp.ClientTimeout(total=None, connect=10, sock_read=60)
        async with self._session.get(
            f"{self._url}/api{path}", headers=headers, timeout=timeout, allow_redirects=False
        ) as reply:
            if reply.status != _OK:
                problem = _problem(reply, await reply.text())
                if reply.status in _NOTHING_DONE | _GATEWAY:
                    raise aiohttp.ClientPayloadError(problem.detail)
                raise PlatformRefused(problem)
            parser = SseParser()
            async for chunk in reply.content.iter_any():
                for event in parser.feed(chunk):
                    yield event

    async def listed(self, path: str) -> AsyncIterator[dict[str, Any]]:
        """Yield every item of a list, page by page."""
        cursor: str | None = None
        while True:
            page = await self.send("GET", path, query={"take": _PAGE, "cursor": cursor})
            for item in page["data"]:
                yield item
            cursor = page.get("meta", {}).get("nextCursor")
            if cursor is None:
                return

    async def one(
        self, model: type[T], method: str, path: str, body: Any = None, *, key: str | None = None
    ) -> T:
        """Send a request and read the value in its answer's envelope."""
        return parsed(model, (await self.send(method, path, body, key=key))["data"])

    async def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> dict[str, Any]:
        """Send a request and read its answer's envelope."""
        value = decoded(await self.text(method, path, body, query=query, key=key))
        if not isinstance(value, dict) or "data" not in value:
            raise PlatformUnavailable(f"{self._url} answers without data; is this a Proctor server?")
        return value

    async def text(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> str:
        """Send a request and read its answer as text.

        Raises:
            PlatformRefused: when the API says no.
            PlatformUnavailable: when there is no answer.
        """
        return (await self.bytes(method, path, body, query=query, key=key)).decode(errors="replace")

    async def bytes(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> bytes:
        """Send JSON or a form, waiting out short outages; `key` makes a repeated request safe.

        Raises:
            PlatformRefused: when the API says no.
            PlatformUnavailable: when there is no answer.
        """
        safe = method == "GET" or key is not None
        retried = _NOTHING_DONE | _GATEWAY if safe else _NOTHING_DONE
        write, headers = _body(body)
        if key is not None:
            headers["Idempotency-Key"] = key
        for attempt in range(1, RETRIES + 1):
            try:
                async with self._session.request(
                    method,
                    f"{self._url}/api{path}",
                    data=write(),
                    params={name: str(value) for name, value in (query or {}).items() if value is not None},
                    headers=headers,
                    allow_redirects=False,  # a key must not follow a redirect to another host
                ) as reply:
                    content = await reply.read()
                    if reply.status < _REDIRECTS:
                        return content
                    problem = _problem(reply, content.decode(errors="replace"))
                    wait = _retry_after(reply.headers.get("Retry-After"), attempt)
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                if attempt == RETRIES or not (safe or isinstance(error, aiohttp.ClientConnectorError)):
                    from proctor_llm.faults import plain_words  # noqa: PLC0415 - only when there is no answer

                    raise PlatformUnavailable(f"cannot reach {self._url}: {plain_words(error)}") from error
                wait = backoff(attempt)
            else:
                if problem.status not in retried or attempt == RETRIES or wait > _LONGEST_WAIT:
                    raise PlatformRefused(problem)
            await self.sleep(wait)
        raise AssertionError("the last attempt returns or raises")


def _body(body: Any) -> tuple[Callable[[], Any], dict[str, str]]:
    """Make what writes a body as often as it is sent, and the headers that belong to it."""
    if body is None:
        return lambda: None, {}
    if isinstance(body, Form):
        return body.encoded, {}
    payload = json.dumps(body, ensure_ascii=False).encode()
    return lambda: io.BytesIO(payload), {"Content-Type": "application/json"}


def backoff(attempt: int) -> float:
    """Choose the seconds to wait before trying again: growing, bounded, scattered."""
    return min(0.2 * 2.0**attempt, 5.0) * random.uniform(0.5, 1.0)


def decoded(text: str) -> Any:
    """Read JSON, or say that this is not the API."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PlatformUnavailable("the server's answer is not JSON; is this a Proctor server?") from error


def parsed(model: type[T], value: Any) -> T:
    """Read a value of the API, or say that the versions differ."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        message = f"the server's answer is not a {model.__name__}; are command and server of one version?"
        raise PlatformUnavailable(message) from error


def _retry_after(header: str | None, attempt: int) -> float:
    try:
        return max(float(header or ""), 0.1)
    except ValueError:
        return backoff(attempt)


def _problem(reply: aiohttp.ClientResponse, text: str) -> Problem:
    try:
        return Problem.model_validate_json(text)
    except ValidationError:
        location = reply.headers.get("Location")
        detail = f"{reply.url} answers {reply.status} without saying why"
        if location:
            detail = f"{reply.url} redirects to {location}; use that address"
        return Problem(
            title="unexpected answer", status=reply.status, code=f"http_{reply.status}", detail=detail
        )
