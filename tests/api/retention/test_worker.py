"""What retention takes away and what it leaves, on both databases."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import func, select

from proctor_api.retention import worker
from proctor_api.retention.ages import Ages
from proctor_api.retention.holding import LEASE
from proctor_api.retention.removing import GRACE
from proctor_store.repositories import retention_rows, schedules
from proctor_store.session import Database, StoreUnavailable
from proctor_store.tables import ResultPhase, RunCase, RunEventRow, TestResult
from tests.api.conftest import BOTH, Api
from tests.api.retention.conftest import House, Kept

pytestmark = BOTH


async def rows_of(database: Database, run: UUID) -> dict[str, Any]:
    async with database.reading() as unit:
        return {
            table.__tablename__: await unit.connection.scalar(
                select(func.count()).select_from(table).where(table.run_id == run)
            )
            for table in (RunCase, RunEventRow, TestResult, ResultPhase)
        }


def later(house: House) -> None:
    """Let the time pass after which marked runs are deleted."""
    house.time.pass_(GRACE.total_seconds() + 1)


async def test_old_runs_disappear_at_once_and_their_rows_a_look_later(house: House) -> None:
    old = {
        await house.run(status="completed", age=30.5),
        await house.run(status="failed", age=31),
        await house.run(status="cancelled", age=1.5),
    }
    kept = {
        await house.run(status="completed", age=29),
        await house.run(status="failed", age=3),
        await house.run(status="cancelled", age=0.5),
    }
    body = {"integrationId": house.bot, "caseFilter": {}}
    live = UUID((await house.api.data("POST", "/testing/runs", body, status=201))["id"])
    retention = house.retention()
    assert not await retention.look()
    assert {run for run in old | kept | {live} if await house.gone(run)} == old
    assert await house.ids() == old | kept | {live}
    assert house.told.overdue.total == pytest.approx(86_400)
    later(house)
    assert not await retention.look()
    assert await house.ids() == kept | {live}
    for run in old:
        assert set((await rows_of(house.database, run)).values()) == {0}
    for run in kept:
        whole = {"run_cases": 3, "run_events": 1, "test_results": 3, "result_phases": 3}
        assert await rows_of(house.database, run) == whole
    assert house.told.runs.by_label == {"completed": 1, "failed": 1, "cancelled": 1}
    assert house.told.rows.by_label == {
        "test_runs": 3, "run_cases": 9, "run_events": 3, "test_results": 9, "result_phases": 9
    }  # fmt: skip
    assert house.told.overdue.total == 0


async def test_a_marked_run_is_nowhere_to_be_seen(house: House) -> None:
    old, kept = await house.run(), await house.run(age=1)
    api = house.api
    before = await api("GET", f"/testing/runs?integrationId={house.bot}")
    assert before.json()["meta"]["total"] == 2
    history = f"/testing/cases/flaky?integrationId={house.bot}"
    assert (await api.data("GET", history))["runs"] == 2
    await house.retention().look()
    for path in ("", "/results", "/export", "/events", f"/diff/{kept}"):
        assert (await api("GET", f"/testing/runs/{old}{path}")).status_code == 404, path
    assert (await api("GET", f"/testing/runs/{kept}/diff/{old}")).status_code == 404
    for path in ("/cancel", "/rerun"):
        assert (await api("POST", f"/testing/runs/{old}{path}", {})).status_code == 404, path
    assert (await api("DELETE", f"/testing/runs/{old}")).status_code == 404
    after = (await api("GET", f"/testing/runs?integrationId={house.bot}")).json()
    assert ([run["id"] for run in after["data"]], after["meta"]["total"]) == ([str(kept)], 1)
    assert (await api.data("GET", history))["runs"] == 1
    assert (await api.problem("GET", f"{history}&likeRunId={old}", status=404))["code"] == "not_found"
    assert (await api("GET", f"/testing/runs/{kept}")).status_code == 200


async def test_an_idempotency_key_starts_a_new_run_once_the_old_one_is_gone(house: House) -> None:
    body, key = {"integrationId": house.bot, "caseFilter": {}}, {"Idempotency-Key": "nightly"}
    first = await house.api.data("POST", "/testing/runs", body, status=201, headers=key)
    assert (await house.api.data("POST", "/testing/runs", body, headers=key))["id"] == first["id"]
    await house.end(UUID(first["id"]))
    await house.retention().look()
    second = await house.api.data("POST", "/testing/runs", body, status=201, headers=key)
    assert second["id"] != first["id"]


async def test_a_run_that_is_played_again_waits_for_the_rerun(house: House) -> None:
    old = await house.run()
    again = await house.api.data("POST", f"/testing/runs/{old}/rerun", {}, status=201)
    retention = house.retention()
    await retention.look()
    assert not await house.gone(old)
    await house.end(UUID(again["id"]), age=0)
    await retention.look()
    assert await house.gone(old)
    assert not await house.gone(UUID(again["id"]))


async def test_the_oldest_run_that_waits_holds_up_no_other(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "RUNS_AT_ONCE", 2)
    ids = [await house.run(age=age) for age in (36, 35, 34, 33, 32)]
    for run in ids[:3]:
        await house.api.data("POST", f"/testing/runs/{run}/rerun", {}, status=201)
    await house.retention().look()
    assert [await house.gone(run) for run in ids] == [False, False, False, True, True]


async def test_one_look_marks_so_many_and_says_that_more_wait(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "MOST_MARKED", 2)
    ids = [await house.run(age=age) for age in (33, 32, 31)]
    retention = house.retention()
    assert await retention.look()
    assert [await house.gone(run) for run in ids] == [True, True, False]
    assert not await retention.look()
    assert await house.gone(ids[2])


async def test_what_is_kept_for_ever_stays(house: House) -> None:
    runs = {await house.run(status=status, age=5_000) for status in ("completed", "failed", "cancelled")}
    retention = house.retention(ages=Ages(runs=None, cancelled=None, alerts=None))
    await retention.look()
    assert not any([await house.gone(run) for run in runs])
    assert house.told.overdue.total == 0


async def test_interrupted_it_goes_on_with_the_next_look(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, kept = await house.run(), await house.run(age=1)
    await house.retention().look()
    later(house)
    whole = retention_rows.remove_events

    async def dies(*_args: Any, **_more: Any) -> Any:
        raise StoreUnavailable("the server closed the connection")

    monkeypatch.setattr(retention_rows, "remove_events", dies)
    with pytest.raises(StoreUnavailable):
        await house.retention().look()
    seen = await rows_of(house.database, old)
    assert (seen["test_results"], seen["run_events"], seen["run_cases"]) == (0, 1, 3)
    monkeypatch.setattr(retention_rows, "remove_events", whole)
    house.time.pass_(LEASE.total_seconds() + 1)
    # Another process, which knows nothing of the first one.
    await house.retention(owner="two").look()
    assert await house.ids() == {kept}


async def test_one_replica_works_at_a_time(house: House) -> None:
    old = await house.run()
    assert not await house.retention(owner="one").look()
    assert await house.gone(old)
    later(house)
    other = house.retention(owner="two")
    await other.look()
    assert await house.ids() == {old}
    house.time.pass_(LEASE.total_seconds())
    await other.look()
    assert await house.ids() == set()


async def test_deleting_leaves_most_of_the_time_to_others(house: House) -> None:
    await house.run()
    retention = house.retention()
    began = house.clock.monotonic
    ticks = iter(range(1_000_000))
    # Each look at the clock finds it a second later: every batch takes one.
    house.clock.monotonic = lambda: began() + next(ticks)  # type: ignore[method-assign]  # a slow database
    await retention.look()
    later(house)
    house.clock.pauses.clear()
    await retention.look()
    assert house.clock.pauses
    assert set(house.clock.pauses) == {4.0}


async def test_a_comparison_disappears_with_its_runs(house: House, api: Api) -> None:
    agent = (await api.data("GET", f"/testing/agents?integrationId={house.bot}"))[0]
    version = await api.data("POST", f"/testing/agents/{agent['id']}/versions", {"prompt": "p"}, status=201)
    matrix = [{"promptVersionId": agent["currentVersionId"]}, {"promptVersionId": version["id"]}]
    made = await api.data(
        "POST", f"/testing/compare/agents/{agent['id']}", {"matrix": matrix, "caseFilter": {}}, status=201
    )
    cells = [UUID(cell["runId"]) for cell in made["cells"]]
    path = f"/testing/compare/{made['id']}"
    await house.end(cells[0], age=40)
    retention = house.retention()
    await retention.look()
    assert not await house.gone(cells[0])
    await house.end(cells[1], age=31)
    await retention.look()
    assert [await house.gone(cell) for cell in cells] == [True, True]
    assert (await api("GET", path)).status_code == 404
    assert (await api("GET", "/testing/compare")).json()["meta"]["total"] == 0


async def test_a_comparison_shows_no_run_that_its_user_deleted_and_ends_with_the_last(
    house: House, api: Api
) -> None:
    agent = (await api.data("GET", f"/testing/agents?integrationId={house.bot}"))[0]
    version = await api.data("POST", f"/testing/agents/{agent['id']}/versions", {"prompt": "p"}, status=201)
    matrix = [{"promptVersionId": agent["currentVersionId"]}, {"promptVersionId": version["id"]}]
    made = await api.data(
        "POST", f"/testing/compare/agents/{agent['id']}", {"matrix": matrix, "caseFilter": {}}, status=201
    )
    cells, path = [cell["runId"] for cell in made["cells"]], f"/testing/compare/{made['id']}"
    for cell in cells:
        await house.end(UUID(cell), age=0)
    assert (await api("DELETE", f"/testing/runs/{cells[0]}")).status_code == 204
    seen = await api.data("GET", path)
    assert [cell["run"] is None for cell in seen["cells"]] == [True, False]
    assert [[cell["trials"] for cell in row["cells"]] for row in seen["rows"]] == [[0, 1]] * 3
    assert (await api("DELETE", f"/testing/runs/{cells[1]}")).status_code == 204
    later(house)
    await house.retention().look()
    assert await house.ids() == set()
    assert (await api("GET", path)).status_code == 404


async def test_a_run_is_stored_before_it_disappears(house: House) -> None:
    archive = Kept()
    old = await house.run()
    whole = (await house.api("GET", f"/testing/runs/{old}/export")).content
    await house.retention(archive=archive).look()
    (name,) = archive.files
    assert name == f"{house.api.caller.account_id}/2026-04/{old}.json.gz"
    assert gzip.decompress(archive.files[name]) == whole
    assert await house.gone(old)
    assert house.told.exports.by_label == {"stored": 1}


@pytest.mark.parametrize(("active", "left"), [(True, 3), (False, 0)])
async def test_runs_that_an_active_schedules_notices_look_back_to_stay(
    house: House, *, active: bool, left: int
) -> None:
    wanted = {"threshold": 2}
    body = {"name": "monthly", "integrationId": house.bot, "cronExpression": "@monthly"}
    made = await house.api.data("POST", "/testing/schedules", body | {"notifications": wanted}, status=201)
    if not active:
        await house.api.data("POST", f"/testing/schedules/{made['id']}/toggle")
    ids = [
        await house.run(status="failed", age=31 * n, schedule_id=UUID(made["id"])) for n in (6, 5, 4, 3, 2)
    ]
    cancelled = await house.run(status="cancelled", age=40, schedule_id=UUID(made["id"]))
    await house.retention().look()
    assert [await house.gone(run) for run in ids] == [True] * (5 - left) + [False] * left
    assert await house.gone(cancelled)


@pytest.mark.parametrize(("ahead", "gone"), [(40, False), (-40, False), (0, True)])
async def test_a_clock_that_is_wrong_deletes_nothing(house: House, ahead: int, *, gone: bool) -> None:
    run = await house.run(age=31 if ahead == 0 else 1)
    if ahead < 0:
        # Not the database's clock is wrong but this process's.
        house.time.pass_(-ahead * 86_400)
    await house.retention(database_ahead=timedelta(days=ahead)).look()
    assert await house.gone(run) is gone


async def test_the_databases_time_is_asked_where_it_has_one(database: Database) -> None:
    far = datetime(9999, 1, 1, tzinfo=UTC)
    async with database.reading() as unit:
        now = min(far, await schedules.moment(unit, clock=far))
    assert (now == far) is (database.dialect == "sqlite")
