"""Calls a handler over HTTP; whatever goes wrong is a failure the model is told of, never an exception."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from typing import Protocol, assert_never

import aiohttp
import orjson

from proctor_chassis.egress.door import OutgoingDoor
from proctor_chassis.egress.fetch import Answer, AnswerTooLargeError, fetch
from proctor_contracts.agents import HandlerSnapshot
from proctor_contracts.base import Json
from proctor_contracts.egress import EgressRefused
from proctor_contracts.endpoint import SecretRef, checked_headers
from proctor_llm.door import SecretSource
from proctor_llm.replies import clean, clean_text, excerpt, loads

from .outcome import Failure, Outcome
from .urls import CORE_URL, handler_url, with_query

__all__ = ["MAX_ANSWER_BYTES", "HandlerCaller", "Webhooks", "read_answer"]

MAX_ANSWER_BYTES = 256 * 1024
"""What a handler may answer: more would fill a model's context and a transcript with one call."""
CALL_SECONDS = 30.0

_DEFAULT_HEADERS = (("Content-Type", "application/json"), ("Accept", "application/json"))
_MISSING_HANDLER = "the tool is not available at the moment"


class HandlerCaller(Protocol):
    """Asks a handler."""

    async def call(
        self, handler: HandlerSnapshot, args: Mapping[str, Json], *, integration: str, deadline: float
    ) -> Outcome:
        """Call it; `deadline` is the running loop's time."""
        ...


class Webhooks:
    """Handlers behind the egress door; holds no state of a conversation, so all of them share it."""

    def __init__(
        self,
        *,
        door: OutgoingDoor,
        secrets: SecretSource,
        core_url: str = CORE_URL,
        seconds: float = CALL_SECONDS,
        limit: int = MAX_ANSWER_BYTES,
    ) -> None:
        """Wire it; `seconds` bounds one whole call, `limit` the bytes of its answer."""
        self._door = door
        self._secrets = secrets
        self._core_url = core_url
        self._seconds = seconds
        self._limit = limit

    async def call(
        self, handler: HandlerSnapshot, args: Mapping[str, Json], *, integration: str, deadline: float
    ) -> Outcome:
        """Call a handler with the model's arguments: a JSON body, with GET a query."""
        try:
            return read_answer(await self._send(handler, args, integration=integration, deadline=deadline))
        except (EgressRefused, _SecretMissingError, AnswerTooLargeError) as error:
            return self._refused(error)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return self._broken(error)

    def _refused(self, error: EgressRefused | _SecretMissingError | AnswerTooLargeError) -> Outcome:
        match error:
            case EgressRefused():
                return _unreachable("refused_by_egress", error.reason)
            case _SecretMissingError():
                return _unreachable("missing_secret", str(error))
            case AnswerTooLargeError():
                message = f"the handler sent more than {self._limit // 1024} KiB; the rest was not read"
                return _failed("answer_too_large", message, "the tool's answer is too large")
            case _:
                assert_never(error)

    def _broken(self, error: aiohttp.ClientError | OSError | ValueError) -> Outcome:
        """Name what broke; the more special classes come first, since they share their bases."""
        detail = clean_text(str(error)) or type(error).__name__
        match error:
            case aiohttp.ClientSSLError():
                outcome = _unreachable("tls_failed", detail)
            case aiohttp.ClientConnectorError() | aiohttp.ConnectionTimeoutError():
                outcome = _unreachable("unreachable", detail)
            case TimeoutError():
                limit = f"{self._seconds:g} s or what was left of the case's time"
                said = "the tool did not answer in time"
                outcome = _failed("timeout", f"no complete answer within {limit}", said)
            case aiohttp.InvalidURL():
                outcome = _unreachable("bad_url", f"the handler's url cannot be read: {detail}")
            case aiohttp.ClientError() | OSError():
                outcome = _failed("connection_broken", detail, "the tool broke off its answer")
            case ValueError():
                # Header values with line breaks, above all.
                outcome = _unreachable("bad_request", f"the request cannot be sent: {detail}")
            case _:
                assert_never(error)
        return outcome

    async def _send(
        self, handler: HandlerSnapshot, args: Mapping[str, Json], *, integration: str, deadline: float
    ) -> Answer:
        url = handler_url(handler.url, core_url=self._core_url, integration=integration, handler=handler.name)
        data = None
        if handler.method == "GET":
            url = with_query(url, args)
        else:
            data = _body(args)
        return await fetch(
            self._door,
            handler.method,
            url,
            headers=self._headers(handler, with_body=data is not None),
            data=data,
            seconds=max(0.0, min(self._seconds, deadline - asyncio.get_running_loop().time())),
            limit=self._limit,
        )

    def _headers(self, handler: HandlerSnapshot, *, with_body: bool) -> dict[str, str]:
        given = {name.lower() for name in handler.headers}
        headers = {
            name: value
            for name, value in (_DEFAULT_HEADERS if with_body else _DEFAULT_HEADERS[1:])
            if name.lower() not in given
        }
        own = {name: self._header(name, value) for name, value in handler.headers.items()}
        checked_headers(own)
        return headers | own

    def _header(self, name: str, value: Json) -> str:
        match value:
            case str():
                return value
            case SecretRef(secret=secret) | {"secret": str(secret)}:
                found = self._secrets.find(secret)
                if found is None:
                    raise _SecretMissingError(f"header {name}: {self._secrets.how_to_set(secret)}")
                return found
            case _:
                raise ValueError(f"header {name} is neither a text nor a secret")


def read_answer(answer: Answer) -> Outcome:
    """Read what a handler answered; only JSON and plain text with a good status are results."""
    status = answer.status
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return _result(answer)
    if status < HTTPStatus.BAD_REQUEST:
        return _failed(
            "redirect",
            f"the handler answered {status}, and redirects are not followed: set its url to where it leads",
            "the tool answered with a redirect",
        )
    body = answer.body
    try:
        said = loads(body, strict=True) if body.strip() else None
    except ValueError:
        said = None if _is_html(answer) else clean_text(body[:2_000].decode("utf-8", "replace"))
    shown = f": {excerpt(body)}" if body else ""
    failure = Failure(
        f"http_{status}", f"the handler answered {status}{shown}", f"the tool answered {status}"
    )
    return Outcome(result=said, failure=failure, called=True)


def _result(answer: Answer) -> Outcome:
    body = answer.body
    if not body.strip():
        return Outcome(called=True)
    try:
        return Outcome(result=loads(body, strict=True), called=True)
    except ValueError as error:
        kind = _content_type(answer)
        if kind in {"", "text/plain"} and not _is_html(answer):
            return Outcome(result=clean_text(body.decode("utf-8", "replace")), called=True)
        message = f"the handler answered {kind or 'something'} that is not JSON ({error}): {excerpt(body)}"
        return _failed("not_json", message, "the tool's answer cannot be read")


def _content_type(answer: Answer) -> str:
    for name, value in answer.headers.items():
        if name.lower() == "content-type":
            return value.partition(";")[0].strip().lower()
    return ""


def _is_html(answer: Answer) -> bool:
    return _content_type(answer) == "text/html" or answer.body.lstrip()[:1] == b"<"


def _body(args: Mapping[str, Json]) -> bytes:
    try:
        return orjson.dumps(args)
    except TypeError:
        # A lone surrogate, which recorded replies may hold.
        return orjson.dumps(clean(dict(args)))


class _SecretMissingError(Exception):
    """A header names a secret that nothing sets."""


def _failed(code: str, message: str, said: str) -> Outcome:
    return Outcome(failure=Failure(code, message, said), called=True)


def _unreachable(code: str, message: str) -> Outcome:
    return Outcome(failure=Failure(code, message, _MISSING_HANDLER, unreachable=True))
