"""Result rows for summaries, gates and comparisons."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from proctor_contracts.enums import ResultStatus
from proctor_grading.rows import ResultRow


def row(number: int, status: str, **fields: Any) -> ResultRow:
    """Case `number` with a status; its score is 100 or 0 unless given."""
    score = {"passed": 100, "failed": 0}.get(status)
    first = fields.pop("first_status", None)
    values = {"name": f"Кейс {number}", "category": "Мова", "score": score, "ref": f"RM-{number}"} | fields
    return ResultRow(
        case_id=values.pop("case_id", UUID(int=number)),
        status=ResultStatus(status),
        first_status=None if first is None else ResultStatus(first),
        **values,
    )


def rows(**counts: int) -> list[ResultRow]:
    """Rows by status: `rows(passed=9, error=1)`."""
    statuses = [status for status, count in counts.items() for _ in range(count)]
    return [row(number, status) for number, status in enumerate(statuses, 1)]
