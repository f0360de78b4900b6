"""Captures between their forms: as pushed, as stored, and as shown."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import orjson

from proctor_api.errors import bad_request, too_large
from proctor_contracts.captures import TRANSCRIPT_LIMIT, CapturedEntry, CaptureFields
from proctor_contracts.enums import CaptureSource, CaptureStatus
from proctor_contracts.ids import new_id
from proctor_contracts.schemas.captures import CaptureView
from proctor_contracts.schemas.common import FieldProblem
from proctor_llm.replies import clean
from proctor_store.repositories.captures import CaptureRecord

__all__ = [
    "METADATA_LIMIT",
    "capture_digest",
    "capture_view",
    "new_capture",
    "receipt",
    "without_personal_data",
]

METADATA_LIMIT = 64 * 1024
DEEPEST = 64


def new_capture(
    body: CaptureFields, source: CaptureSource, *, account_id: UUID, now: datetime, key: str | None = None
) -> CaptureRecord:
    """Write a conversation down as a new row, all of it as it came; `key` is the Idempotency-Key.

    Raises:
        ApiError: 413 for a transcript over 768 KiB or metadata over 64 KiB, 400 for what no row holds.
    """
    transcript = [_entry(entry) for entry in body.transcript]
    metadata = None if body.metadata is None else clean(body.metadata)
    _storable("transcript", transcript, most=TRANSCRIPT_LIMIT)
    _storable("metadata", metadata, most=METADATA_LIMIT)
    return CaptureRecord(
        id=new_id(),
        account_id=account_id,
        integration_id=body.integration_id,
        source=source.value,
        external_id=body.external_id,
        status=CaptureStatus.NEW.value,
        transcript=transcript,
        metadata=metadata,
        tags=list(body.tags),
        flagged_reason=body.flagged_reason,
        created_at=now,
        updated_at=now,
        idempotency_key=key,
        idempotency_hash=None if key is None else capture_digest(body),
    )


def without_personal_data(capture: CaptureRecord) -> CaptureRecord:
    """Put placeholders for the personal data of a capture; its external id stays, it is its identity."""
    from proctor_api.personal.replacing import Replacing  # noqa: PLC0415 - its patterns cost a start

    personal = Replacing(capture.metadata)
    return replace(
        capture,
        transcript=[personal.entry(entry) for entry in capture.transcript],
        metadata=None if capture.metadata is None else personal.json(capture.metadata),
        tags=[personal.text(tag) for tag in capture.tags],
        flagged_reason=None if capture.flagged_reason is None else personal.text(capture.flagged_reason),
    )


def capture_digest(body: CaptureFields) -> str:
    """Tell two bodies apart under one idempotency key."""
    return hashlib.sha256(body.model_dump_json(exclude_unset=True).encode()).hexdigest()


def capture_view(record: CaptureRecord) -> CaptureView:
    """Show a capture."""
    return CaptureView(
        id=record.id,
        integration_id=record.integration_id,
        source=CaptureSource(record.source),
        external_id=record.external_id,
        status=CaptureStatus(record.status),
        transcript=tuple(record.transcript),
        metadata=record.metadata,
        tags=tuple(record.tags),
        flagged_reason=record.flagged_reason,
        converted_case_id=record.converted_case_id,
        converted_at=record.converted_at,
        created_at=record.created_at,
        updated_at=record.updated_at,
    )


def receipt(view: CaptureView) -> CaptureView:
    """Leave only what a public key may see: that it is there, and what became of it."""
    return view.model_copy(update={"transcript": (), "metadata": None, "tags": (), "flagged_reason": None})


def _entry(entry: CapturedEntry) -> dict[str, Any]:
    if entry.timestamp is not None and entry.timestamp.tzinfo is None:
        entry = entry.model_copy(update={"timestamp": entry.timestamp.replace(tzinfo=UTC)})
    written: dict[str, Any] = clean(entry.model_dump(mode="json", by_alias=True, exclude_none=True))
    if not entry.tool_calls:
        written.pop("toolCalls", None)
    return written


def _storable(field: str, value: Any, *, most: int) -> None:
    if _too_deep([value]):
        message = f"is nested deeper than {DEEPEST} levels"
        raise bad_request([FieldProblem(path=field, message=message)])
    try:
        size = len(orjson.dumps(value))
    except TypeError as error:
        message = "holds a number beyond the 64-bit integers"
        raise bad_request([FieldProblem(path=field, message=message)]) from error
    if size > most:
        raise too_large(field, f"is {size:,} bytes of JSON; at most {most:,} are kept")


def _too_deep(values: Iterable[Any]) -> bool:
    level = list(values)
    for _ in range(DEEPEST + 1):
        level = [
            item
            for value in level
            if isinstance(value, dict | list)
            for item in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return False
    return True
