"""Reading what a peer sent: JSON that may hold anything, turned into JSON that can be stored."""

from __future__ import annotations

import json
from math import inf, isfinite

import orjson

from proctor_contracts.base import Json, nested_deeper

__all__ = ["MAX_DEPTH", "clean", "clean_text", "count", "excerpt", "loads", "object_or_none"]

MAX_DEPTH = 100
"""Levels of nesting that are read; what goes deeper cannot be written into a message or a row again."""

_REPLACEMENT = "\ufffd"
_LONGEST_INTEGER = 300
_MOST_TOKENS = 1_000_000_000


def clean_text(text: str) -> str:
    """Replace NUL and lone surrogates, which no database stores, by U+FFFD."""
    if "\x00" in text:
        text = text.replace("\x00", _REPLACEMENT)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return "".join(_REPLACEMENT if "\ud800" <= one <= "\udfff" else one for one in text)
    return text


def clean(value: Json) -> Json:
    """Make a JSON value storable: texts cleaned, non-finite numbers to null."""
    match value:
        case str():
            return clean_text(value)
        case float():
            return value if isfinite(value) else None
        case dict():
            return {clean_text(str(key)): clean(item) for key, item in value.items()}
        case list():
            return [clean(item) for item in value]
        case _:
            return value


def loads(raw: bytes, *, strict: bool = False) -> Json:
    """Read JSON leniently where peers are sloppy (NaN, Infinity, lone surrogates) and make it storable.

    `strict` refuses the numbers that are no JSON (NaN, Infinity): read as null they would say something else.

    Raises:
        ValueError: when it is not JSON, or nested too deep to be read.
    """
    try:
        try:
            value, sloppy = orjson.loads(raw), False
        except orjson.JSONDecodeError:
            constant = _refused if strict else float
            text = raw.decode("utf-8-sig", "replace")
            value, sloppy = json.loads(text, parse_int=_integer, parse_constant=constant), True
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH and nested_deeper(value, MAX_DEPTH):
        raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels")
    # Only an escape can bring a NUL into strict JSON; without one there is nothing to clean.
    return clean(value) if sloppy or b"\\u0000" in raw else value


def count(value: Json) -> int | None:
    """Read a number of tokens; None for what cannot be one: no number, negative, or beyond a billion."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS:
        return int(value)
    return None


def object_or_none(raw: str) -> dict[str, Json] | None:
    """Read a JSON object from text; None for anything else. An empty text is an empty object."""
    if not raw.strip():
        return {}
    try:
        value = loads(raw.encode("utf-8", "replace"))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def excerpt(raw: bytes | str, limit: int = 200) -> str:
    """Show the beginning of a reply on one line."""
    text = raw[: limit * 4].decode("utf-8", "replace") if isinstance(raw, bytes) else raw[: limit * 4]
    line = " ".join(clean_text(text).split())
    return repr(line if len(line) <= limit else line[:limit] + "…")


def _refused(constant: str) -> Json:
    raise ValueError(f"{constant} is not a JSON number")


def _integer(digits: str) -> int | float:
    # Beyond 64 bits a number is stored as a double, as every other reader of JSON does.
    value = int(digits) if len(digits) <= _LONGEST_INTEGER else inf
    return value if -(2**63) <= value < 2**64 else float(value)
