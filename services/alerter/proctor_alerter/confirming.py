"""Settles suspicions: by the rerun that was asked for, or by saying why there is none."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from proctor_contracts.alerts import AlertKind, CategoryChange, ModelChange
from proctor_contracts.enums import RunStatus
from proctor_contracts.messages import RegressionDetected
from proctor_contracts.verdicts import RegressionVerdict
from proctor_grading.regression import CategoryFinding, Scores, confirm
from proctor_store.repositories import looks, outbox
from proctor_store.repositories.looks import LookRecord, RunFacts
from proctor_store.session import Database, StoreUnavailable, Unit

from .findings import Findings, category_change
from .looking import gathered
from .payloads import Payload, regression_payload
from .telling import RERUN, Teller

__all__ = ["PATIENCE", "Confirming", "Settled", "settled"]

PATIENCE = timedelta(hours=24)
"""How long a rerun may take before the suspicion is told as it is."""

NEVER_CAME = "the rerun did not end within 24 hours"
BASELINE_GONE = "the runs before it were deleted meanwhile"
UNGRADED = "the rerun graded nothing in it"
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of suspected categories: what is told of them, and those that were cleared."""

    confirmed: Sequence[CategoryChange]
    undecided: Sequence[CategoryChange]
    cleared: Sequence[str]


def settled(
    findings: Findings,
    suspected: Sequence[str],
    reruns: Mapping[str, CategoryFinding],
    *,
    rerun_id: UUID | None,
    reason: str,
) -> Settled:
    """Decide each suspected category by its rerun alone; without one it stays suspected, for a `reason`."""
    confirmed, undecided, cleared = [], [], []
    for name in suspected:
        first, again = findings.categories[name], reruns.get(name)
        if again is None or rerun_id is None:
            undecided.append(category_change(name, first, note=f"not confirmed: {reason}"))
        elif again.verdict is RegressionVerdict.NO_BASELINE:
            undecided.append(category_change(name, first, note=f"not confirmed: {BASELINE_GONE}"))
        elif again.verdict is RegressionVerdict.REGRESSION:
            confirmed.append(category_change(name, first, rerun=(rerun_id, again)))
        else:
            cleared.append(name)
    return Settled(confirmed, undecided, cleared)


class Confirming:
    """Settles each look once: by its rerun, or as it is."""

    def __init__(self, *, database: Database, teller: Teller, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._teller = teller
        self._clock = clock

    async def completed(self, rerun: RunFacts) -> None:
        """Judge the suspected categories by the rerun that is over, however it ended."""
        if rerun.confirms_run_id is None:
            return
        async with self._database.reading() as unit:
            look = await looks.get(unit, rerun.confirms_run_id)
            if look is None or look.state == looks.SETTLED:
                return
            baseline = [UUID(one) for one in look.baseline_run_ids]
            scores = await gathered(unit, [rerun.id, *baseline])
        findings = Findings.read(look.findings)
        # Of a rerun that was cut short, what happened to come first says nothing of the rest.
        now = {} if rerun.status == RunStatus.CANCELLED else scores.of(rerun.id)
        before = [scores.of(one) for one in baseline]
        reruns = await asyncio.to_thread(_judged, look.confirm, now, before, findings.threshold)
        async with self._database.transaction() as unit:
            await self._settle(unit, look.run_id, reruns=reruns, rerun_id=rerun.id, reason=_how(rerun))

    async def give_up_overdue(self, *, take: int = 50) -> int:
        """Tell what waits for a rerun that cannot be had or never came; returns how many were settled.

        Raises:
            StoreUnavailable: when the database is away.
        """
        async with self._database.reading() as unit:
            due = await looks.overdue(unit, asked_before=self._clock() - PATIENCE, take=take)
        done = 0
        for run_id in due:
            try:
                async with self._database.transaction() as unit:
                    await self._settle(unit, run_id, reruns={}, rerun_id=None, reason=NEVER_CAME)
                done += 1
            except StoreUnavailable:
                raise
            except Exception:
                # One that cannot be settled must not hold up those behind it.
                log.exception("look_not_settled", extra={"run": str(run_id)})
        return done

    async def _settle(
        self,
        unit: Unit,
        run_id: UUID,
        *,
        reruns: Mapping[str, CategoryFinding],
        rerun_id: UUID | None,
        reason: str,
    ) -> None:
        run = await looks.facts(unit, run_id)
        if run is None:
            return
        await looks.lock_integration(unit, run.integration_id)
        look = await looks.get(unit, run_id, lock=True)
        if look is None or look.state == looks.SETTLED:
            return
        if rerun_id is None and look.state == looks.REFUSED:
            reason = look.reason or reason
        findings = replace(Findings.read(look.findings), reruns=reruns)
        outcome = settled(findings, look.confirm, reruns, rerun_id=rerun_id, reason=reason)
        now = self._clock()
        values = {
            "state": looks.SETTLED,
            "findings": findings.stored(),
            "confirming_run_id": rerun_id or look.confirming_run_id,
            "reason": reason if outcome.undecided else None,
        }
        await looks.change(unit, run_id, values, now=now)
        await self._tell(unit, run, look, findings, outcome)
        if outcome.confirmed:
            detected = RegressionDetected(
                run_id=run.id,
                account_id=run.account_id,
                integration_id=run.integration_id,
                verdict=RegressionVerdict.REGRESSION,
                categories=tuple(outcome.confirmed),
                confirmed_by=rerun_id,
            )
            await outbox.add(unit, [outbox.Outgoing.of(detected)], now=now)
        unit.after_commit(lambda: _logged(run_id, rerun_id, outcome))

    async def _tell(
        self, unit: Unit, run: RunFacts, look: LookRecord, findings: Findings, outcome: Settled
    ) -> None:
        changes = (*outcome.confirmed, *outcome.undecided)
        if not changes:
            return
        kind = AlertKind.REGRESSION if outcome.confirmed else AlertKind.SUSPECTED

        def payload(alert_id: UUID) -> Payload:
            return regression_payload(
                kind,
                alert_id=alert_id,
                run=run,
                findings=findings,
                changes=changes,
                model_changes=[ModelChange.model_validate(one) for one in look.model_changes],
                links=self._teller.links,
            )

        await self._teller.tell(unit, run, kind, payload, occasion=RERUN)


def _judged(
    names: Sequence[str], now: Mapping[str, Scores], before: Sequence[Mapping[str, Scores]], drop: float
) -> Mapping[str, CategoryFinding]:
    """Judge each category that the rerun graded."""
    found = {
        name: confirm(now[name], [run[name] for run in before if name in run], drop=drop)
        for name in names
        if name in now
    }
    return {name: one for name, one in found.items() if one is not None}


def _how(rerun: RunFacts) -> str:
    return UNGRADED if rerun.status == "completed" else f"the rerun was {rerun.status}"


def _logged(run_id: UUID, rerun_id: UUID | None, outcome: Settled) -> None:
    log.info(
        "suspicion.settled",
        extra={
            "run": str(run_id),
            "rerun": None if rerun_id is None else str(rerun_id),
            "confirmed": len(outcome.confirmed),
            "undecided": len(outcome.undecided),
            "cleared": len(outcome.cleared),
        },
    )
