"""Text search that gives the same answer on every database and in every script."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

from sqlalchemy import ColumnElement, cast, column, exists, func, select
from sqlalchemy.orm import InstrumentedAttribute

__all__ = ["case_search_text", "exact", "fold", "has_tag", "like_pattern", "text_contains"]

_ESCAPE = "\\"


def fold(text: str) -> str:
    """Bring a text into the form that is searched: NFKC, casefolded, runs of white space as one space."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(folded.split())


def exact(text: str) -> str:
    """Bring a text into the form that is compared exactly: NFC, trimmed."""
    return unicodedata.normalize("NFC", text).strip()


def case_search_text(
    *, ref: str | None, name: str, category: str, tags: Iterable[str], messages: Iterable[str]
) -> str:
    """Everything of a case that a search looks into, one part a line."""
    return "\n".join(fold(part) for part in (ref or "", name, category, *tags, *messages) if part)


def like_pattern(query: str) -> str:
    """Write a folded query as a LIKE pattern in which `%`, `_` and the escape are literals."""
    escaped = fold(query)
    for special in (_ESCAPE, "%", "_"):
        escaped = escaped.replace(special, _ESCAPE + special)
    return f"%{escaped}%"


def text_contains(searched: InstrumentedAttribute[str], query: str) -> ColumnElement[bool]:
    """Whether a `search_text` column holds a query, whatever the collation of the database."""
    return searched.like(like_pattern(query), escape=_ESCAPE)


def has_tag(tags: InstrumentedAttribute[Any], tag: str, *, dialect: str) -> ColumnElement[bool]:
    """Whether a JSON list of tags holds exactly this one."""
    if dialect == "postgresql":
        from sqlalchemy.dialects.postgresql import JSONB  # noqa: PLC0415 - the embedded database does without

        return func.jsonb_exists(cast(tags, JSONB), tag)
    return exists(
        select(1).select_from(func.json_each(tags).table_valued("value")).where(column("value") == tag)
    )
