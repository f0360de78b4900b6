"""Histories of cases over HTTP, on both databases; results are written as the collector leaves them."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select, update

from proctor_store.session import Database
from proctor_store.tables import Run, TestResult
from tests.api.conftest import BOTH, Api, Time, case

pytestmark = BOTH


@pytest.fixture
async def bot(api: Api) -> str:
    bot = await api.integration(agentPrompt="Ти — асистент.")
    cases = [case(name=name, ref=name.upper()) for name in ("a", "b")]
    await api.data("POST", "/testing/cases/bulk", {"integrationId": bot, "cases": cases})
    return bot


class Played:
    """Plays runs whose first attempts end as told."""

    def __init__(self, api: Api, database: Database, time: Time) -> None:
        self.api, self.database, self.time = api, database, time

    async def __call__(self, bot: str, ends: dict[str, str], **more: Any) -> UUID:
        """Of each case (by name), one letter a trial: p passed, f failed, r passed by a retry, e error."""
        self.time.pass_(60)
        repeats = max(map(len, ends.values()))
        body = {"integrationId": bot, "caseFilter": {}, "repeats": repeats, **more}
        run = UUID((await self.api.data("POST", "/testing/runs", body, status=201))["id"])
        await self.end(run, ends)
        return run

    async def end(self, run: UUID, ends: dict[str, str]) -> None:
        names = {one["id"]: one["name"] for one in (await self.api("GET", "/testing/cases")).json()["data"]}
        first = {"p": "passed", "f": "failed", "r": "failed", "e": None}
        final = {"p": "passed", "f": "failed", "r": "passed", "e": "error"}
        async with self.database.transaction() as unit:
            rows = await unit.connection.execute(
                select(TestResult.id, TestResult.case_id, TestResult.trial).where(TestResult.run_id == run)
            )
            for id_, case_id, trial in rows.all():
                said = ends[names[str(case_id)]]
                if trial > len(said):
                    continue
                letter = said[trial - 1]
                await unit.connection.execute(
                    update(TestResult)
                    .where(TestResult.id == id_)
                    .values(first_status=first[letter], status=final[letter], completed_at=self.time.now())
                )
            await unit.connection.execute(update(Run).where(Run.id == run).values(status="completed"))


@pytest.fixture
def play(api: Api, database: Database, time: Time) -> Played:
    return Played(api, database, time)


async def flaky(api: Api, bot: str, query: str = "") -> Any:
    return await api.data("GET", f"/testing/cases/flaky?integrationId={bot}{query}")


def read(report: Any) -> dict[str, tuple[int, int]]:
    return {one["caseName"]: (one["passed"], one["trials"]) for one in report["cases"]}


async def test_the_most_unstable_case_comes_first_with_its_trials(api: Api, bot: str, play: Played) -> None:
    for ends in ("p", "p", "f", "p", "r", "e"):
        newest = await play(bot, {"a": "p", "b": ends})
    report = await flaky(api, bot)
    assert read(report) == {"b": (3, 5), "a": (6, 6)}
    worst = report["cases"][0]
    assert (worst["caseRef"], worst["stability"], worst["quarantine"]) == ("B", "flaky", True)
    assert worst["instability"] == pytest.approx(0.6)
    assert [one["status"] for one in worst["recent"]] == ["passed", "passed", "failed", "passed", "failed"]
    assert (report["like"], report["runs"], report["model"]) == (str(newest), 6, "m")
    assert report["counts"] == {"flaky": 1, "stable_pass": 1}
    assert list(read(await flaky(api, bot, "&take=1"))) == ["b"]
    assert read(await flaky(api, bot, "&runs=2")) == {"a": (2, 2), "b": (0, 1)}
    only = await flaky(api, bot, f"&caseId={worst['caseId']}")
    assert read(only) == {"b": (3, 5)}


async def test_trials_of_one_run_count_one_by_one(api: Api, bot: str, play: Played) -> None:
    await play(bot, {"a": "ppf", "b": "fff"})
    assert read(await flaky(api, bot)) == {"a": (2, 3), "b": (0, 3)}


async def test_a_changed_case_starts_anew(api: Api, bot: str, play: Played, time: Time) -> None:
    await play(bot, {"a": "p", "b": "f"})
    time.pass_(5)
    listed = (await api("GET", "/testing/cases")).json()["data"]
    changed = next(one["id"] for one in listed if one["name"] == "a")
    await api.data("PATCH", f"/testing/cases/{changed}", {"weight": 2})
    assert read(await flaky(api, bot)) == {"b": (0, 1)}
    await play(bot, {"a": "f", "b": "f"})
    report = await flaky(api, bot)
    assert read(report) == {"a": (0, 1), "b": (0, 2)}
    assert {one["caseName"]: one["revision"] for one in report["cases"]} == {"a": 2, "b": 1}


async def test_only_runs_of_the_same_prompt_and_model_count(api: Api, bot: str, play: Played) -> None:
    old = await play(bot, {"a": "f", "b": "f"})
    await play(bot, {"a": "p", "b": "p"}, model="other")
    await play(bot, {"a": "p", "b": "p"}, agentPromptOverride="Ти — інший.")
    await api.data("PATCH", f"/integrations/{bot}", {"agentPrompt": "Ти — новий."})
    new = await play(bot, {"a": "p", "b": "f"})
    report = await flaky(api, bot)
    assert (report["like"], report["runs"], read(report)) == (str(new), 1, {"a": (1, 1), "b": (0, 1)})
    before = await flaky(api, bot, f"&likeRunId={old}")
    assert (before["runs"], read(before)) == (1, {"a": (0, 1), "b": (0, 1)})


async def test_reruns_and_rough_weather_do_not_count(
    api: Api, bot: str, play: Played, database: Database
) -> None:
    run = await play(bot, {"a": "p", "b": "f"})
    again = (await api.data("POST", f"/testing/runs/{run}/rerun", {"which": "failed"}, status=201))["id"]
    await play.end(UUID(again), {"b": "p"})
    stormy = await play(bot, {"a": "f", "b": "f"})
    async with database.transaction() as unit:
        await unit.connection.execute(
            update(TestResult).where(TestResult.run_id == stormy).values(weather="timeout@1")
        )
    assert read(await flaky(api, bot)) == {"a": (1, 1), "b": (0, 1)}


async def test_a_bot_without_a_finished_run_has_no_history(api: Api, bot: str) -> None:
    await api.data("POST", "/testing/runs", {"integrationId": bot, "caseFilter": {}}, status=201)
    report = await flaky(api, bot)
    assert (report["like"], report["cases"], report["counts"]) == (None, [], {})


async def test_histories_belong_to_their_account(api: Api, bot: str, play: Played) -> None:
    run = await play(bot, {"a": "p", "b": "f"})
    other = await api.another("umbrella")
    await other.problem("GET", f"/testing/cases/flaky?integrationId={bot}", status=404)
    await api.problem("GET", f"/testing/cases/flaky?integrationId={bot}&likeRunId={uuid4()}", status=404)
    second = await api.integration("second")
    await api.problem("GET", f"/testing/cases/flaky?integrationId={second}&likeRunId={run}", status=404)
    await api.problem("GET", "/testing/cases/flaky", status=400)
