"""From a stored comparison and its runs to what clients see of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from proctor_contracts.enums import Provider
from proctor_contracts.schemas.common import Warning_
from proctor_contracts.schemas.compare import CellView, CompareStatus, CompareView
from proctor_contracts.schemas.runs import RunView
from proctor_store.repositories.compares import CompareRecord

from .compare_rounds import by_cell, until_of
from .run_view import cents, run_view

__all__ = ["compare_view"]


def compare_view(record: CompareRecord, runs: Sequence[Mapping[Any, Any]], *, now: datetime) -> CompareView:
    """Describe a comparison with the runs that are left of it."""
    found = {str(row["id"]): run_view(row, now=now) for row in runs}
    views = [found.get(run_id) for run_id in record.run_ids]
    status = _status(record, list(found.values()))
    further = [[run["id"] for run in cell] for cell in by_cell(record, runs)]
    return CompareView(
        id=record.id,
        agent_id=record.agent_id,
        integration_id=record.integration_id,
        status=status,
        baseline=record.baseline,
        cases=len(record.case_ids),
        budget_cents=cents(record.budget_micro),
        cells=tuple(
            _cell(place, stored, run_id, view, further[place])
            for place, (stored, run_id, view) in enumerate(
                zip(record.matrix, record.run_ids, views, strict=True)
            )
        ),
        until_decided=until_of(record),
        warnings=tuple(Warning_.model_validate(warning) for warning in record.warnings),
        created_at=record.created_at,
        completed_at=_completed(record, found.values()) if status in _OVER else None,
    )


_OVER = frozenset({CompareStatus.COMPLETED, CompareStatus.CANCELLED})


def _status(record: CompareRecord, views: Sequence[RunView]) -> CompareStatus:
    live = [view for view in views if not view.status.final]
    if live:
        begun = len(live) < len(views) or any(view.status.value != "pending" for view in live)
        return CompareStatus.RUNNING if begun else CompareStatus.PENDING
    if until_of(record) is not None:
        return CompareStatus(record.status)
    return (
        CompareStatus.CANCELLED if record.status == CompareStatus.CANCELLED.value else CompareStatus.COMPLETED
    )


def _completed(record: CompareRecord, views: Iterable[RunView]) -> datetime:
    ends = [view.completed_at for view in views if view.completed_at is not None]
    return max(ends, default=record.updated_at)


def _cell(
    place: int, stored: Mapping[str, Any], run_id: str, view: RunView | None, further: Sequence[UUID]
) -> CellView:
    provider, model = Provider(stored["provider"]), stored["model"]
    by = provider.value if model is None else f"{provider.value}/{model}"
    return CellView(
        index=place,
        label=f"v{stored['versionNumber']} · {by}",
        prompt_version_id=UUID(stored["promptVersionId"]),
        version_number=stored["versionNumber"],
        provider=provider,
        model=model,
        pool=stored["pool"],
        budget_cents=cents(stored["budgetMicro"]),
        run_id=UUID(run_id),
        run_ids=tuple(dict.fromkeys((UUID(run_id), *further))),
        run=view,
    )
