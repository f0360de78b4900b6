"""How steady cases are: the history of their first attempts under the same conditions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from proctor_api.auth import Caller
from proctor_api.errors import not_found
from proctor_contracts.enums import Provider, ResultStatus
from proctor_contracts.stability import CaseStability, CaseTrial, StabilityReport
from proctor_grading.repeats import instability, quarantine, stability
from proctor_grading.statistics import wilson
from proctor_store.repositories import runs
from proctor_store.repositories import stability as history
from proctor_store.session import Database, Unit

from .integrations import integration_of

__all__ = ["CaseHistories"]

MOST_RECENT = 20


class CaseHistories:
    """Reads the histories of an account's cases."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def report(
        self,
        caller: Caller,
        integration_id: UUID,
        *,
        like: UUID | None = None,
        case_id: UUID | None = None,
        most_runs: int = 50,
        take: int = 50,
    ) -> StabilityReport:
        """Read the histories of an integration's cases, the most unstable first.

        Only runs with the provider, model and prompt of the run `like` count (by default the newest one that
        is over), and only trials of a case as it is now. Reruns are left out: what they try was chosen by
        how it ended.

        Raises:
            ApiError: 404 for an unknown integration, or a run `like` that is not its own.
        """
        async with self._database.reading() as unit:
            await integration_of(unit, caller, integration_id)
            found = await self._like(unit, caller, integration_id, like)
            if found is None:
                return StabilityReport(integration_id=integration_id)
            wanted = history.Conditions(
                integration_id, found["provider"], found["model"], found["agent_prompt_snapshot"]
            )
            run_ids = await history.alike(unit, caller.account_id, wanted, take=most_runs)
            rows = await history.counts(unit, run_ids, case_id=case_id) if run_ids else []
            chosen = sorted(rows, key=_unstable_first)[:take]
            ids = [row["id"] for row in chosen]
            trials = await history.trials(unit, run_ids, ids) if ids else []
        counts = Counter(stability(row["trials"], row["passed"]) for row in rows)
        return StabilityReport(
            integration_id=integration_id,
            like=found["id"],
            provider=Provider(found["provider"]),
            model=found["model"],
            prompt_version_id=found["prompt_version_id"],
            runs=len(run_ids),
            counts=dict(sorted(counts.items())),
            cases=_views(chosen, trials),
        )

    async def _like(
        self, unit: Unit, caller: Caller, integration_id: UUID, like: UUID | None
    ) -> Mapping[Any, Any] | None:
        if like is None:
            return await history.newest(unit, caller.account_id, integration_id)
        row = await runs.find(unit, caller.account_id, like)
        if row is None or row["integration_id"] != integration_id:
            raise not_found("run")
        return row


def _unstable_first(row: Mapping[Any, Any]) -> tuple[float, int, str, UUID]:
    return (-(instability(row["trials"], row["passed"]) or 0.0), -row["trials"], row["name"], row["id"])


def _views(
    rows: Sequence[Mapping[Any, Any]], trials: Sequence[Mapping[Any, Any]]
) -> tuple[CaseStability, ...]:
    recent: dict[UUID, list[CaseTrial]] = {row["id"]: [] for row in rows}
    for one in trials:
        recent[one["case_id"]].append(
            CaseTrial(
                run_id=one["run_id"],
                trial=one["trial"],
                status=ResultStatus(one["first_status"]),
                at=one["at"],
            )
        )
    return tuple(_view(row, recent[row["id"]][-MOST_RECENT:]) for row in rows)


def _view(row: Mapping[Any, Any], recent: Sequence[CaseTrial]) -> CaseStability:
    trials, passed = row["trials"], row["passed"]
    return CaseStability(
        case_id=row["id"],
        case_ref=row["ref"],
        case_name=row["name"],
        category=row["category"],
        critical=row["critical"],
        revision=row["revision"],
        trials=trials,
        passed=passed,
        pass_rate_ci95=wilson(passed, trials),
        instability=instability(trials, passed),
        stability=stability(trials, passed),
        quarantine=quarantine(trials, passed, critical=row["critical"]),
        recent=tuple(recent),
    )
