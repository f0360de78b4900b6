"""Golden datasets: `[{id, input, expected: {department, tools, must_not_tools, answer_must_mention}}]`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .problems import Path, suggestion

__all__ = ["golden_cases"]

_CASE_KEYS = {"id", "input", "expected", "name", "category", "priority", "critical", "tags"}
_EXPECTED_KEYS = {"department", "tools", "must_not_tools", "answer_must_mention"}
_CATEGORY = "golden"


def golden_cases(value: Any, faults: list[tuple[Path, str]]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Turn a golden dataset into cases of the REST shape, each with its path; faults are collected."""
    if not isinstance(value, list):
        faults.append(((), "a golden dataset is a list of {id, input, expected}"))
        return
    for index, item in enumerate(value):
        found = len(faults)
        case = _case(item, (index,), faults)
        if len(faults) == found:
            yield (index,), case


def _case(item: Any, path: Path, faults: list[tuple[Path, str]]) -> dict[str, Any]:
    before = len(faults)
    if not isinstance(item, dict):
        faults.append((path, "each entry is an object {id, input, expected}"))
        return {}
    expected = item.get("expected")
    if not isinstance(expected, dict):
        faults.append(((*path, "expected"), "is required: {department, tools, must_not_tools, …}"))
        return {}
    for at, keys, known in ((path, item, _CASE_KEYS), ((*path, "expected"), expected, _EXPECTED_KEYS)):
        faults += [
            ((*at, key), f"is not known; {suggestion(key, known)}") for key in keys if key not in known
        ]
    for key in ("id", "input"):
        if not isinstance(item.get(key), str):
            faults.append(((*path, key), "is required and must be text"))
    for key in ("tools", "must_not_tools", "answer_must_mention"):
        words = expected.get(key, [])
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            faults.append(((*path, "expected", key), "must be a list of texts"))
    department = expected.get("department")
    if department is not None and not isinstance(department, str):
        faults.append(((*path, "expected", "department"), "must be text"))
    if len(faults) > before:
        return {}
    extra = {key: item[key] for key in ("priority", "critical", "tags") if key in item}
    return {
        "ref": item["id"],
        "name": item.get("name", item["id"]),
        "category": item.get("category", department or _CATEGORY),
        "input": {"kind": "scripted_single", "message": item["input"]},
        "assertions": list(_assertions(expected)),
        **extra,
    }


def _assertions(expected: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if (department := expected.get("department")) is not None:
        yield {"kind": "outcome", "field": "department", "equals": department}
    for tool in expected.get("tools", []):
        yield {"kind": "tool_call", "toolName": tool}
    for tool in expected.get("must_not_tools", []):
        yield {"kind": "tool_call", "toolName": tool, "mustNotMatch": True}
    if mentions := expected.get("answer_must_mention"):
        yield {"kind": "contains_all", "values": mentions, "caseInsensitive": True}
