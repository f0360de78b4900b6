"""Golden datasets: `[{id, input, expected: {department, tools, must_not_tools, answer_must_mention}}]`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from proctor_contracts.schemas.imports import ImportProblem

from .documents import Path, dotted
from .drafts import CaseDraft, FileRefused, Reading
from .suggesting import suggestion

__all__ = ["read_golden"]

_KEPT = ("priority", "critical", "tags", "reference")
_CASE_KEYS = {"id", "input", "expected", "name", "category", *_KEPT}
_LISTS = ("tools", "must_not_tools", "answer_must_mention")
_EXPECTED_KEYS = {"department", *_LISTS}
_CATEGORY = "golden"
_PLACES = {"ref": "id", "name": "name", "category": "category", "input": "input", "assertions": "expected"}


def read_golden(value: Any) -> Reading:
    """Turn a golden dataset into drafts; an entry's place is its index.

    Raises:
        FileRefused: when it is no list of entries.
    """
    if not isinstance(value, list):
        raise FileRefused("not_golden", "a golden dataset is a list of {id, input, expected}")
    return Reading(drafts=[_draft(item, index) for index, item in enumerate(value)])


def _draft(item: Any, index: int) -> CaseDraft:
    problems = tuple(
        ImportProblem(path=dotted((index, *path)), message=message) for path, message in _faults(item)
    )
    fields = {} if problems else _fields(item)
    places = {name: f"{index}.{_PLACES.get(name, name)}" for name in fields}
    return CaseDraft(fields=fields, place=str(index), places=places, problems=problems)


def _faults(item: Any) -> Iterator[tuple[Path, str]]:
    if not isinstance(item, dict):
        yield (), "each entry is an object {id, input, expected}"
        return
    for key in ("id", "input"):
        if not isinstance(item.get(key), str):
            yield (key,), "is required and must be text"
    yield from _unknown((), item, _CASE_KEYS)
    expected = item.get("expected")
    if not isinstance(expected, dict):
        yield ("expected",), "is required: {department, tools, must_not_tools, …}"
        return
    yield from _unknown(("expected",), expected, _EXPECTED_KEYS)
    for key in _LISTS:
        words = expected.get(key, [])
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            yield ("expected", key), "must be a list of texts"
    department = expected.get("department")
    if department is not None and not isinstance(department, str):
        yield ("expected", "department"), "must be text"
    elif not any(expected.get(key) for key in _EXPECTED_KEYS):
        yield (
            ("expected",),
            f"says nothing to check; give at least one of {', '.join(sorted(_EXPECTED_KEYS))}",
        )


def _unknown(path: Path, given: Mapping[str, Any], known: set[str]) -> Iterator[tuple[Path, str]]:
    for key in given:
        if key not in known:
            yield (*path, key), f"is not known; {suggestion(key, known)}"


def _fields(item: Mapping[str, Any]) -> dict[str, Any]:
    expected = item["expected"]
    return {
        "ref": item["id"],
        "name": item.get("name", item["id"]),
        "category": item.get("category", expected.get("department") or _CATEGORY),
        "input": {"kind": "scripted_single", "message": item["input"]},
        "assertions": list(_assertions(expected)),
        **{key: item[key] for key in _KEPT if key in item},
    }


def _assertions(expected: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if (department := expected.get("department")) is not None:
        yield {"kind": "outcome", "field": "department", "equals": department}
    for tool in expected.get("tools", []):
        yield {"kind": "tool_call", "toolName": tool}
    for tool in expected.get("must_not_tools", []):
        yield {"kind": "tool_call", "toolName": tool, "mustNotMatch": True}
    if mentions := expected.get("answer_must_mention"):
        yield {"kind": "contains_all", "values": mentions, "caseInsensitive": True}
