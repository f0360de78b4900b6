"""Validation errors in the words of the API: dotted camelCase paths and what is accepted there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from proctor_contracts.schemas.common import FieldProblem

from .errors import ApiError, bad_request, summed_up

__all__ = ["Problems", "field_problems", "kinds", "validation_error"]

LATER_KINDS = frozenset({"persona_dialog", "goal_dialog"})
"""Kinds that a later release brings."""

_LATER = "not_available_yet"
_MOST_SHOWN = 100
_BIG_TEXT = 200_000
_BRANCH = re.compile(
    r"str|int|float|bool|none|dict|list|tuple|decimal|uuid|[A-Z].*|.*[\[\]()].*|[a-z]+(-[a-z]+)+|\[key\]"
)
_EMPTIED = "should have at least 1 item after validation, not 0"
_MESSAGES = {
    "missing": "is required",
    "extra_forbidden": "is not a known field",
    "json_invalid": "is not valid JSON",
    "finite_number": "should be a finite number",
    "timezone_aware": "should say its time zone, as 2026-03-29T00:00:00Z does",
}
_OBJECTS = {"SecretRef": 'should be {"secret": "NAME"}, the name of a secret instead of its value'}


@dataclass(frozen=True, slots=True)
class Problems:
    """Field problems, and the status and code they add up to."""

    errors: tuple[FieldProblem, ...]
    status: int = 400
    code: str = "invalid"


def validation_error(errors: Sequence[Mapping[str, Any]], document: Any) -> ApiError:
    """Turn pydantic's errors about `document` into one answer."""
    found = field_problems(errors, document)
    if found.status == 400:  # noqa: PLR2004 - bad request
        return bad_request(found.errors, code=found.code)
    return ApiError(found.status, found.code, summed_up(found.errors), found.errors)


def field_problems(errors: Iterable[Mapping[str, Any]], document: Any) -> Problems:
    """Name each wrong field once, however many members of a union refused it."""
    merged: dict[str, tuple[list[str], str | None]] = {}
    status, code = 400, "invalid"
    for error in errors:
        kind = str(error["type"])
        path = _path(error["loc"], document, keep_last=kind == "missing")
        message, problem_code = _message(error, kind, path)
        if kind.startswith("union_tag") or (kind == _LATER and isinstance(error["input"], Mapping)):
            path = f"{path}.kind" if path else "kind"
        if problem_code == "too_large":
            status, code = 413, "too_large"
        elif problem_code == _LATER and status == 400:  # noqa: PLR2004 - bad request
            code = _LATER
        messages, _ = merged.setdefault(path, ([], problem_code))
        if message not in messages:
            messages.append(message)
    shown = [item for item in merged.items() if not _follows(item[0], item[1][0], merged)][:_MOST_SHOWN]
    return Problems(
        tuple(
            FieldProblem(path=path, message="; or ".join(messages), code=problem_code)
            for path, (messages, problem_code) in shown
        ),
        status,
        code,
    )


def _follows(path: str, messages: Sequence[str], others: Iterable[str]) -> bool:
    """Whether a list is only called too short because pydantic dropped its wrong items, which are named."""
    return messages == [_EMPTIED] and any(other.startswith(f"{path}.") for other in others)


def kinds(field: str) -> tuple[str, ...]:
    """The kinds accepted in `assertions` or `input`."""
    from proctor_contracts.assertions import Assertion  # noqa: PLC0415 - a cycle of meaning, not of modules
    from proctor_contracts.cases import CaseInput  # noqa: PLC0415 - as above

    union = get_args(Assertion if field == "assertions" else CaseInput)[0]
    return tuple(member.model_fields["kind"].default for member in get_args(union))


def _message(error: Mapping[str, Any], kind: str, path: str) -> tuple[str, str | None]:
    context = error.get("ctx") or {}
    if kind.startswith("union_tag"):
        return _kind_message(context.get("tag"), path)
    if kind.removeprefix("string_") in {"too_long", "too_short"} and isinstance(error["input"], str):
        return _length_message(context)
    if kind == _LATER:
        return str(error["msg"]), _LATER
    if kind == "value_error":
        return str(context.get("error", error["msg"])), None
    if kind == "model_type":
        # Pydantic names its class, which nobody outside can look up.
        return _OBJECTS.get(str(context.get("class_name")), "should be an object"), None
    text = _MESSAGES.get(kind, str(error["msg"]))
    for start in ("Input ", "String ", "List ", "Tuple ", "Dictionary ", "Value "):
        text = text.removeprefix(start)
    return text, None


def _length_message(context: Mapping[str, Any]) -> tuple[str, str | None]:
    longest = context.get("max_length")
    if longest is None:
        least = context["min_length"]
        return ("should not be empty" if least == 1 else f"should be at least {least} characters"), None
    return f"should be at most {longest:,} characters", "too_large" if longest > _BIG_TEXT else None


def _kind_message(tag: Any, path: str) -> tuple[str, str | None]:
    accepted = ", ".join(kinds("assertions" if "assertions" in path.split(".") else "input"))
    if tag is None:
        return f"is required; the kinds accepted are {accepted}", None
    if tag in LATER_KINDS:
        return f"{tag} is not available yet; the kinds accepted are {accepted}", _LATER
    return f"unknown kind {str(tag)[:64]!r}; the kinds accepted are {accepted}", None


def _path(steps: Sequence[str | int], document: Any, *, keep_last: bool) -> str:
    """Drop what pydantic adds for the members of a union; what is left are the request's own names.

    The request itself tells them apart: a step that leads somewhere in it is its own.
    """
    kept: list[str] = []
    here: Any = document
    fresh = True
    for index, step in enumerate(steps):
        last = index == len(steps) - 1
        if isinstance(step, int):
            kept.append(str(step))
            here = here[step] if isinstance(here, list | tuple) and step < len(here) else None
            fresh = True
        elif fresh and isinstance(here, Mapping) and here.get("kind") == step and not (last and keep_last):
            fresh = False
        elif isinstance(here, Mapping) and step in here:
            kept.append(step)
            here, fresh = here[step], True
        elif isinstance(here, Mapping) and (snake := _snake(step)) in here:
            kept.append(step)
            here, fresh = here[snake], True
        elif (last and keep_last) or (isinstance(here, Mapping) and _BRANCH.fullmatch(step) is None):
            kept.append(step)
            here, fresh = None, True
    return ".".join(kept)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: "_" + found[1].lower(), name)
