"""Schedules over HTTP, on both databases: saved, refused by their fields, counted from now."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import insert, select, update

from proctor_contracts.ids import new_id
from proctor_store.session import Database
from proctor_store.tables import Schedule, ScheduleTick
from tests.api.conftest import BOTH, Api, Time, case

pytestmark = BOTH

PATH = "/testing/schedules"


@pytest.fixture
async def bot(api: Api) -> str:
    bot = await api.integration()
    cases = [case(name="a", ref="A", tags=["x"]), case(name="b", ref="B"), case(name="c", isActive=False)]
    await api.data("POST", "/testing/cases/bulk", {"integrationId": bot, "cases": cases})
    return bot


def nightly(bot: str, **more: Any) -> dict[str, Any]:
    return {"name": "Nightly", "integrationId": bot, "cronExpression": "0 3 * * *", **more}


async def made(api: Api, bot: str, **more: Any) -> Any:
    return await api.data("POST", PATH, nightly(bot, **more), status=201)


async def row(database: Database, schedule: str) -> Any:
    async with database.reading() as unit:
        query = select(Schedule.__table__).where(Schedule.id == UUID(schedule))
        return (await unit.connection.execute(query)).one()


async def tick(database: Database, api: Api, schedule: str, **more: Any) -> UUID:
    """A planned time of a schedule, as the scheduler records it."""
    values: dict[str, Any] = {
        "id": new_id(),
        "account_id": api.caller.account_id,
        "schedule_id": UUID(schedule),
        "planned_at": datetime(2026, 5, 4, 3, tzinfo=UTC),
        "planned_local": "2026-05-04T03:00+00:00",
        "status": "waiting",
        "fires": 0,
        "missed": 0,
        "created_at": datetime(2026, 5, 4, 3, tzinfo=UTC),
    } | more
    async with database.transaction() as unit:
        await unit.connection.execute(insert(ScheduleTick).values(**values))
    return UUID(str(values["id"]))


async def test_the_three_fields_of_the_seed_are_enough(api: Api, bot: str) -> None:
    body = {"name": " RAMOSU — every 12 hours ", "integrationId": bot, "cronExpression": "0 */12 * * *"}
    schedule = await api.data("POST", PATH, body, status=201)
    assert schedule == await api.data("GET", f"{PATH}/{schedule['id']}")
    assert schedule["name"] == "RAMOSU — every 12 hours"
    assert (schedule["cronExpression"], schedule["timezone"]) == ("0 */12 * * *", "UTC")
    assert (schedule["integrationId"], schedule["integrationName"]) == (bot, "bot")
    assert (schedule["isActive"], schedule["waitingFor"]) == (True, None)
    assert schedule["mode"]["kind"] == "case"
    assert schedule["nextRunAt"] == "2026-05-05T00:00:00.000Z"
    assert schedule["nextRuns"] == [
        "2026-05-05T00:00:00.000Z", "2026-05-05T12:00:00.000Z", "2026-05-06T00:00:00.000Z",
    ]  # fmt: skip
    assert (schedule["lastRunAt"], schedule["lastRunId"], schedule["lastRunStatus"]) == (None, None, None)
    assert schedule["notifications"] == {
        "onFailure": True, "threshold": 1, "onRecovery": False, "onGateFailure": False, "gateThreshold": 1,
    }  # fmt: skip


async def test_times_are_read_and_shown_in_the_zone_of_the_schedule(api: Api, bot: str, time: Time) -> None:
    # Fixture C-01: on 29 March the clock in Kyiv goes from 03:00 to 04:00.
    time.moment = datetime(2026, 3, 28, 1, 30, tzinfo=UTC)
    schedule = await made(api, bot, cronExpression="30 3 * * *", timezone="Europe/Kyiv")
    assert schedule["nextRuns"] == [
        "2026-03-29T01:00:00.000Z", "2026-03-30T00:30:00.000Z", "2026-03-31T00:30:00.000Z",
    ]  # fmt: skip
    assert schedule["nextRunsLocal"] == [
        "2026-03-29T04:00+03:00", "2026-03-30T03:30+03:00", "2026-03-31T03:30+03:00",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "local"),
    [
        (
            {"cronExpression": "0 9 13 * 5", "after": "2026-02-01T00:00:00Z", "take": 6},
            ["02-06", "02-13", "02-20", "02-27", "03-06", "03-13"],
        ),
        # Vixie's reading: a day of month that begins with a star must hold together with the weekday.
        (
            {"cronExpression": "0 16 */2 * 6", "after": "2026-05-01T00:00:00Z", "take": 3},
            ["05-09", "05-23", "06-13"],
        ),
        ({"cronExpression": "0 9 * * 7", "after": "2026-01-01T00:00:00Z", "take": 1}, ["01-04"]),
        ({"cronExpression": "0 9 * * 5-7", "after": "2026-01-01T00:00:00Z", "take": 1}, ["01-02"]),
    ],
)
async def test_a_preview_shows_the_next_times_and_saves_nothing(
    api: Api, body: dict[str, Any], local: list[str]
) -> None:
    times = await api.data("POST", f"{PATH}/preview", body)
    assert [one[5:10] for one in times["local"]] == local
    assert [one[5:10] for one in times["nextRuns"]] == local
    assert (await api("GET", PATH)).json()["meta"]["total"] == 0


async def test_a_preview_begins_now_with_five_times_unless_it_is_told(api: Api) -> None:
    body = {"cronExpression": "@daily", "timezone": "Pacific/Auckland"}
    times = await api.data("POST", f"{PATH}/preview", body)
    assert times["local"][0] == "2026-05-06T00:00+12:00"
    assert len(times["nextRuns"]) == len(times["local"]) == 5


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"after": "2026-01-01T00:00:00"}, "after"),
        ({"after": "1500-01-01T00:00:00Z"}, "after"),
        ({"after": "9999-12-31T23:00:00-12:00"}, "after"),
        ({"take": 0}, "take"),
        ({"take": 21}, "take"),
        ({"take": True}, "take"),
        ({"cronExpression": "0 9 * *"}, "cronExpression"),
        ({"timezone": "Kyiv"}, "timezone"),
        ({"timezone": ""}, "timezone"),
    ],
)
async def test_a_preview_that_cannot_be_read_names_its_field(
    api: Api, more: dict[str, Any], path: str
) -> None:
    problem = await api.problem("POST", f"{PATH}/preview", {"cronExpression": "@daily"} | more)
    assert [one["path"] for one in problem["errors"]] == [path]


@pytest.mark.parametrize(
    ("cron", "code"),
    [
        # Fixture C-03.
        ("0 0 9 * * *", "cron_field_count"),
        ("0 0 9 * * ? *", "cron_field_count"),
        ("0 9 * *", "cron_field_count"),
        ("0 9 * * * root", "cron_field_count"),
        # Fixture C-04.
        ("0 9 * * 8", "cron_value"),
        ("0 9 L * *", "cron_not_supported"),
        ("0 9 * * 1#2", "cron_not_supported"),
        ("@reboot", "cron_not_supported"),
        ("*/4 * * * *", "cron_too_often"),
        ("0,58 * * * *", "cron_too_often"),
        ("0 0 31 2 *", "cron_never"),
        ("0 9 * * пн", "cron_value"),
        ("", None),
        ("0 9 * * *\x00", None),
        ("0 9 * * " + "1," * 200 + "1", None),
    ],
)
async def test_an_expression_that_cannot_be_used_is_refused_at_save(
    api: Api, bot: str, cron: str, code: str | None
) -> None:
    problem = await api.problem("POST", PATH, nightly(bot, cronExpression=cron))
    assert [one["path"] for one in problem["errors"]] == ["cronExpression"]
    if code is not None:
        assert (problem["code"], problem["errors"][0]["code"]) == (code, code)
    schedule = await made(api, bot)
    again = await api.problem("PATCH", f"{PATH}/{schedule['id']}", {"cronExpression": cron})
    assert [one["path"] for one in again["errors"]] == ["cronExpression"]
    assert await api.data("GET", f"{PATH}/{schedule['id']}") == schedule


async def test_expression_and_time_zone_are_refused_together(api: Api, bot: str) -> None:
    problem = await api.problem("POST", PATH, nightly(bot, cronExpression="* * * * *", timezone="Kyiv"))
    assert [one["path"] for one in problem["errors"]] == ["cronExpression", "timezone"]
    assert "Europe/Kyiv" in problem["errors"][1]["message"]


@pytest.mark.parametrize(
    ("more", "path", "code"),
    [
        ({"mode": "persona"}, "mode", "not_available_yet"),
        ({"mode": {"kind": "agentic", "testId": "x"}}, "mode.kind", "not_available_yet"),
        ({"mode": "every"}, "mode", "invalid"),
        ({"mode": {"kind": "case", "run": {"modle": "m"}}}, "mode.run.modle", "invalid"),
        ({"mode": {"run": {"repeats": 21}}}, "mode.run.repeats", "invalid"),
        ({"mode": {"run": {"pool": "nowhere"}}}, "mode.run.pool", "invalid"),
        ({"mode": {"run": {"weather": ["ok"]}}}, "mode.run.weather", "runner_calls_no_tools"),
        ({"mode": {"run": {"runner": "gateway", "provider": "http"}}}, "mode.run.runner",
         "runner_needs_model"),
        ({"mode": {"run": {"caseFilter": {"category": "Немає"}}}}, "mode.run.caseFilter", "no_cases"),
        ({"mode": {"run": {"tags": ["a\x00"]}}}, "mode.run.tags.0", "invalid"),
        ({"name": " "}, "name", "invalid"),
        ({"name": "a\x00b"}, "name", "invalid"),
        ({"integrationId": "x"}, "integrationId", "invalid"),
        ({"isActive": "maybe"}, "isActive", "invalid"),
        ({"notifications": {"threshold": 0}}, "notifications.threshold", "invalid"),
        ({"cron": "0 3 * * *"}, "cron", "invalid"),
    ],
)  # fmt: skip
async def test_a_schedule_that_cannot_be_played_is_refused_by_its_field(
    api: Api, bot: str, more: dict[str, Any], path: str, code: str
) -> None:
    problem = await api.problem("POST", PATH, nightly(bot) | more)
    assert (problem["errors"][0]["path"], problem["code"]) == (path, code), problem
    assert (await api("GET", PATH)).json()["meta"]["total"] == 0


async def test_choosing_cases_twice_or_some_that_do_not_exist_is_refused(api: Api, bot: str) -> None:
    there = (await api("GET", "/testing/cases")).json()["data"][0]["id"]
    both = {"run": {"caseIds": [there], "caseFilter": {}}}
    problem = await api.problem("POST", PATH, nightly(bot, mode=both))
    assert problem["errors"][0]["path"] == "mode.run.caseFilter"
    missing = {"run": {"caseIds": [there, str(uuid4())]}}
    problem = await api.problem("POST", PATH, nightly(bot, mode=missing), status=404)
    assert problem["errors"][0]["path"] == "mode.run.caseIds.1"
    schedule = await made(api, bot, mode={"run": {"caseIds": [there], "repeats": 2}})
    assert (schedule["mode"]["run"]["caseIds"], schedule["mode"]["run"]["repeats"]) == ([there], 2)


async def test_an_integration_without_active_cases_is_refused(api: Api) -> None:
    empty = await api.integration("empty")
    problem = await api.problem("POST", PATH, nightly(empty))
    assert (problem["code"], problem["errors"][0]["path"]) == ("no_active_cases", "integrationId")
    await api.data("POST", "/testing/cases", {"integrationId": empty} | case(isActive=False), status=201)
    assert (await api.problem("POST", PATH, nightly(empty)))["code"] == "no_active_cases"
    problem = await api.problem("POST", PATH, nightly(str(uuid4())), status=404)
    assert problem["code"] == "not_found"


async def test_a_version_of_another_agent_is_refused(api: Api, bot: str) -> None:
    other = await api.integration("other")
    (foreign,) = await api.data("GET", f"/testing/agents?integrationId={other}")
    mode = {"run": {"promptVersionId": foreign["currentVersionId"]}}
    problem = await api.problem("POST", PATH, nightly(bot, mode=mode))
    assert problem["errors"][0]["path"] == "mode.run.promptVersionId"


async def test_another_accounts_schedules_look_like_none(api: Api, bot: str) -> None:
    schedule = await made(api, bot)
    stranger = await api.another("umbrella")
    one = f"{PATH}/{schedule['id']}"
    unknown = f"{PATH}/{uuid4()}"
    for method, tail, body in (
        ("GET", "", None),
        ("PATCH", "", {"name": "x"}),
        ("POST", "/toggle", None),
        ("GET", "/ticks", None),
        ("DELETE", "", None),
    ):
        found = await stranger.problem(method, one + tail, body, status=404)
        assert found["detail"] == (await api.problem(method, unknown + tail, body, status=404))["detail"]
    await stranger.problem("POST", PATH, nightly(bot), status=404)
    await stranger.problem("GET", f"{PATH}?integrationId={bot}", status=404)
    assert (await stranger("GET", PATH)).json()["meta"]["total"] == 0
    assert await api.data("GET", one) == schedule


async def test_a_public_key_may_not_touch_schedules(api: Api, bot: str) -> None:
    schedule = await made(api, bot)
    key = await api.public_key()
    one = f"{PATH}/{schedule['id']}"
    for method, path, body in (
        ("GET", PATH, None),
        ("POST", PATH, nightly(bot)),
        ("POST", f"{PATH}/preview", {"cronExpression": "@daily"}),
        ("GET", one, None),
        ("PATCH", one, {"name": "x"}),
        ("POST", f"{one}/toggle", None),
        ("GET", f"{one}/ticks", None),
        ("DELETE", one, None),
    ):
        await api.problem(method, path, body, status=403, key=key)


async def test_a_list_is_filtered_and_paged(api: Api, bot: str) -> None:
    other = await api.integration("other")
    await api.data("POST", "/testing/cases", {"integrationId": other} | case(), status=201)
    first, second = await made(api, bot, name="1"), await made(api, bot, name="2", isActive=False)
    third = await made(api, other, name="3")

    async def listed(query: str) -> list[str]:
        return [one["name"] for one in (await api("GET", f"{PATH}{query}")).json()["data"]]

    assert await listed("") == ["3", "2", "1"]
    assert await listed(f"?integrationId={bot}") == ["2", "1"]
    assert await listed("?isActive=true") == ["3", "1"]
    assert await listed(f"?isActive=false&integrationId={bot}") == ["2"]
    page = (await api("GET", f"{PATH}?take=2")).json()
    assert (page["meta"]["total"], [one["id"] for one in page["data"]]) == (3, [third["id"], second["id"]])
    assert await listed(f"?take=2&cursor={page['meta']['nextCursor']}") == ["1"]
    assert first["nextRunAt"] is not None
    assert (second["nextRunAt"], second["nextRuns"], second["nextRunsLocal"]) == (None, [], [])


async def test_a_patch_changes_the_named_fields_and_counts_from_now_only_for_another_clock(
    api: Api, bot: str, database: Database, time: Time
) -> None:
    schedule = await made(api, bot)
    one = f"{PATH}/{schedule['id']}"
    time.pass_(3_600)
    await api.data("PATCH", one, {"notifications": {"onRecovery": True}})
    renamed = await api.data("PATCH", one, {"name": "Weekly", "notifications": {"threshold": 3}})
    assert renamed["notifications"]["onRecovery"] is True, "what is not named stays"
    assert (renamed["name"], renamed["notifications"]["threshold"]) == ("Weekly", 3)
    assert renamed["updatedAt"] > schedule["updatedAt"]
    counted = (await row(database, schedule["id"])).counted_from
    assert counted == time.now() - timedelta(hours=1)
    same = await api.data("PATCH", one, {"cronExpression": " 0  3 * * * ", "timezone": "UTC"})
    assert same == renamed
    assert (await row(database, schedule["id"])).counted_from == counted
    moved = await api.data("PATCH", one, {"cronExpression": "0 3 * * 1"})
    assert (moved["nextRunAt"], moved["name"]) == ("2026-05-11T03:00:00.000Z", "Weekly")
    assert (await row(database, schedule["id"])).counted_from == time.now()
    zoned = await api.data("PATCH", one, {"timezone": "America/New_York"})
    assert zoned["nextRunAt"] == "2026-05-11T07:00:00.000Z"
    assert await api.data("PATCH", one, {}) == zoned
    problem = await api.problem("PATCH", one, {"name": None, "mode": None, "cronExpression": None})
    assert [error["path"] for error in problem["errors"]] == ["cronExpression", "mode", "name"]
    problem = await api.problem("PATCH", one, {"integrationId": bot})
    assert problem["errors"][0]["path"] == "integrationId"
    problem = await api.problem("PATCH", one, {"mode": {"run": {"pool": "nowhere"}}})
    assert problem["errors"][0]["path"] == "mode.run.pool"


async def test_a_toggle_flips_and_counts_from_now(api: Api, bot: str, database: Database, time: Time) -> None:
    schedule = await made(api, bot, cronExpression="*/15 * * * *")
    toggle = f"{PATH}/{schedule['id']}/toggle"
    off = await api.data("POST", toggle)
    assert (off["isActive"], off["nextRunAt"], off["nextRuns"]) == (False, None, [])
    # Fixture C-09: a week later nothing of that week is caught up.
    time.pass_(7 * 86_400 + 60)
    on = await api.data("POST", toggle)
    assert (on["isActive"], on["nextRunAt"]) == (True, "2026-05-11T12:15:00.000Z")
    assert (await row(database, schedule["id"])).counted_from == time.now()
    assert (await api.data("PATCH", f"{PATH}/{schedule['id']}", {"isActive": True})) == on


async def test_a_schedule_whose_time_zone_is_gone_can_be_switched_off_but_not_on(
    api: Api, bot: str, database: Database
) -> None:
    schedule = (await made(api, bot))["id"]
    async with database.transaction() as unit:
        gone = update(Schedule).where(Schedule.id == UUID(schedule)).values(timezone="Mars/Base")
        await unit.connection.execute(gone)
    off = await api.data("POST", f"{PATH}/{schedule}/toggle")
    assert (off["isActive"], off["nextRunAt"], off["timezone"]) == (False, None, "Mars/Base")
    problem = await api.problem("POST", f"{PATH}/{schedule}/toggle", status=400)
    assert problem["code"] == "timezone_unknown"


async def test_what_waits_is_given_up_by_an_edit_or_a_switch_and_says_so(
    api: Api, bot: str, database: Database
) -> None:
    for change, reason in (
        ({"cronExpression": "0 4 * * *"}, "the schedule was given another clock"),
        ({"isActive": False}, "the schedule was switched off"),
    ):
        schedule = await made(api, bot)
        one = f"{PATH}/{schedule['id']}"
        async with database.transaction() as unit:
            await unit.connection.execute(
                update(Schedule).where(Schedule.id == UUID(schedule["id"])).values(waiting_for="quota")
            )
        await tick(database, api, schedule["id"])
        started = datetime(2026, 5, 3, 3, tzinfo=UTC)
        await tick(database, api, schedule["id"], planned_at=started, status="started", run_id=new_id())
        waiting = await api.data("PATCH", one, {"name": "still waits"})
        assert waiting["waitingFor"] == "quota"
        changed = await api.data("PATCH", one, change)
        assert changed["waitingFor"] is None
        ticks = await api.data("GET", f"{one}/ticks")
        assert [(each["status"], each["reason"]) for each in ticks] == [("started", None), ("missed", reason)]


async def test_a_schedule_without_cases_left_is_not_switched_on(api: Api, bot: str) -> None:
    schedule = await made(api, bot, isActive=False)
    for one in (await api("GET", "/testing/cases")).json()["data"]:
        await api.data("PATCH", f"/testing/cases/{one['id']}", {"isActive": False})
    problem = await api.problem("POST", f"{PATH}/{schedule['id']}/toggle")
    assert problem["code"] == "no_active_cases"
    assert (await api.data("GET", f"{PATH}/{schedule['id']}"))["isActive"] is False
    assert (await api.data("PATCH", f"{PATH}/{schedule['id']}", {"name": "x"}))["name"] == "x"


async def test_ticks_tell_what_became_of_each_planned_time(api: Api, bot: str, database: Database) -> None:
    schedule = await made(api, bot)
    path = f"{PATH}/{schedule['id']}/ticks"
    run = str(new_id())
    await tick(database, api, schedule["id"], status="missed", reason="the scheduler was away")
    at = datetime(2026, 5, 5, 3, tzinfo=UTC)
    await tick(
        database, api, schedule["id"],
        status="started", planned_at=at, fired_at=at, run_id=UUID(run), missed=2, fires=1,
    )  # fmt: skip
    page = (await api("GET", f"{path}?take=1")).json()
    assert page["data"] == [
        {
            "plannedAt": "2026-05-05T03:00:00.000Z",
            "plannedLocal": "2026-05-04T03:00+00:00",
            "status": "started",
            "firedAt": "2026-05-05T03:00:00.000Z",
            "runId": run,
            "missed": 2,
            "reason": None,
        }
    ]
    assert page["meta"]["total"] == 2
    (second,) = await api.data("GET", f"{path}?cursor={page['meta']['nextCursor']}")
    assert (second["status"], second["reason"]) == ("missed", "the scheduler was away")


async def test_a_deleted_schedule_takes_its_ticks_along(api: Api, bot: str, database: Database) -> None:
    schedule = await made(api, bot)
    await tick(database, api, schedule["id"])
    assert (await api("DELETE", f"{PATH}/{schedule['id']}")).status_code == 204
    await api.problem("DELETE", f"{PATH}/{schedule['id']}", status=404)
    async with database.reading() as unit:
        query = select(ScheduleTick.id).where(ScheduleTick.schedule_id == UUID(schedule["id"]))
        assert (await unit.connection.execute(query)).all() == []


async def test_edits_at_once_leave_one_of_them_whole(api: Api, bot: str) -> None:
    schedule = await made(api, bot)
    one = f"{PATH}/{schedule['id']}"
    hours = range(8)
    await asyncio.gather(
        *(api.data("PATCH", one, {"cronExpression": f"0 {h} * * *", "name": str(h)}) for h in hours),
        *(api.data("POST", f"{one}/toggle") for _ in range(4)),
    )
    left = await api.data("GET", one)
    assert left["isActive"] is True
    assert left["cronExpression"] == f"0 {left['name']} * * *"
    assert left["nextRunAt"] == left["nextRuns"][0]
