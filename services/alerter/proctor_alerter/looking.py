"""Looks at a run that completed: its categories against the runs before, and what follows."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from proctor_contracts.alerts import AlertKind, CategoryChange, ModelChange
from proctor_contracts.messages import RegressionDetected
from proctor_contracts.verdicts import RegressionVerdict
from proctor_grading.baseline import FirstAttempts, Providers, model_changes
from proctor_grading.regression import CONFIRMING_TRIALS, first_look
from proctor_store.repositories import alerts, looks, outbox
from proctor_store.repositories.looks import LookRecord, RunFacts
from proctor_store.session import Database, Unit

from .choosing import Choice, Untold, choose
from .findings import Findings
from .payloads import Payload, regression_payload
from .telling import Teller

__all__ = ["Looking", "gathered"]

SCANNED = 200
"""Runs looked through for those that were played alike."""

MOST_NEWER = 25
"""Newer runs that are asked whether they played what fell."""

_KNOWN = frozenset({None, Untold.STALE_REPEAT})
_log = logging.getLogger(__name__)


class Looking:
    """Looks at each comparable run once, however often and in whatever order it hears of them."""

    def __init__(self, *, database: Database, teller: Teller, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._teller = teller
        self._clock = clock

    async def look(self, run: RunFacts) -> None:
        """Compare a run with those before it; keep what was found, tell it, ask for a rerun.

        Raises:
            Vanished: when the run was deleted meanwhile.
        """
        chosen = self._teller.policy(run.alerts)
        async with self._database.reading() as unit:
            if await looks.get(unit, run.id) is not None:
                return
            before = await looks.earlier(unit, run, take=chosen.lookback, scan=SCANNED)
            scores = await gathered(unit, [run.id, *(one.id for one in before)])
        # Counting out a large category takes a while, and other runs are looked at meanwhile.
        found = await asyncio.to_thread(
            first_look, scores.of(run.id), [scores.of(one.id) for one in before], drop=chosen.delta
        )
        changed = model_changes(_providers(before[0]), _providers(run)) if before else ()
        async with self._database.transaction() as unit:
            await looks.lock_integration(unit, run.integration_id)
            findings = Findings(threshold=chosen.delta, runs_used=len(before), categories=found)
            findings = replace(findings, stale=await _stale(unit, run, findings.fallen))
            last = {
                name: next((one.id for one in before if name in scores.of(one.id)), None)
                for name in findings.fallen
            }
            told = await _told(unit, run, last) if findings.stale else frozenset()
            choice = choose(findings, changed, chosen, told_before=told)
            record = self._record(run, before, findings, changed, choice)
            if await looks.create(unit, record):
                await self._follow(unit, run, findings, changed, choice)
                unit.after_commit(lambda: _looked(run, findings, choice))

    def _record(
        self,
        run: RunFacts,
        before: Sequence[RunFacts],
        findings: Findings,
        changed: Sequence[ModelChange],
        choice: Choice,
    ) -> LookRecord:
        now = self._clock()
        return LookRecord(
            run_id=run.id,
            account_id=run.account_id,
            integration_id=run.integration_id,
            state=looks.ASKED if choice.confirm else looks.SETTLED,
            findings=findings.stored(),
            baseline_run_ids=[str(one.id) for one in before],
            model_changes=[one.model_dump(mode="json", by_alias=True) for one in changed],
            confirm=list(choice.confirm),
            confirming_run_id=None,
            reason=choice.reason,
            created_at=now,
            updated_at=now,
        )

    async def _follow(
        self,
        unit: Unit,
        run: RunFacts,
        findings: Findings,
        changed: Sequence[ModelChange],
        choice: Choice,
    ) -> None:
        for draft in choice.drafts:

            def payload(
                alert_id: UUID,
                kind: AlertKind = draft.kind,
                changes: Sequence[CategoryChange] = draft.changes,
            ) -> Payload:
                return regression_payload(
                    kind,
                    alert_id=alert_id,
                    run=run,
                    findings=findings,
                    changes=changes,
                    model_changes=changed,
                    links=self._teller.links,
                )

            await self._teller.tell(unit, run, draft.kind, payload, untold=draft.untold)
        if not choice.fallen:
            return
        detected = RegressionDetected(
            run_id=run.id,
            account_id=run.account_id,
            integration_id=run.integration_id,
            verdict=choice.fallen[0].verdict,
            categories=tuple(choice.fallen),
            confirm=tuple(choice.confirm),
            trials=CONFIRMING_TRIALS,
        )
        if choice.confirm or detected.verdict is RegressionVerdict.REGRESSION:
            await outbox.add(unit, [outbox.Outgoing.of(detected)], now=self._clock())


async def gathered(unit: Unit, run_ids: Sequence[UUID]) -> FirstAttempts:
    """Read the graded first attempts of some runs."""
    scores = FirstAttempts()
    async for page in looks.pages(unit, run_ids):
        for row in page:
            scores.add(row["run_id"], row["category"], row["case_id"], row["history"])
    return scores


async def _stale(unit: Unit, run: RunFacts, fallen: Sequence[str]) -> bool:
    """Whether newer runs say more of what fell, which they do of categories that they played."""
    newer = await looks.later(unit, run, take=MOST_NEWER, scan=SCANNED)
    return bool(newer) and await looks.played(unit, newer, fallen) == frozenset(fallen)


async def _told(unit: Unit, run: RunFacts, last: Mapping[str, UUID | None]) -> frozenset[str]:
    """Name the categories that were told as regressed for their `last` run, or for the one before that."""
    told: set[str] = set()
    for before in {one for one in last.values() if one is not None}:
        told.update(
            change["category"]
            for alert in await alerts.of_run(unit, run.account_id, before)
            if alert.kind == AlertKind.REGRESSION and alert.untold in _KNOWN
            for change in alert.payload["regressions"]
            if change["verdict"] == RegressionVerdict.REGRESSION and last.get(change["category"]) == before
        )
    return frozenset(told)


def _providers(run: RunFacts) -> Providers:
    return Providers(
        agent_models=run.agent_models,
        judge_models=run.judge_models,
        agent_fingerprints=run.agent_fingerprints or (),
        judge_fingerprints=run.judge_fingerprints or (),
    )


def _looked(run: RunFacts, findings: Findings, choice: Choice) -> None:
    _log.info(
        "run.looked_at",
        extra={
            "run": str(run.id),
            "verdict": findings.verdict.value,
            "runs_used": findings.runs_used,
            "confirm": len(choice.confirm),
            "stale": findings.stale,
        },
    )
