"""Column types that mean the same on PostgreSQL and SQLite."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson
from sqlalchemy import BigInteger, DateTime, Dialect, Integer, Text, Uuid
from sqlalchemy.types import TypeDecorator
from typing_extensions import override

__all__ = ["BigId", "Guid", "JsonText", "Moment", "Written"]

Guid = Uuid
"""Native on PostgreSQL, 32 hex characters on SQLite; both order by time for UUIDv7."""

BigId = BigInteger().with_variant(Integer, "sqlite")
"""An autoincrementing key; SQLite only autoincrements INTEGER."""


class Moment(TypeDecorator[datetime]):
    """An aware UTC time: `timestamptz` on PostgreSQL, naive UTC text on SQLite, always aware in Python."""

    impl = DateTime(timezone=True)
    cache_ok = True

    @override
    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    @override
    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None or value.tzinfo is not None:
            return value
        return value.replace(tzinfo=UTC)


class Written(str):
    """A JSON document already written, stored as it stands instead of being parsed and written again."""

    __slots__ = ()


class JsonText(TypeDecorator[Any]):
    """A JSON document kept as text: written once, read whole, never queried into."""

    impl = Text
    cache_ok = True

    @override
    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        if value is None or isinstance(value, Written):
            return value
        return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()

    @override
    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else orjson.loads(value)
