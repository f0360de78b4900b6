"""Envelopes, pages and problems."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Generic, TypeVar

from pydantic import Field, PlainSerializer

from proctor_contracts.base import Wire

__all__ = ["Data", "FieldProblem", "Listing", "Meta", "Problem", "Timestamp", "Warning_"]

T = TypeVar("T")


def _rfc3339(value: datetime) -> str:
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


Timestamp = Annotated[datetime, PlainSerializer(_rfc3339, return_type=str, when_used="json")]
"""An aware UTC time, written as RFC 3339 with milliseconds and Z."""


class Data(Wire, Generic[T]):
    """The success envelope."""

    data: T


class Meta(Wire):
    """Where a page stands in its list; `next_cursor` is null on the last page."""

    total: int
    take: int
    skip: int = 0
    next_cursor: str | None = None


class Listing(Wire, Generic[T]):
    """The success envelope of a list."""

    data: tuple[T, ...]
    meta: Meta


class FieldProblem(Wire):
    """What is wrong with one field, by its path (`assertions.2.pattern`)."""

    path: str
    message: str
    code: str | None = None


class Warning_(FieldProblem):  # noqa: N801 - Warning is a builtin
    """Something that works but probably not as meant."""


class Problem(Wire):
    """RFC 9457 problem details; `code` is stable, `detail` says what happened and what to do."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str
    errors: tuple[FieldProblem, ...] = Field(default=())
    request_id: str | None = None
