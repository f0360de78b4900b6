"""Reading a JSON body strictly: bounded depth, no repeated keys, nothing that could not be stored."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator
from typing import Any, NoReturn

from proctor_contracts.base import unstorable
from proctor_contracts.schemas.common import FieldProblem
from proctor_llm.replies import clean

from .errors import ApiError, bad_request

__all__ = ["MAX_DEPTH", "read_json"]

MAX_DEPTH = 64
_LEAST, _MOST = -(2**63), 2**63 - 1
_MOST_PROBLEMS = 20

# An unterminated string runs to the end, so the pattern never starts again inside it: linear on any input.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")
_SUSPECT = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])|\d{19}|[eE]\+?\d{3}")


def read_json(body: bytes, *, spoken: Collection[str] = ()) -> Any:
    """Parse a request body; in the fields `spoken` stands what bots said, which is mended, not refused.

    Raises:
        ApiError: 400 saying what is wrong and where: not UTF-8, not JSON, deeper than 64 levels, a repeated
            key, NaN or Infinity, a number beyond 64 bits, a NUL or a lone surrogate (naming the field).
    """
    if not _shallow(body):
        raise _refused("json_too_deep", f"the body is nested deeper than {MAX_DEPTH} levels")
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _refused("invalid_encoding", f"the body is not UTF-8 at byte {error.start}") from error
    try:
        document = json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise _refused("invalid_json", f"the body is not valid JSON at {where}: {error.msg}") from error
    except ValueError as error:  # an integer of more digits than Python is willing to read
        raise _refused("invalid_json", "the body holds a number with too many digits") from error
    if not _SUSPECT.search(body):
        return document
    if isinstance(document, dict):
        document |= {name: clean(document[name]) for name in spoken if name in document}
    if problems := _problems(document):
        raise bad_request(problems)
    return document


def _shallow(body: bytes) -> bool:
    if body.count(b"[") + body.count(b"{") <= MAX_DEPTH:
        return True
    depth = 0
    for found in _BRACKET.finditer(_STRING.sub(b"", body)):
        if found[0] in b"[{":
            depth += 1
            if depth > MAX_DEPTH:
                return False
        else:
            depth -= 1
    return True


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                shown = key[:64].encode("utf-8", "replace").decode()
                raise bad_request(
                    [
                        FieldProblem(
                            path=shown, message="this key is repeated in one object", code="repeated_key"
                        )
                    ],
                    code="repeated_key",
                )
            seen.add(key)
    return made


def _no_constant(name: str) -> NoReturn:
    raise _refused("invalid_json", f"the body is not valid JSON: {name} is not a JSON number")


def _problems(document: Any) -> list[FieldProblem]:
    found: list[FieldProblem] = []
    for path, value in _walk(document):
        message = None
        if isinstance(value, str):
            message = unstorable(value)
        elif isinstance(value, float) and not math.isfinite(value):
            message = "is larger than any number that JSON readers agree on"
        elif isinstance(value, int) and not _LEAST <= value <= _MOST:
            message = "is beyond the 64-bit integers"
        if message is not None:
            found.append(FieldProblem(path=path, message=message, code="unstorable"))
            if len(found) == _MOST_PROBLEMS:
                break
    return found


def _walk(document: Any) -> Iterator[tuple[str, Any]]:
    """Every value and every key with its path; not recursive, the depth is already bounded."""
    waiting: list[tuple[str, Any]] = [("", document)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict):
            for key, item in value.items():
                shown = key.replace("\x00", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()
                inner = f"{path}.{shown}" if path else shown
                if shown != key:
                    yield inner, key
                waiting.append((inner, item))
        elif isinstance(value, list):
            waiting.extend(
                (f"{path}.{index}" if path else str(index), item) for index, item in enumerate(value)
            )
        else:
            yield path, value


def _refused(code: str, detail: str) -> ApiError:
    return bad_request(detail=detail, code=code)
