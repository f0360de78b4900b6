"""Cases between their three forms: as typed, as stored, and as shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from proctor_api.errors import too_large
from proctor_contracts.assertion_base import AssertionBase
from proctor_contracts.assertions import Outcome
from proctor_contracts.cases import CaseFields, ScriptedMulti, ScriptedSingle
from proctor_contracts.enums import Priority, RetryPolicy
from proctor_contracts.ids import new_id
from proctor_contracts.schemas.cases import CaseView
from proctor_contracts.schemas.common import Warning_
from proctor_store.repositories.cases import CaseRecord
from proctor_store.searching import case_search_text

__all__ = ["CASE_LIMIT", "as_stored", "case_fields", "case_view", "new_record", "rewritten", "user_messages"]

CASE_LIMIT = 256 * 1024
_FROM_BODY = (
    "ref", "name", "category", "priority", "input", "assertions", "rubric", "weight", "threshold", "tags",
    "is_active", "critical", "retry_policy", "reference", "budget",
)  # fmt: skip
_CONTENT = (*_FROM_BODY, "search_text")


def new_record(
    case: CaseFields, *, account_id: UUID, integration_id: UUID, now: datetime, path: str = ""
) -> CaseRecord:
    """Write a case down as a new row; `path` is where it stands in the request.

    Raises:
        ApiError: 413 naming the field when the case is larger than 256 KiB.
    """
    content = as_stored(case)
    size = len(orjson.dumps(content))
    if size > CASE_LIMIT:
        largest = max(_FROM_BODY, key=lambda name: len(orjson.dumps(content[name])))
        message = f"the case is {size:,} bytes of JSON, most of them here; a case may have {CASE_LIMIT:,}"
        raise too_large(f"{path}{largest}", message)
    return CaseRecord(
        id=new_id(),
        account_id=account_id,
        integration_id=integration_id,
        revision=1,
        created_at=now,
        updated_at=now,
        **content,
    )


def rewritten(stored: CaseRecord, wanted: CaseRecord) -> CaseRecord:
    """Put the content of `wanted` into the stored row; the same row comes back when nothing differs."""
    if all(getattr(stored, name) == getattr(wanted, name) for name in _CONTENT):
        return stored
    return replace(
        wanted,
        id=stored.id,
        account_id=stored.account_id,
        integration_id=stored.integration_id,
        revision=stored.revision + 1,
        created_at=stored.created_at,
    )


def case_fields(record: CaseRecord) -> CaseFields:
    """Read a stored case back as its author typed it."""
    return CaseFields.model_validate({name: getattr(record, name) for name in _FROM_BODY})


def case_view(record: CaseRecord, warnings: tuple[Warning_, ...] = ()) -> CaseView:
    """Show a case."""
    return CaseView(
        id=record.id,
        integration_id=record.integration_id,
        revision=record.revision,
        ref=record.ref,
        name=record.name,
        category=record.category,
        priority=Priority(record.priority),
        input=record.input,
        assertions=tuple(record.assertions),
        rubric=record.rubric,
        weight=record.weight,
        threshold=record.threshold,
        tags=tuple(record.tags),
        is_active=record.is_active,
        critical=record.critical,
        retry_policy=None if record.retry_policy is None else RetryPolicy(record.retry_policy),
        reference=record.reference,
        budget=record.budget,
        created_at=record.created_at,
        updated_at=record.updated_at,
        warnings=warnings,
    )


def user_messages(case_input: ScriptedSingle | ScriptedMulti) -> tuple[str, ...]:
    """What the case says to the bot."""
    match case_input:
        case ScriptedSingle():
            return (case_input.message,)
        case ScriptedMulti():
            return tuple(one.content for one in case_input.messages if one.role == "user")


def as_stored(case: CaseFields) -> dict[str, Any]:
    """Write a case down as the columns that hold what its author says, and the text it is searched by."""
    return {
        "ref": case.ref,
        "name": case.name,
        "category": case.category,
        "priority": case.priority.value,
        "input": _wire(case.input),
        "assertions": [_assertion(assertion) for assertion in case.assertions],
        "rubric": case.rubric,
        "weight": case.weight,
        "threshold": case.threshold,
        "tags": list(case.tags),
        "is_active": case.is_active,
        "critical": case.critical,
        "retry_policy": None if case.retry_policy is None else case.retry_policy.value,
        "reference": None if case.reference is None else _wire(case.reference),
        "budget": None if case.budget is None else _wire(case.budget),
        "search_text": case_search_text(
            ref=case.ref,
            name=case.name,
            category=case.category,
            tags=case.tags,
            messages=user_messages(case.input),
        ),
    }


def _wire(value: Any) -> Mapping[str, Any]:
    written: dict[str, Any] = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    return written


def _assertion(assertion: AssertionBase) -> Mapping[str, Any]:
    written = _wire(assertion)
    if isinstance(assertion, Outcome) and "equals" in assertion.model_fields_set and assertion.equals is None:
        return {**written, "equals": None}  # null is what the bot must report, not an absent condition
    return written
