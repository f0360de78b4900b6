"""JSON as JavaScript prints it, and paths into it."""

from __future__ import annotations

import json
import math

from proctor_contracts.base import Json

from .text import nfc

__all__ = ["ABSENT", "canonical_json", "js_number", "same_json", "value_at"]

ABSENT = object()
"""What a path leads to when there is nothing there; JSON null is None."""

_MAX_PLAIN_EXPONENT = 21
_MIN_PLAIN_EXPONENT = -6


def js_number(number: float) -> str:
    """Print a float as JavaScript does: 2.0 as `2`, 1e21 as `1e+21`; a non-finite one as `null`."""
    if not math.isfinite(number):
        return "null"
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    mantissa, _, power = repr(abs(number)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    if fraction == "0":
        fraction = ""
    point = len(whole) + int(power or 0)
    digits = (whole + fraction).lstrip("0")
    point -= len(whole + fraction) - len(digits)
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= _MAX_PLAIN_EXPONENT:
        return sign + digits + "0" * (point - count)
    if 0 < point <= _MAX_PLAIN_EXPONENT:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if _MIN_PLAIN_EXPONENT < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    exponent = f"e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return sign + digits[0] + (f".{digits[1:]}" if count > 1 else "") + exponent


def canonical_json(value: Json, *, sort_keys: bool = False) -> str:
    """Print JSON compactly, letters unescaped, numbers as JavaScript prints them (integers in full)."""
    match value:
        case None | bool() | str() | int():
            return json.dumps(value, ensure_ascii=False)
        case float():
            return js_number(value)
        case dict():
            items = sorted(value.items()) if sort_keys else value.items()
            pairs = (
                f"{json.dumps(str(key), ensure_ascii=False)}:{canonical_json(item, sort_keys=sort_keys)}"
                for key, item in items
            )
            return "{" + ",".join(pairs) + "}"
        case list() | tuple():
            return "[" + ",".join(canonical_json(item, sort_keys=sort_keys) for item in value) + "]"
        case _:
            return json.dumps(str(value), ensure_ascii=False)


def same_json(value: Json, other: Json) -> bool:
    """Compare JSON values: texts in NFC, true never equal to 1, 1 equal to 1.0."""
    match value, other:
        case (bool(), _) | (_, bool()):
            return value is other
        case str(), str():
            return nfc(value) == nfc(other)
        case dict(), dict():
            return value.keys() == other.keys() and all(
                same_json(item, other[key]) for key, item in value.items()
            )
        case ((list() | tuple()), (list() | tuple())):
            return len(value) == len(other) and all(map(same_json, value, other))
        case _:
            return bool(value == other)


def value_at(value: Json, path: str) -> Json:
    """Follow a dot path through objects and lists; a key that itself holds dots is tried first."""
    if isinstance(value, dict) and path in value:
        return value[path]
    head, dot, rest = path.partition(".")
    match value:
        case dict() if head in value:
            inner = value[head]
        case list() if head.isascii() and head.isdigit() and int(head) < len(value):
            inner = value[int(head)]
        case _:
            return ABSENT
    return value_at(inner, rest) if dot else inner
