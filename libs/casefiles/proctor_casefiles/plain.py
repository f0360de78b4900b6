"""Cases as they are: a list of them in JSON or YAML, in the shape that REST and suite files share."""

from __future__ import annotations

from typing import Any

from proctor_contracts.schemas.imports import ImportProblem

from .drafts import CaseDraft, FileRefused, Reading

__all__ = ["read_plain"]


def read_plain(value: Any) -> Reading:
    """Take a list of cases, or `{cases: […]}`; a place is `3`, or `cases.3`. Such drafts are whole cases.

    Raises:
        FileRefused: when it holds no cases.
    """
    before = ""
    warnings: list[ImportProblem] = []
    if isinstance(value, dict) and "cases" in value:
        warnings = [
            ImportProblem(path=key, message="is not read here: only cases are taken")
            for key in value
            if key != "cases"
        ]
        value, before = value["cases"], "cases."
    if not isinstance(value, list):
        raise FileRefused("not_cases", "holds no cases: write a list of them, or {cases: […]}")
    drafts = [_draft(item, f"{before}{index}") for index, item in enumerate(value)]
    return Reading(drafts=drafts, warnings=tuple(warnings), whole=True)


def _draft(item: Any, place: str) -> CaseDraft:
    if not isinstance(item, dict):
        problem = "a case is an object {name, category, input, assertions, …}"
    elif set(item) == {"file"}:
        problem = (
            "files are not followed here: proctor import-cases --suite FILE reads a suite with all its files"
        )
    else:
        return CaseDraft(fields=item, place=place, places={name: f"{place}.{name}" for name in item})
    return CaseDraft(fields={}, place=place, problems=(ImportProblem(path=place, message=problem),))
