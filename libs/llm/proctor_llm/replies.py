"""Reading what a peer sent: JSON that may hold anything, turned into JSON that can be stored."""

from __future__ import annotations

import json
from math import inf, isfinite

import orjson

from proctor_contracts.base import Json

__all__ = ["MAX_DEPTH", "clean", "clean_text", "excerpt", "loads", "object_or_none"]

MAX_DEPTH = 100
"""Levels of nesting that are read; messages and databases have their own limits not far above."""

_REPLACEMENT = "\ufffd"
_LONGEST_INTEGER = 300


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
            value = orjson.loads(raw)
            # Only an escape can bring a NUL into strict JSON; without one there is nothing to clean.
            dirty = b"\\u0000" in raw
        except orjson.JSONDecodeError:
            text = raw.decode("utf-8-sig", "replace")
            constant = _refused if strict else float
            value = json.loads(text, parse_int=_integer, parse_constant=constant)
            dirty = True
    except RecursionError:
        raise ValueError("the JSON is nested too deep") from None
    # Nearly every reply has too few brackets to be deep, which counting them shows at once.
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH and _deeper(value, MAX_DEPTH):
        raise ValueError(f"the JSON is nested deeper than {MAX_DEPTH} levels")
    return clean(value) if dirty else value


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


def _deeper(value: Json, levels: int) -> bool:
    level = [value]
    for _ in range(levels + 1):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return False
    return True


def _refused(constant: str) -> Json:
    raise ValueError(f"{constant} is not a JSON number")


def _integer(digits: str) -> int | float:
    # Beyond 64 bits a number is stored as a double, as every other reader of JSON does.
    value = int(digits) if len(digits) <= _LONGEST_INTEGER else inf
    return value if -(2**63) <= value < 2**64 else float(value)
