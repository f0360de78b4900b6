"""Confirming reruns: what a look at a run suspects is played again before anybody is alarmed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from http import HTTPStatus
from typing import Any

from proctor_api.auth import Caller
from proctor_api.errors import ApiError
from proctor_contracts.enums import Trigger
from proctor_contracts.gate import GateSettings
from proctor_contracts.messages import RegressionDetected
from proctor_contracts.run_settings import RunSettings
from proctor_store.repositories import confirmations, outbox, pipeline, runs
from proctor_store.repositories.confirmations import Asked
from proctor_store.session import Database, Unit

from .run_snapshots import snapshots_of
from .run_writing import Draft, RunWriter

__all__ = ["TAG", "Confirmation", "Confirmations"]

TAG = "confirming"
PATIENCE = timedelta(hours=1)
"""How long an account may be out of money or quota before its rerun is given up."""

_OPEN_GATE = GateSettings(min_pass_rate=0, max_error_rate=1)
_PASSES = {HTTPStatus.PAYMENT_REQUIRED, HTTPStatus.TOO_MANY_REQUESTS}
_log = logging.getLogger(__name__)


class Confirmation(StrEnum):
    """What became of one request."""

    STARTED = "started"
    KNOWN = "known"
    REFUSED = "refused"
    LATER = "later"

    @property
    def postponed(self) -> bool:
        """Whether nothing was decided, so that it is to be asked again."""
        return self is Confirmation.LATER


@dataclass(frozen=True, slots=True)
class Confirmations:
    """Starts one rerun for each look that asks for it; the look's lock lets one replica at a time decide."""

    database: Database
    clock: Callable[[], datetime]
    writer: RunWriter

    async def confirm(self, event: RegressionDetected) -> Confirmation:
        """Play the suspected categories again, or write to the look why that cannot be."""
        try:
            done = await self._start(event)
        except ApiError as error:
            done = await self._put_off(event, error)
        _log.info("regression.confirming", extra={"run": str(event.run_id), "outcome": done.value})
        return done

    async def resend(self) -> int:
        """Ask again for reruns, for a process whose bus ended with it; returns how many."""
        async with self.database.transaction() as unit:
            lost = await confirmations.outstanding(unit)
            return await outbox.add(unit, map(outbox.Outgoing.of, lost), now=self.clock())

    async def _start(self, event: RegressionDetected) -> Confirmation:
        async with self.database.transaction() as unit:
            look = await confirmations.asked(unit, event.run_id)
            if look is None:
                return Confirmation.KNOWN
            account = (await pipeline.lock_accounts(unit, [look.account_id]))[look.account_id]
            await self.writer.admit(unit, account)
            draft = await self._draft(unit, look, event)
            new = await self.writer.write(unit, Caller(look.account_id), draft)
            await confirmations.started(unit, look.run_id, new, now=self.clock())
        return Confirmation.STARTED

    async def _put_off(self, event: RegressionDetected, error: ApiError) -> Confirmation:
        """Wait for what passes; what does not, or takes too long, is the look's answer."""
        async with self.database.transaction() as unit:
            look = await confirmations.asked(unit, event.run_id)
            if look is None:
                return Confirmation.KNOWN
            if error.status in _PASSES and self.clock() - look.since < PATIENCE:
                return Confirmation.LATER
            reason = f"{error.code}: {error.detail}"
            await confirmations.refused(unit, look.run_id, reason, now=self.clock())
        return Confirmation.REFUSED

    async def _draft(self, unit: Unit, look: Asked, event: RegressionDetected) -> Draft:
        old = await runs.find(unit, look.account_id, look.run_id, keep=True)
        if old is None:
            raise ApiError(404, "run_gone", "the run was deleted, so its cases cannot be played again")
        case_ids = await runs.rerun_ids(unit, look.run_id, statuses=None, categories=event.confirm)
        if not case_ids:
            detail = f"the run has no case of {', '.join(event.confirm)}, so there is nothing to play again"
            raise ApiError(400, "no_cases", detail)
        return Draft(
            settings=_settings(old["settings"], trials=event.trials),
            case_ids=case_ids,
            read=snapshots_of(unit, look.run_id),
            trigger=Trigger(old["trigger"]),
            tags=_tags(old["tags"]),
            warnings=(),
            budget_micro=old["budget_micro"],
            prompt_overridden=old["prompt_overridden"],
            agent_id=old["agent_id"],
            prompt_version_id=old["prompt_version_id"],
            rerun_of=look.run_id,
            confirms_run_id=look.run_id,
        )


def _settings(old: Any, *, trials: int) -> RunSettings:
    """Keep what decides how a bot is tried; first attempts alone count, and no release waits for this."""
    changes = {"repeats": trials, "retries_on_failure": 0, "gate": _OPEN_GATE}
    return RunSettings.model_validate(old).model_copy(update=changes)


def _tags(old: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*old, TAG]))
