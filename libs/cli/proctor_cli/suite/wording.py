"""A model's complaints about a value, put so that the author of a suite can mend it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from pydantic import AliasChoices, BaseModel, ValidationError
from pydantic_core import ErrorDetails

from .problems import Path, suggestion

__all__ = ["complaints"]


def complaints(error: ValidationError, model: type[BaseModel], value: Any) -> Iterator[tuple[Path, str]]:
    """Yield the path, inside `value`, and the wording of each complaint."""
    details = error.errors(include_url=False, include_context=True)
    places = [detail["loc"] for detail in details]
    for detail in details:
        loc = detail["loc"]
        if detail["type"] == "too_short" and any(place[: len(loc)] == loc != place for place in places):
            continue  # a list is not empty because its items are faulty
        path, models = _located(loc, model, value)
        yield path, _wording(detail, models)


def _located(loc: tuple[str | int, ...], model: type[BaseModel], value: Any) -> tuple[Path, list[Any]]:
    """Follow an error's place through the value, leaving out the union tags pydantic puts into it.

    Also returns the models that are possible where the last step starts.
    """
    path: list[str | int] = []
    possible: list[Any] = [model]
    around: list[Any] = [model]
    for number, step in enumerate(loc):
        last = number == len(loc) - 1
        here = isinstance(value, dict) and isinstance(step, str) and step in value
        item = isinstance(value, list) and isinstance(step, int) and step < len(value)
        if here or item:
            value = value[step]
        elif not last or _is_tag(str(step), possible):
            possible = [one for one in possible if _kind(one) in {None, str(step)}] or possible
            continue
        else:
            value = None
        path.append(step)
        around = possible
        if isinstance(step, str):
            possible = [found for one in possible for found in _models(_annotation(one, step))]
    return tuple(path), around


def _is_tag(step: str, possible: list[Any]) -> bool:
    return (
        any(_kind(one) == step for one in possible) or step[:1].isupper() or step in {"str", "function-after"}
    )


def _kind(model: type[BaseModel]) -> str | None:
    field = model.model_fields.get("kind")
    return field.default if field is not None and isinstance(field.default, str) else None


def _names(model: type[BaseModel]) -> dict[str, str]:
    """Map every outside name of a model's fields to the field."""
    names: dict[str, str] = {}
    for name, field in model.model_fields.items():
        alias = field.validation_alias
        if isinstance(alias, AliasChoices):
            names |= {
                choice: name for choice in alias.choices if isinstance(choice, str) and "_" not in choice
            }
        else:
            names[alias if isinstance(alias, str) else name] = name
    return names


def _annotation(model: type[BaseModel], step: str) -> Any:
    name = _names(model).get(step, step)
    field = model.model_fields.get(name)
    return field.annotation if field is not None else None


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in get_args(annotation) for found in _models(part)]


def _wording(detail: ErrorDetails, models: list[Any]) -> str:  # noqa: PLR0911 - one line a kind of error
    context = detail.get("ctx", {})
    given = detail.get("input")
    match detail["type"]:
        case "extra_forbidden":
            known = {name for model in models for name in _names(model)}
            return f"is not known here; {suggestion(str(detail['loc'][-1]), known)}"
        case "too_short":
            return f"needs at least {context.get('min_length')} item"
        case "missing":
            return "is required"
        case "union_tag_invalid":
            known = {part.strip().strip("'") for part in str(context.get("expected_tags", "")).split(",")}
            return f"unknown kind {context.get('tag')!r}; {_kinds(str(context.get('tag')), known)}"
        case "union_tag_not_found":
            return "needs a kind, such as " + ", ".join(
                sorted(filter(None, map(_kind, models)))[:6] or ["regex"]
            )
        case "enum" | "literal_error":
            return f"{_short(given)} is not one of {context.get('expected')}"
        case "value_error":
            return str(context.get("error") or detail["msg"])
        case "string_pattern_mismatch" if words := _PATTERNS.get(str(context.get("pattern"))):
            return f"is {words}; got {_short(given)}"
        case _:
            message = detail["msg"].removeprefix("Input ")
            return f"{message}; got {_short(given)}"


_PATTERNS = {
    "^[a-z]{2}$": "a language's two-letter code, such as en or uk",
    "^[a-z0-9_-]{1,32}$": "a short name of a-z, 0-9, _ and -",
    "^[A-Za-z_][A-Za-z0-9_]{0,127}$": "the name of a secret: letters, digits and _, no digit first",
}


def _kinds(given: str, known: set[str]) -> str:
    hint = suggestion(given, known)
    return hint if hint.startswith("known") else f"{hint} Known are {', '.join(sorted(known))}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"  # noqa: PLR2004 - a line of a terminal
