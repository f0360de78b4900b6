"""The cases of an old run as they were, for a run that plays them again."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from proctor_contracts.cases import CaseSnapshot
from proctor_store.repositories import runs
from proctor_store.session import Unit

from .run_writing import ReadSnapshots

__all__ = ["snapshots_of"]


def snapshots_of(unit: Unit, run_id: UUID) -> ReadSnapshots:
    """Read cases of this run, with their search text."""

    async def read(ids: Sequence[UUID]) -> Sequence[tuple[CaseSnapshot, str]]:
        found = await runs.snapshots(unit, run_id, ids)
        return [(CaseSnapshot.model_validate(snapshot), search) for snapshot, search in found]

    return read
