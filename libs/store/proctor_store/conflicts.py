"""Unique constraints as an answer: which field is taken, instead of the driver's text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from sqlalchemy.exc import IntegrityError

__all__ = ["Duplicate", "Vanished", "conflicts"]


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
        text = str(error.orig).casefold()
        if "foreign key" in text:
            raise Vanished from error
        if "unique" in text:
            for known, field in fields.items():
                if known in text:
                    raise Duplicate(field) from error
        raise
