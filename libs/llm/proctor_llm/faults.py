"""Naming what went wrong on the wire: statuses, error types and connection faults."""

from __future__ import annotations

import errno
import socket
from collections.abc import Mapping
from datetime import datetime
from http import HTTPStatus

from proctor_contracts.base import Json
from proctor_contracts.enums import Blame

from .errors import LlmError, LlmErrorCode
from .replies import clean_text
from .retry import parse_retry_after

__all__ = ["BUSY_TYPES", "connection_fault", "plain_words", "provider_fault", "too_large"]

BUSY_TYPES: Mapping[str, LlmErrorCode] = {
    "overloaded_error": LlmErrorCode.OVERLOADED,
    "rate_limit_error": LlmErrorCode.RATE_LIMITED,
    "rate_limit_exceeded": LlmErrorCode.RATE_LIMITED,
    "api_error": LlmErrorCode.PROVIDER_UNAVAILABLE,
    "server_error": LlmErrorCode.PROVIDER_UNAVAILABLE,
    "timeout_error": LlmErrorCode.PROVIDER_UNAVAILABLE,
}
"""Error types that pass by themselves, whatever the HTTP status says."""

_VAGUE_TYPES = frozenset({"api_error", "server_error", "timeout_error"})
"""Types that say no more than that something failed; a status of 4xx says more."""

_FINAL_TYPES: Mapping[str, LlmErrorCode] = {
    "authentication_error": LlmErrorCode.AUTH,
    "permission_error": LlmErrorCode.AUTH,
    "invalid_request_error": LlmErrorCode.BAD_REQUEST,
    "not_found_error": LlmErrorCode.BAD_REQUEST,
    "insufficient_quota": LlmErrorCode.AUTH,
}


def provider_fault(
    *, provider: str, key_name: str, status: int, body: Json, retry_after: str | None, now: datetime
) -> LlmError:
    """Classify an error of a model's API by its type first, then by its status (200 inside a stream)."""
    kind, said = _error_of(body)
    refused = HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.INTERNAL_SERVER_ERROR
    busy = None if refused and kind in _VAGUE_TYPES else BUSY_TYPES.get(kind)
    code = _FINAL_TYPES.get(kind) or busy or _by_status(status)
    if kind == "invalid_request_error" and status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        code = LlmErrorCode.AUTH
    named = (
        f"{provider} answered {status}"
        if status >= HTTPStatus.MULTIPLE_CHOICES
        else f"{provider} broke off its reply"
    )
    if kind:
        named += f" ({kind})"
    message = f"{named}: {said}" if said else named
    if code is LlmErrorCode.AUTH and kind != "insufficient_quota":
        message += f"; check {key_name}"
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        message += "; redirects are not followed, so set its base URL to where it leads"
    final = code in {LlmErrorCode.AUTH, LlmErrorCode.BAD_REQUEST}
    return LlmError(
        code,
        message,
        blame=Blame.INFRASTRUCTURE if final else Blame.PROVIDER,
        retryable=not final,
        retry_after=parse_retry_after(retry_after, now=now),
    )


def connection_fault(peer: str, error: BaseException, *, blame: Blame) -> LlmError:
    """Name a connection that could not be made or broke; it may well work the next time."""
    return LlmError(
        LlmErrorCode.PROVIDER_UNAVAILABLE,
        f"cannot reach {peer}: {plain_words(error)}",
        blame=blame,
        retryable=True,
    )


def plain_words(error: BaseException) -> str:
    """Say why a connection could not be made, in words where the system has only a number."""
    cause = getattr(error, "os_error", error)
    host, port = getattr(error, "host", None), getattr(error, "port", None)
    place = f"{host}:{port}" if host and port else "that address"
    if isinstance(cause, socket.gaierror):
        return f"the name {host or 'in its address'} is not known here (check the spelling, or the network)"
    match getattr(cause, "errno", None):
        case errno.ECONNREFUSED:
            return f"nothing listens at {place} (connection refused); is it running?"
        case errno.EHOSTUNREACH | errno.ENETUNREACH:
            return f"no way leads to {place} from here (no route)"
        case errno.ECONNRESET | errno.EPIPE:
            return f"{place} closed the connection before it had answered"
        case _:
            return clean_text(str(error)) or type(error).__name__


def too_large(peer: str, limit: int, *, blame: Blame) -> LlmError:
    """Name a reply that is longer than is read."""
    return LlmError(
        LlmErrorCode.RESPONSE_TOO_LARGE,
        f"{peer} sent more than {limit // 1024} KiB; the rest was not read",
        blame=blame,
    )


def _by_status(status: int) -> LlmErrorCode:
    match status:
        case HTTPStatus.TOO_MANY_REQUESTS:
            return LlmErrorCode.RATE_LIMITED
        case 529 | HTTPStatus.SERVICE_UNAVAILABLE:
            return LlmErrorCode.OVERLOADED
        case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN:
            return LlmErrorCode.AUTH
        case HTTPStatus.REQUEST_TIMEOUT:
            return LlmErrorCode.PROVIDER_UNAVAILABLE
        case _ if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.INTERNAL_SERVER_ERROR:
            return LlmErrorCode.BAD_REQUEST
        case _:
            return LlmErrorCode.PROVIDER_UNAVAILABLE


def _error_of(body: Json) -> tuple[str, str]:
    """Take type and message out of an error body: Anthropic's and OpenAI's are nested alike."""
    error = body.get("error", body) if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return "", clean_text(error if isinstance(error, str) else body if isinstance(body, str) else "")[
            :300
        ]
    kind, code, message = error.get("type"), error.get("code"), error.get("message")
    for one in (code, kind):
        if isinstance(one, str) and (one in BUSY_TYPES or one in _FINAL_TYPES):
            kind = one
            break
    return kind if isinstance(kind, str) else "", clean_text(message)[:300] if isinstance(
        message, str
    ) else ""
