"""What the API answers when it cannot do what was asked; nothing here knows HTTP frameworks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from proctor_contracts.schemas.common import FieldProblem

__all__ = [
    "ApiError",
    "bad_request",
    "conflict",
    "forbidden",
    "not_available_yet",
    "not_found",
    "payment_required",
    "summed_up",
    "too_large",
    "too_many",
    "unauthorized",
    "unavailable",
]


class ApiError(Exception):
    """An answer that is not the one hoped for: a stable code, what happened, and what to do about it."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        errors: Sequence[FieldProblem] = (),
        retry_after: int | None = None,
    ) -> None:
        super().__init__(f"{status} {code}: {detail}")
        self.status = status
        self.code = code
        self.detail = detail
        self.errors = tuple(errors)
        self.retry_after = retry_after


def bad_request(
    errors: Iterable[FieldProblem] = (), *, detail: str | None = None, code: str = "invalid"
) -> ApiError:
    """400: some fields are wrong; `errors` name them."""
    found = tuple(errors)
    return ApiError(400, code, detail or summed_up(found), found)


def unauthorized(detail: str) -> ApiError:
    """401: no key, or one that is unknown or revoked."""
    return ApiError(401, "unauthorized", detail)


def payment_required(detail: str) -> ApiError:
    """402: the account's balance is used up."""
    return ApiError(402, "balance_exhausted", detail)


def forbidden(detail: str) -> ApiError:
    """403: the key is good, but not for this."""
    return ApiError(403, "forbidden", detail)


def not_found(what: str) -> ApiError:
    """404: there is no such row in this account; another account's rows look the same."""
    return ApiError(404, "not_found", f"there is no such {what} in this account")


def conflict(
    detail: str, errors: Iterable[FieldProblem] = (), *, field: str | None = None, code: str = "duplicate"
) -> ApiError:
    """409: it contradicts what is there; `field` or `errors` name the fields."""
    found = tuple(errors) or (() if field is None else (FieldProblem(path=field, message=detail, code=code),))
    return ApiError(409, code, detail, found)


def too_large(field: str, detail: str) -> ApiError:
    """413: a field or the body is beyond its limit."""
    return ApiError(413, "too_large", detail, (FieldProblem(path=field, message=detail, code="too_large"),))


def too_many(detail: str, *, retry_after: int) -> ApiError:
    """429: a quota is used up for now."""
    return ApiError(429, "too_many_requests", detail, retry_after=retry_after)


def unavailable(detail: str, *, retry_after: int = 2, code: str = "database_unavailable") -> ApiError:
    """503: something this needs is away; nothing was written."""
    return ApiError(503, code, detail, retry_after=retry_after)


def not_available_yet(field: str, detail: str | None = None) -> ApiError:
    """400: what the field asks for comes with a later release."""
    message = detail or f"{field} is not available yet"
    return ApiError(
        400,
        "not_available_yet",
        message,
        (FieldProblem(path=field, message=message, code="not_available_yet"),),
    )


def summed_up(errors: Sequence[FieldProblem]) -> str:
    """Say in one line what the first wrong field is and how many more there are."""
    if not errors:
        return "the request cannot be understood"
    first = f"{errors[0].path}: {errors[0].message}" if errors[0].path else errors[0].message
    more = len(errors) - 1
    return f"{first} (and {more} more)" if more else first
