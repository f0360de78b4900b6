"""Unique constraints as an answer: which field is taken, instead of the driver's text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from sqlalchemy.exc import IntegrityError

__all__ = ["Duplicate", "Vanished", "conflicts"]

_FOREIGN_KEY = "23503"
_UNIQUE = "23505"


class Duplicate(Exception):
    """A value that must be unique is taken; `field` names it as the API does."""

    code = "duplicate"

    def __init__(self, field: str) -> None:
        super().__init__(f"{field} is taken")
        self.field = field


class Vanished(Exception):
    """The row that a new one belongs to was deleted meanwhile."""

    code = "not_found"


@contextmanager
def conflicts(fields: Mapping[str, str]) -> Iterator[None]:
    """Translate a broken constraint; `fields` maps a column that its text mentions to the API's field.

    Raises:
        Duplicate: when a unique constraint is broken.
        Vanished: when a foreign key leads nowhere.
    """
    try:
        yield
    except IntegrityError as error:
        # PostgreSQL's text quotes what the user typed, so its class of error decides before any word does.
        state = getattr(error.orig, "sqlstate", None)
        text = str(error.orig).partition("DETAIL")[0].casefold()
        if state == _FOREIGN_KEY or (state is None and "foreign key" in text):
            raise Vanished from error
        for known, field in fields.items():
            if known in text and (state == _UNIQUE or (state is None and "unique" in text)):
                raise Duplicate(field) from error
        raise
