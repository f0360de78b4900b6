"""An integration with runs that are over, and an alerter that hears of them."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import pytest
from sqlalchemy import delete, insert, select, update

from proctor_alerter.app import AlerterService, create_alerter
from proctor_alerter.settings import AlerterSettings, Webhook
from proctor_chassis.bus import Meta
from proctor_chassis.egress import Operator
from proctor_chassis.metrics import Meters
from proctor_chassis.secrets import Redactor, Secrets
from proctor_contracts.alerts import WebhookFormat
from proctor_contracts.enums import RunStatus
from proctor_contracts.ids import new_id
from proctor_contracts.messages import RunCompleted
from proctor_contracts.summary import RunSummary
from proctor_store.repositories import alerts, deliveries, looks
from proctor_store.repositories.alerts import AlertRecord
from proctor_store.repositories.deliveries import DeliveryRecord
from proctor_store.repositories.looks import LookRecord
from proctor_store.session import Database
from proctor_store.tables import (
    Account,
    Alert,
    Integration,
    OutboxRow,
    Run,
    RunCase,
    Schedule,
    TestResult,
)
from tests.store.rows import opened
from tests.support.manual_clock import EPOCH, ManualClock

__all__ = ["KEY", "WEBHOOK", "World", "open_world"]

KEY = bytes(range(32))
WEBHOOK = Webhook(
    url="http://127.0.0.1:9/hook",
    format=WebhookFormat.JSON,
    rules=Operator().allowing("http://127.0.0.1:9/hook"),
    key=KEY,
)
Scores = Mapping[str, Sequence[int | str]]
"""By category what its cases got: a score, or a status that is none (`error`)."""


@dataclass
class World:
    """One integration of one account; runs end a minute apart unless they say when."""

    database: Database
    clock: ManualClock
    settings: AlerterSettings
    alerter: AlerterService
    account: UUID = field(default_factory=new_id)
    integration: UUID = field(default_factory=new_id)
    ended: int = 0

    async def prepare(self) -> None:
        async with self.database.transaction() as unit:
            await unit.connection.execute(
                insert(Account).values(id=self.account, name=str(self.account), created_at=EPOCH)
            )
            await unit.connection.execute(
                insert(Integration).values(
                    id=self.integration,
                    account_id=self.account,
                    name="Підтримка",
                    agent_prompt="",
                    provider="http",
                    created_at=EPOCH,
                    updated_at=EPOCH,
                )
            )

    def another(self, *, meters: Meters | None = None) -> World:
        """The same world with an alerter of its own, as a second process has."""
        alerter = made_alerter(self.database, self.clock, self.settings, meters=meters)
        return replace(self, alerter=alerter)

    async def own(self, alerts: Mapping[str, Any] | None) -> None:
        """Give the integration alerts of its own."""
        async with self.database.transaction() as unit:
            await unit.connection.execute(
                update(Integration).where(Integration.id == self.integration).values(alerts=alerts)
            )

    async def schedule(self, **notifications: Any) -> UUID:
        """Make a schedule with these notifications."""
        made = new_id()
        async with self.database.transaction() as unit:
            await unit.connection.execute(
                insert(Schedule).values(
                    id=made,
                    account_id=self.account,
                    integration_id=self.integration,
                    name="Щоночі",
                    cron_expression="0 3 * * *",
                    timezone="UTC",
                    mode={"kind": "case"},
                    notifications=notifications,
                    is_active=True,
                    counted_from=EPOCH,
                    created_at=EPOCH,
                    updated_at=EPOCH,
                )
            )
        return made

    async def run(self, scores: Scores, *, trials: int = 1, at: datetime | None = None, **more: Any) -> UUID:
        """Keep a run that is over, the cases of a category being the same in every run."""
        self.ended += 1
        run_id = new_id()
        row = {
            "id": run_id,
            "account_id": self.account,
            "integration_id": self.integration,
            "status": "completed",
            "trigger": "scheduled",
            "mode": "case",
            "provider": "http",
            "agent_prompt_snapshot": "",
            "prompt_overridden": False,
            "settings": {"runner": "scripted", "weather": []},
            "tags": [],
            "warnings": [],
            "window": 50,
            "total": 0,
            "remaining": 0,
            "agent_models": [],
            "judge_models": [],
            "created_at": EPOCH,
            "completed_at": at or EPOCH + timedelta(minutes=self.ended),
        }
        cases: list[dict[str, Any]] = []
        results: list[dict[str, Any]] = []
        for category, values in scores.items():
            for place, value in enumerate(values):
                case_id = uuid5(self.integration, f"{category}/{place}")
                cases.append(_case(run_id, case_id, category))
                results += [
                    _result(self.account, run_id, case_id, trial, value) for trial in range(1, trials + 1)
                ]
        for ordinal, result in enumerate(results):
            result["ordinal"] = ordinal
        async with self.database.transaction() as unit:
            await unit.connection.execute(insert(Run), [row | more])
            if cases:
                await unit.connection.execute(insert(RunCase), cases)
                await unit.connection.execute(insert(TestResult), results)
        return run_id

    async def history(self, scores: Scores, runs: int = 7) -> list[UUID]:
        """Keep so many runs with the same scores."""
        return [await self.run(scores) for _ in range(runs)]

    async def hears(self, run_id: UUID, *, delivery: int = 1) -> None:
        """Tell the alerter that a run is over."""
        message = RunCompleted(
            run_id=run_id,
            account_id=self.account,
            integration_id=self.integration,
            status=RunStatus.COMPLETED,
            completed_at=EPOCH,
            summary=RunSummary(),
        )
        (subscription,) = self.alerter.subscriptions()
        await subscription.handler(message, Meta(message.id(), str(run_id), delivery))

    async def look(self, run_id: UUID) -> LookRecord | None:
        async with self.database.reading() as unit:
            return await looks.get(unit, run_id)

    async def alerts(self, run_id: UUID) -> dict[str, AlertRecord]:
        """The alerts of a run by kind, those of its rerun with `+`."""
        async with self.database.reading() as unit:
            found = await alerts.of_run(unit, self.account, run_id)
        return {one.kind + ("+" if one.occasion == "rerun" else ""): one for one in found}

    async def untold(self, run_id: UUID) -> dict[str, str | None]:
        """Of each kind why it was not told."""
        return {kind: alert.untold for kind, alert in (await self.alerts(run_id)).items()}

    async def deliveries(self) -> list[DeliveryRecord]:
        """Every delivery, oldest first."""
        async with self.database.reading() as unit:
            ids = (
                (await unit.connection.execute(select(Alert.id).where(Alert.account_id == self.account)))
                .scalars()
                .all()
            )
            found = await deliveries.of_alerts(unit, ids)
        return sorted((one for many in found.values() for one in many), key=lambda one: one.id)

    async def status(self, run_id: UUID) -> list[str]:
        """What a run's row says of its end."""
        async with self.database.reading() as unit:
            return list((await unit.connection.execute(select(Run.status).where(Run.id == run_id))).scalars())

    async def sent(self) -> list[tuple[str, str]]:
        """Keys and bodies in the outbox."""
        async with self.database.reading() as unit:
            rows = await unit.connection.execute(select(OutboxRow.key, OutboxRow.body).order_by(OutboxRow.id))
            return [(key, body) for key, body in rows.all() if str(self.account) in body]


def _case(run_id: UUID, case_id: UUID, category: str) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "case_id": case_id,
        "name": str(case_id),
        "category": category,
        "priority": "medium",
        "weight": 1,
        "critical": False,
        "tags": [],
        "snapshot": {},
        "search_text": "",
    }


def _result(account: UUID, run_id: UUID, case_id: UUID, trial: int, value: int | str) -> dict[str, Any]:
    status = value if isinstance(value, str) else ("passed" if value >= 70 else "failed")
    score = None if isinstance(value, str) else value
    return {
        "id": new_id(),
        "account_id": account,
        "run_id": run_id,
        "case_id": case_id,
        "trial": trial,
        "status": status,
        "stage": "done",
        "history": [[status, score, score, score, False]],
    }


def made_alerter(
    database: Database, clock: ManualClock, settings: AlerterSettings, *, meters: Meters | None = None
) -> AlerterService:
    """An alerter that hears and sends nothing until it is told to."""
    redactor = Redactor()
    return create_alerter(
        database=database,
        settings=settings,
        secrets=Secrets(environ={}, embedded=False, redactor=redactor),
        redactor=redactor,
        clock=clock,
        meters=meters or Meters(),
        rng=random.Random(1),
    )


@asynccontextmanager
async def open_world(
    request: pytest.FixtureRequest, tmp_path: Path, *, settings: AlerterSettings | None = None
) -> AsyncIterator[World]:
    """A world on the database that the fixture's parameter names; the alerter hears and sends nothing yet."""
    async with opened(request, tmp_path) as database:
        clock = ManualClock()
        chosen = settings or AlerterSettings(webhook=WEBHOOK)
        alerter = made_alerter(database, clock, chosen)
        world = World(database=database, clock=clock, settings=chosen, alerter=alerter)
        await world.prepare()
        yield world
        await alerter.stop()
        # The next test of a module shares the database, and would send what is left here.
        async with database.transaction() as unit:
            await unit.connection.execute(delete(Account).where(Account.id == world.account))
