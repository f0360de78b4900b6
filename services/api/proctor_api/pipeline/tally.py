"""From stored rows to the values that grading counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from proctor_contracts.enums import Priority, ResultStatus
from proctor_contracts.transcript import Usage
from proctor_grading.rows import ResultRow

__all__ = ["result_rows"]


def result_rows(rows: Sequence[Mapping[Any, Any]]) -> Iterator[ResultRow]:
    """Read the rows of `proctor_store.repositories.tally`."""
    return (
        ResultRow(
            case_id=row["case_id"],
            name=row["name"],
            category=row["category"],
            status=ResultStatus(row["status"]),
            first_status=None if row["first_status"] is None else ResultStatus(row["first_status"]),
            ref=row["ref"],
            trial=row["trial"],
            priority=Priority(row["priority"]),
            weight=row["weight"],
            tags=tuple(row["tags"]),
            critical=row["critical"],
            score=row["score"],
            flaky=row["flaky"],
            latencies_ms=tuple(row["latencies"] or ()),
            usage=_usage(row["usage"]),
            judge_usage=_usage(row["judge_usage"]),
            cost_micro_usd=row["cost_micro"],
            error_code=None if row["error"] is None else row["error"]["code"],
            needs_review=row["needs_review"],
        )
        for row in rows
    )


def _usage(tokens: dict[str, int] | None) -> Usage | None:
    return None if tokens is None else Usage.model_validate(tokens)
