"""Deliveries are claimed by one sender at a time, fairly by receiver, and every try is kept."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import delete, insert

from proctor_contracts.ids import new_id
from proctor_store.paging import Page
from proctor_store.repositories import alerts, deliveries
from proctor_store.repositories.alerts import AlertQuery, AlertRecord
from proctor_store.repositories.deliveries import AttemptRecord, Claimed, DeliveryRecord
from proctor_store.session import Database, Unit
from proctor_store.tables import Account, Integration
from tests.store.rows import AT, BOTH, POSTGRESQL_ONLY, opened

UNTIL = AT + timedelta(minutes=1)


@pytest.fixture(params=BOTH)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with opened(request, tmp_path) as database:
        yield database
        async with database.transaction() as unit:
            await unit.connection.execute(delete(Account))


async def integration(unit: Unit) -> tuple[UUID, UUID]:
    account, made = new_id(), new_id()
    await unit.connection.execute(insert(Account).values(id=account, name=str(account), created_at=AT))
    await unit.connection.execute(
        insert(Integration).values(
            id=made, account_id=account, name="бот", agent_prompt="", provider="http",
            alerts={"webhookUrl": "https://hooks.example/own"}, created_at=AT, updated_at=AT,
        )
    )  # fmt: skip
    return account, made


def alert(account: UUID, integration: UUID, **more: object) -> AlertRecord:
    made = AlertRecord(
        id=new_id(), account_id=account, integration_id=integration, run_id=new_id(), schedule_id=None,
        kind="regression", occasion="run", verdict="regression", payload={}, untold=None, created_at=AT,
    )  # fmt: skip
    return replace(made, **more)  # type: ignore[arg-type]  # fields by name


async def delivery(
    unit: Unit, account: UUID, integration: UUID, *, source: str = "integration", due: datetime = AT
) -> DeliveryRecord:
    told = alert(account, integration)
    assert await alerts.create(unit, told, written='{"a": 1}')
    made = DeliveryRecord(
        id=new_id(), account_id=account, alert_id=told.id, integration_id=integration, source=source,
        target="https://hooks.example/***", format="json", body="{}", state="pending", tries=0,
        next_attempt_at=due, claimed_until=None, created_at=AT, updated_at=AT,
    )  # fmt: skip
    await deliveries.create(unit, made)
    return made


async def claimed(
    unit: Unit, *, now: datetime = AT, most: int = 9, each: int = 9, **busy: int
) -> list[Claimed]:
    return list(
        await deliveries.claim(
            unit, now=now, until=now + timedelta(minutes=1), most=most, each=each, busy=busy
        )
    )


def attempt(of: DeliveryRecord, status: int | None = 500) -> AttemptRecord:
    return AttemptRecord(
        delivery_id=of.id, number=1, at=AT, duration_ms=12, status=status, error=None, detail="зламано"
    )


async def finished(unit: Unit, of: DeliveryRecord, state: str, again: datetime | None = None) -> int:
    return await deliveries.finish(
        unit, of, attempt(of), state=state, target="https://new.example/***", next_attempt_at=again, now=AT
    )


async def test_what_is_due_is_claimed_once_until_the_lease_ends(database: Database) -> None:
    async with database.transaction() as unit:
        owner = await integration(unit)
        first = await delivery(unit, *owner)
        await delivery(unit, *owner, due=AT + timedelta(hours=1))
    async with database.transaction() as unit:
        (one,) = await claimed(unit)
        assert (one.delivery.id, one.delivery.claimed_until) == (first.id, UNTIL)
        assert one.alerts == {"webhookUrl": "https://hooks.example/own"}
    async with database.transaction() as unit:
        assert await claimed(unit, now=AT + timedelta(seconds=59)) == []
        assert [one.delivery.id for one in await claimed(unit, now=UNTIL)] == [first.id]


async def test_a_full_receiver_leaves_the_others_their_turn(database: Database) -> None:
    async with database.transaction() as unit:
        slow, quick = await integration(unit), await integration(unit)
        behind = [await delivery(unit, *slow) for _ in range(5)]
        operators = [await delivery(unit, *quick, source="environment") for _ in range(3)]
        other = await delivery(unit, *quick, due=AT + timedelta(seconds=1))
    later = AT + timedelta(seconds=2)
    async with database.transaction() as unit:
        taken = [one.delivery.id for one in await claimed(unit, now=later, each=2)]
        assert taken == [behind[0].id, behind[1].id, operators[0].id, operators[1].id, other.id]
    async with database.transaction() as unit:
        busy = {str(slow[1]): 2, "environment": 2}
        assert await claimed(unit, now=later, each=2, **busy) == []
        assert [one.delivery.id for one in await claimed(unit, now=later, each=2, environment=2)] == [
            behind[2].id,
            behind[3].id,
        ]


async def test_no_more_are_claimed_than_can_be_sent(database: Database) -> None:
    async with database.transaction() as unit:
        owner = await integration(unit)
        for _ in range(4):
            await delivery(unit, *owner)
        assert len(await claimed(unit, most=3)) == 3
        assert await claimed(unit, most=0) == []


async def test_every_try_is_kept_and_numbered_over_redeliveries(database: Database) -> None:
    async with database.transaction() as unit:
        owner = await integration(unit)
        made = await delivery(unit, *owner)
        (first,) = await claimed(unit)
        assert await finished(unit, first.delivery, "pending", AT + timedelta(seconds=10)) == 1
        (second,) = await claimed(unit, now=AT + timedelta(seconds=10))
        assert second.delivery.tries == 1
        assert await finished(unit, second.delivery, "failed") == 2
        assert await claimed(unit, now=AT + timedelta(days=1)) == []
        assert await deliveries.redeliver(unit, owner[0], made.id, now=AT)
        (third,) = await claimed(unit)
        assert (third.delivery.tries, third.delivery.body) == (0, "{}")
        assert await finished(unit, third.delivery, "delivered") == 3
        kept = (await deliveries.attempts_of(unit, [made.id]))[made.id]
        assert [(one.number, one.status, one.detail) for one in kept] == [
            (number, 500, "зламано") for number in (1, 2, 3)
        ]
        (now,) = (await deliveries.of_alerts(unit, [made.alert_id]))[made.alert_id]
        assert (now.state, now.tries, now.target, now.claimed_until) == (
            "delivered",
            1,
            "https://new.example/***",
            None,
        )


async def test_who_lost_the_claim_changes_nothing_but_by_an_arrival(database: Database) -> None:
    async with database.transaction() as unit:
        owner = await integration(unit)
        made = await delivery(unit, *owner)
        (slow,) = await claimed(unit)
        (second,) = await claimed(unit, now=UNTIL)
        await finished(unit, slow.delivery, "failed")
        (now,) = (await deliveries.of_alerts(unit, [made.alert_id]))[made.alert_id]
        assert (now.state, now.claimed_until) == ("pending", second.delivery.claimed_until)
        await finished(unit, slow.delivery, "delivered")
        (now,) = (await deliveries.of_alerts(unit, [made.alert_id]))[made.alert_id]
        assert now.state == "delivered"


async def test_a_redelivery_needs_the_account_and_an_end(database: Database) -> None:
    async with database.transaction() as unit:
        owner = await integration(unit)
        made = await delivery(unit, *owner)
        assert not await deliveries.redeliver(unit, owner[0], made.id, now=AT)
        (first,) = await claimed(unit)
        await finished(unit, first.delivery, "failed")
        assert not await deliveries.redeliver(unit, new_id(), made.id, now=AT)
        assert await deliveries.oldest_pending(unit) is None
        assert await deliveries.redeliver(unit, owner[0], made.id, now=AT)
        assert await deliveries.oldest_pending(unit) == AT


async def test_an_integration_that_is_gone_takes_its_deliveries_along(database: Database) -> None:
    async with database.transaction() as unit:
        owner = await integration(unit)
        await delivery(unit, *owner)
        await unit.connection.execute(delete(Integration))
        assert await claimed(unit) == []


@POSTGRESQL_ONLY
async def test_two_senders_never_claim_the_same_delivery(database: Database) -> None:
    async with database.transaction() as unit:
        owner = await integration(unit)
        made = {(await delivery(unit, *owner)).id for _ in range(4)}
    async with database.transaction() as one, database.transaction() as two:
        first = {each.delivery.id for each in await claimed(one, most=2)}
        # Whoever comes at the same moment waits for nobody, and finds the rest a moment later.
        assert await claimed(two, most=4) == []
    async with database.transaction() as unit:
        second = {each.delivery.id for each in await claimed(unit, most=4)}
    assert (len(first), len(second)) == (2, 2)
    assert first | second == made


async def test_an_alert_is_one_of_its_kind_and_occasion(database: Database) -> None:
    async with database.transaction() as unit:
        owner = await integration(unit)
        first = alert(*owner)
        assert await alerts.create(unit, first, written='{"words": "як є", "n": 1.50}')
        assert not await alerts.create(unit, replace(first, id=new_id()), written="{}")
        again = replace(first, id=new_id(), occasion="rerun")
        assert await alerts.create(unit, again, written="{}")
        assert [one.id for one in await alerts.of_run(unit, owner[0], first.run_id)] == [first.id, again.id]
        found = await alerts.get(unit, owner[0], first.id)
        assert found is not None
        assert found.payload == {"words": "як є", "n": 1.5}
        assert await alerts.get(unit, new_id(), first.id) is None


async def test_alerts_are_listed_newest_first_by_what_is_asked(database: Database) -> None:
    async with database.transaction() as unit:
        owner, other = await integration(unit), await integration(unit)
        made = [alert(*owner, kind=kind) for kind in ("regression", "drift", "regression")]
        for one in (*made, alert(*other)):
            assert await alerts.create(unit, one, written="{}")
        page = Page(take=2)
        rows = await alerts.listed(unit, owner[0], AlertQuery(), page)
        assert ([one.id for one in rows.items], rows.total) == ([made[2].id, made[1].id], 3)
        assert rows.next_cursor is not None
        rows = await alerts.listed(unit, owner[0], AlertQuery(kind="regression"), page)
        assert [one.id for one in rows.items] == [made[2].id, made[0].id]
        rows = await alerts.listed(unit, owner[0], AlertQuery(run_id=made[1].run_id), page)
        assert [one.id for one in rows.items] == [made[1].id]
        assert (await alerts.listed(unit, owner[0], AlertQuery(integration_id=other[1]), page)).total == 0
