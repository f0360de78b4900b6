"""JSON objects and arrays that stand inside other text."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from proctor_contracts.base import Json

__all__ = ["JsonText", "documents", "finite", "parse"]

_CLOSER = {"{": "}", "[": "]"}
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)
_MAX_FAILURES = 40


class JsonText(ValueError):
    """A text is not the JSON we accept: broken, with a repeated key, or with NaN or an infinity."""


def _refuse_constant(name: str) -> NoReturn:
    raise JsonText(f"{name} is not a JSON number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise JsonText("a key is repeated")
    return value


_decoder = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_unique)


def parse(text: str) -> Json:
    """Read a text that is one JSON document; raises `JsonText` otherwise."""
    try:
        value = _decoder.decode(text)
    except RecursionError:
        raise JsonText("nested too deeply") from None
    except JsonText:
        raise
    except ValueError as error:
        raise JsonText(str(error)) from None
    if not finite(value):
        raise JsonText("a number is too large")
    return value


def finite(value: Json) -> bool:
    """Whether a value holds no NaN and no infinity, so that it can be written as JSON."""
    # Not recursive: what a model writes may be nested deeper than Python's own stack goes.
    waiting = [value]
    while waiting:
        match waiting.pop():
            case float() as number if number - number != 0:
                return False
            case dict() as fields:
                waiting.extend(fields.values())
            case list() | tuple() as items:
                waiting.extend(items)
            case _:
                pass
    return True


def documents(text: str, openers: str = "{") -> list[Json]:
    """Collect the top-level JSON documents of a text, in order; braces inside strings do not count.

    Trailing commas are forgiven. A balanced span that is not JSON is skipped whole.
    """
    found: list[Json] = []
    at = failures = 0
    start = re.compile("|".join(map(re.escape, openers)))
    while (match := start.search(text, at)) and failures < _MAX_FAILURES:
        begin = match.start()
        end = _balanced_end(text, begin)
        if end is None:
            failures += 1
            at = begin + 1
            continue
        at = end
        span = text[begin:end]
        for candidate in (span, _TRAILING_COMMA.sub(lambda hit: hit[1] or "", span)):
            try:
                found.append(parse(candidate))
            except JsonText:
                continue
            break
    return found


_TOKEN = re.compile(r'["{}\[\]]')


def _balanced_end(text: str, begin: int) -> int | None:
    """Find where the bracket at `begin` is closed, reading JSON strings as opaque."""
    expected: list[str] = []
    at = begin
    while token := _TOKEN.search(text, at):
        at = token.end()
        char = token[0]
        if char == '"':
            closing = _string_end(text, at - 1)
            if closing is None:
                return None
            at = closing + 1
        elif char in _CLOSER:
            expected.append(_CLOSER[char])
        elif char != expected.pop():
            return None
        elif not expected:
            return at
    return None


_STRING_STOP = re.compile(r'["\\]')


def _string_end(text: str, begin: int) -> int | None:
    at = begin + 1
    while stop := _STRING_STOP.search(text, at):
        if stop[0] == '"':
            return stop.start()
        at = stop.start() + 2
    return None
