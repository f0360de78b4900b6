"""Notices that runs of a schedule go wrong in a row, and that they work again."""

from __future__ import annotations

from uuid import UUID

from proctor_contracts.enums import RunStatus
from proctor_contracts.gate import GateOutcome
from proctor_contracts.schedules import Notifications
from proctor_grading.streaks import Ended, Notice, notices
from proctor_store.repositories import looks
from proctor_store.repositories.looks import RunFacts
from proctor_store.session import Database

from .payloads import NOTICE_KINDS, Payload, notice_payload
from .telling import Teller

__all__ = ["Noticing"]

REMEMBERED = 400
"""Runs of a schedule that are looked at: thresholds reach 100, and between them lie undecided gates."""


class Noticing:
    """Tells of a schedule's runs in a row; a run that it hears of again is told of once."""

    def __init__(self, *, database: Database, teller: Teller) -> None:
        self._database = database
        self._teller = teller

    async def ended(self, run: RunFacts) -> None:
        """Look at the runs of a schedule up to this one."""
        if run.schedule_id is None or run.rerun_of is not None or run.status == RunStatus.CANCELLED:
            return
        async with self._database.transaction() as unit:
            known = await looks.notified(unit, run)
            if known is None:
                return
            name, wanted = known[0], Notifications.model_validate(known[1])
            row = [
                Ended(RunStatus(status), None if gate is None else GateOutcome(gate))
                for status, gate in await looks.of_schedule(unit, run, take=REMEMBERED)
            ]
            for notice in notices(
                row,
                failing=wanted.threshold if wanted.on_failure else None,
                recovered=wanted.threshold if wanted.on_recovery else None,
                gate_lost=wanted.gate_threshold if wanted.on_gate_failure else None,
            ):
                schedule_id = run.schedule_id

                def payload(alert_id: UUID, notice: Notice = notice, schedule: UUID = schedule_id) -> Payload:
                    return notice_payload(
                        notice,
                        alert_id=alert_id,
                        run=run,
                        schedule_id=schedule,
                        schedule_name=name,
                        links=self._teller.links,
                    )

                await self._teller.tell(unit, run, NOTICE_KINDS[notice.told], payload)
