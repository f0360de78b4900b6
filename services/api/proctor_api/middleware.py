"""What happens to every request before and after the routes: an id, a size limit, an answer to surprises."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.requests import ClientDisconnect

from proctor_chassis.logging import bind
from proctor_contracts.ids import new_id

from .errors import ApiError, too_large
from .responses import problem_response

__all__ = ["BODY_LIMIT", "UPLOADS", "UPLOAD_LIMIT", "BodyLimit", "Heads", "RequestId", "Surprises"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

BODY_LIMIT = 2_000_000
UPLOAD_LIMIT = 5 * 1024 * 1024 + 512 * 1024  # a file of 5 MiB, and what a form puts around it
UPLOADS = frozenset({"/api/testing/cases/import"})
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:-]{1,128}")
_log = logging.getLogger(__name__)


class RequestId:
    """Takes `X-Request-Id` or makes one, returns it, and binds it to every log line of the request."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
        request_id = given.decode() if _REQUEST_ID.fullmatch(given) else str(new_id())
        scope.setdefault("state", {})["request_id"] = request_id

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", request_id.encode())]
            await send(message)

        with bind(request=request_id):
            await self._app(scope, receive, sending)


class Heads:
    """Answers HEAD as GET would be, without the body; an endless stream has no such answer."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["method"] != "HEAD" or scope["path"].endswith("/events"):
            await self._app(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        await self._app({**scope, "method": "GET"}, receive, sending)


class Surprises:
    """Answers an unexpected exception with a 500 that shows nothing of the inside, and logs it whole."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except ClientDisconnect:
            # Who hung up in the middle of a request is no fault of ours, and reads no answer.
            _log.debug("client_gone", extra={"method": scope["method"], "path": scope["path"]})
        except Exception:
            _log.exception("request_failed", extra={"method": scope["method"], "path": scope["path"]})
            if started:
                raise
            error = ApiError(
                500, "internal_error", "something went wrong here; the log knows it by the request id"
            )
            await problem_response(error, scope["state"].get("request_id"))(scope, receive, send)


class BodyLimit:
    """Stops reading a body beyond the limit, whether its length was announced or not."""

    def __init__(self, app: App, *, limit: int = BODY_LIMIT, upload_limit: int = UPLOAD_LIMIT) -> None:
        self._app = app
        self._limit = limit
        self._upload_limit = upload_limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._upload_limit if scope["path"] in UPLOADS else self._limit
        announced = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if announced.isdigit() and int(announced[:20]) > limit:
            await problem_response(_refusal(limit), scope["state"].get("request_id"))(scope, receive, send)
            return
        read = 0

        async def receiving() -> Message:
            nonlocal read
            message = await receive()
            if message["type"] == "http.request":
                read += len(message.get("body", b""))
                if read > limit:
                    raise _refusal(limit)
            return message

        await self._app(scope, receiving, send)


def _refusal(limit: int) -> ApiError:
    return too_large("", f"the body is larger than {limit:,} bytes")
