"""Pages of lists: newest first by id, continued by an opaque cursor or by `skip`."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import UUID

__all__ = [
    "DEFAULT_TAKE",
    "MAX_SKIP",
    "MAX_TAKE",
    "BadPage",
    "Page",
    "Rows",
    "cut",
    "read_cursor",
    "write_cursor",
]

T = TypeVar("T")

MAX_TAKE = 200
DEFAULT_TAKE = 50
MAX_SKIP = 2**31 - 1


class BadPage(ValueError):
    """A page that cannot be asked for; `field` is the query parameter at fault."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field} {message}")
        self.field = field
        self.message = message


@dataclass(frozen=True, slots=True)
class Page:
    """Which part of a list to read: at most `take` rows, after `skip` rows or after the row `cursor`."""

    take: int = DEFAULT_TAKE
    skip: int = 0
    cursor: UUID | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.take <= MAX_TAKE:
            raise BadPage("take", f"should be a whole number from 1 to {MAX_TAKE}")
        if not 0 <= self.skip <= MAX_SKIP:
            raise BadPage("skip", f"should be a whole number from 0 to {MAX_SKIP}")
        if self.cursor is not None and self.skip:
            raise BadPage("cursor", "cannot be combined with skip; give one of them")


@dataclass(frozen=True, slots=True)
class Rows(Generic[T]):
    """One page of rows with the size of the whole list; `next_cursor` is None on the last page."""

    items: tuple[T, ...]
    total: int
    next_cursor: str | None = None


def write_cursor(row: UUID) -> str:
    """Name the row after which the next page starts."""
    return urlsafe_b64encode(row.bytes).decode().rstrip("=")


def read_cursor(text: str) -> UUID:
    """Read what `write_cursor` wrote.

    Raises:
        BadPage: when it is no cursor of ours.
    """
    try:
        raw = urlsafe_b64decode(text.encode("ascii") + b"==")
        found = UUID(bytes=raw)
    except (Base64Error, ValueError):
        found = None
    if found is None or write_cursor(found) != text:
        raise BadPage("cursor", "is not one that a list gave; take it from meta.nextCursor as it stands")
    return found


def cut(found: Sequence[T], page: Page) -> tuple[Sequence[T], bool]:
    """Cut a result of `take + 1` rows to the page, and say whether more follow."""
    return found[: page.take], len(found) > page.take
