"""JSON Schema with bounded work, JavaScript patterns and no remote references."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, assert_never

import jsonschema
import referencing
import referencing.exceptions
from jsonschema import validators

from proctor_contracts.base import Json

from .canonical import canonical_json
from .context import RegexEngine, RegexFound, RegexInvalid, RegexLimit, RegexMissing
from .text import excerpt, storable

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

__all__ = ["Undecidable", "invalid", "schema_problem"]

STEP_LIMIT = 50_000


class Undecidable(Exception):
    """The schema could not be applied within its limits."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


def schema_problem(schema: dict[str, Any] | bool, regex: RegexEngine) -> tuple[str, str] | None:  # noqa: FBT001 - a JSON Schema may be a boolean
    """Say where (a JSON pointer) and why a schema cannot be used, or None when it can."""
    if isinstance(schema, bool):
        return None
    draft = _draft(schema)
    if isinstance(draft, str):
        return "/$schema", draft
    try:
        # Without formats: the library's own check of `pattern` knows Python's syntax only.
        draft.check_schema(schema, format_checker=jsonschema.FormatChecker(formats=()))
    except jsonschema.SchemaError as error:
        return _pointer(error.absolute_path), excerpt(error.message)
    except RecursionError:
        return "", "the schema is nested too deeply"
    for pointer, key, value in _keywords(schema):
        if fault := _keyword_problem(key, value, regex):
            return pointer, fault
    return _broken_reference(schema)


def _draft(schema: dict[str, Any]) -> Any:
    """Find the validator class of a schema's dialect, or say why there is none."""
    dialect = schema.get("$schema")
    if "$schema" in schema and not isinstance(dialect, str):
        return "is not the URI of a dialect, such as https://json-schema.org/draft/2020-12/schema"
    draft: Any = validators.validator_for(schema, default=_NO_DRAFT)
    if draft is not _NO_DRAFT:
        return draft
    if dialect is not None:
        return f"unknown JSON Schema dialect {excerpt(dialect, limit=80)!r}"
    return jsonschema.Draft202012Validator


def _keyword_problem(key: str, value: Json, regex: RegexEngine) -> str | None:
    match key, value:
        case (("$ref" | "$dynamicRef"), str()) if not value.startswith("#"):
            return f"{value!r} is remote; only references inside the schema (#…) are followed"
        case "pattern", str():
            return _pattern_problem(value, regex)
        case "patternProperties", dict():
            return next((fault for pattern in value if (fault := _pattern_problem(pattern, regex))), None)
        case _:
            return None


_NO_DRAFT: Any = object()


def invalid(schema: dict[str, Any] | bool, document: Json, regex: RegexEngine) -> str | None:  # noqa: FBT001 - a JSON Schema may be a boolean
    """Say where a document does not satisfy a schema, or None when it does; raises `Undecidable`."""
    token = _work.set(_Work(regex))
    try:
        validator = _validator(schema)
        error = next(validator.iter_errors(document), None)
    except RecursionError:
        raise Undecidable("schema_limit", "schema and document together are nested too deeply") from None
    except referencing.exceptions.Unresolvable as unknown:
        raise Undecidable(
            "schema_reference", f"the schema refers to {unknown.ref!r}, which is not in it"
        ) from None
    finally:
        _work.reset(token)
    if error is None:
        return None
    return excerpt(f"at {_pointer(error.absolute_path) or '/'}: {storable(error.message)}")


@dataclass(slots=True)
class _Work:
    """What one validation may still do, and the engine for its patterns."""

    regex: RegexEngine
    left: int = STEP_LIMIT


_work: ContextVar[_Work] = ContextVar("schema_work")


def _validator(schema: dict[str, Any] | bool) -> Validator:  # noqa: FBT001 - a JSON Schema may be a boolean
    draft = validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    # The empty registry knows the dialects' own documents and fetches nothing.
    made: Validator = _bounded(draft)(schema, registry=referencing.Registry())
    return made


@lru_cache(maxsize=16)
def _bounded(draft: Any) -> Any:
    """Make a validator class that counts its steps and matches patterns as JavaScript does."""
    keywords = draft.VALIDATORS | {
        name: function for name, function in _REPLACED.items() if name in draft.VALIDATORS
    }
    extend: Any = validators.extend
    return extend(draft, {name: _counted(function) for name, function in keywords.items()})


def _counted(keyword: Any) -> Any:
    def step(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        work = _work.get()
        work.left -= 1
        if work.left < 0:
            raise Undecidable("schema_limit", f"checking the document takes more than {STEP_LIMIT} steps")
        return keyword(validator, value, instance, schema)

    return step


def _pattern(_: Any, wanted: str, instance: Any, __: Any) -> Iterator[jsonschema.ValidationError]:
    if isinstance(instance, str) and not _matches(wanted, instance):
        yield jsonschema.ValidationError(f"{excerpt(instance, limit=80)!r} does not match {wanted!r}")


def _pattern_properties(
    validator: Any, wanted: Mapping[str, Any], instance: Any, _: Any
) -> Iterator[jsonschema.ValidationError]:
    if not isinstance(instance, dict):
        return
    for pattern, subschema in wanted.items():
        for key, value in instance.items():
            if _matches(pattern, key):
                yield from validator.descend(value, subschema, path=key, schema_path=pattern)


def _unique_items(_: Any, wanted: bool, instance: Any, __: Any) -> Iterator[jsonschema.ValidationError]:  # noqa: FBT001 - the library's signature
    if wanted and isinstance(instance, list):
        seen = {canonical_json(item, sort_keys=True) for item in instance}
        if len(seen) < len(instance):
            yield jsonschema.ValidationError("the items are not all different")


def _multiple_of(_: Any, wanted: float, instance: Any, __: Any) -> Iterator[jsonschema.ValidationError]:
    if isinstance(instance, bool) or not isinstance(instance, int | float):
        return
    # As written: in binary, 0.3 is no multiple of 0.1.
    if Fraction(str(instance)) % Fraction(str(wanted)) != 0:
        yield jsonschema.ValidationError(f"{instance!r} is not a multiple of {wanted!r}")


_REPLACED = {
    "multipleOf": _multiple_of,
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "uniqueItems": _unique_items,
}


def _matches(pattern: str, text: str) -> bool:
    """Match with the flag u, as JSON Schema asks; a pattern that only compiles without it goes without."""
    regex = _work.get().regex
    answer = regex.search(pattern, "u", text)
    if isinstance(answer, RegexInvalid):
        answer = regex.search(pattern, "", text)
    match answer:
        case RegexFound():
            return True
        case RegexMissing():
            return False
        case RegexInvalid(reason=reason):
            raise Undecidable("invalid_pattern", f"pattern {pattern!r} does not compile: {reason}")
        case RegexLimit(code=code, reason=reason):
            raise Undecidable(code, f"pattern {pattern!r}: {reason}")
        case _:
            assert_never(answer)


def _pattern_problem(pattern: str, regex: RegexEngine) -> str | None:
    reason = regex.problem(pattern)
    return None if reason is None or regex.problem(pattern, "u") is None else f"pattern {pattern!r}: {reason}"


def _keywords(schema: Json, pointer: str = "") -> Iterator[tuple[str, str, Json]]:
    """Every keyword of a schema and its subschemas, with its JSON pointer; plain data is left out."""
    stack = [(pointer, schema)]
    while stack:
        at, value = stack.pop()
        if isinstance(value, dict):
            for key, item in value.items():
                yield f"{at}/{_escaped(key)}", key, item
                if key not in {"const", "enum", "default", "examples"}:
                    stack.append((f"{at}/{_escaped(key)}", item))
        elif isinstance(value, list):
            stack.extend((f"{at}/{index}", item) for index, item in enumerate(value))


def _broken_reference(schema: dict[str, Any]) -> tuple[str, str] | None:
    draft = validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    specification = referencing.jsonschema.specification_with(draft.META_SCHEMA["$schema"])
    resource = referencing.Resource.from_contents(schema, default_specification=specification)
    resolver = referencing.Registry().with_resource("", resource).resolver()
    for pointer, key, value in _keywords(schema):
        if key == "$ref" and isinstance(value, str):
            try:
                resolver.lookup(value)
            except referencing.exceptions.Unresolvable:
                return pointer, f"{value!r} is not in the schema"
    return None


def _pointer(path: Any) -> str:
    return "".join(f"/{_escaped(str(part))}" for part in path)


def _escaped(part: str) -> str:
    return part.replace("~", "~0").replace("/", "~1")
