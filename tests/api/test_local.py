"""The API inside a process that owns its database: what it does about runs that an earlier owner left."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest

from proctor_api.errors import ApiError
from proctor_api.local import LocalApi, open_local, problem_of
from proctor_chassis.bus.inprocess import InProcessBus
from proctor_contracts.enums import ResultStatus, RunStatus
from proctor_contracts.schemas.cases import BulkCases
from proctor_contracts.schemas.integrations import IntegrationFields
from proctor_contracts.schemas.runs import Rerun, RunCreate
from proctor_grading.regex import QuickJsRegex
from tests.support.platform import JUDGE, PRICES, FakeRunner, case


@pytest.fixture
def thread() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as executor:
        yield executor


@asynccontextmanager
async def opened(folder: Path, thread: ThreadPoolExecutor) -> AsyncIterator[tuple[LocalApi, FakeRunner]]:
    """One process from its start to its end; the bus goes with it."""
    bus = InProcessBus()
    opening: AbstractAsyncContextManager[LocalApi] = open_local(
        database_url=f"sqlite:///{folder / 'proctor.db'}",
        bus=bus,
        prices=PRICES,
        judge=JUDGE,
        regex=QuickJsRegex(),
        executor=thread,
        clock=lambda: datetime.now(UTC),
    )
    async with opening as api:
        runner = FakeRunner(bus)
        await bus.start([*api.subscriptions(), *runner.subscriptions()], api.listeners())
        yield api, runner
        await bus.stop(grace_seconds=0)


async def start(api: LocalApi, *names: str) -> UUID:
    made = await api.upsert_integration(
        IntegrationFields.model_validate({"name": "бот", "provider": "anthropic"})
    )
    saved = await api.bulk_upsert_cases(
        BulkCases.model_validate({"integrationId": made.id, "cases": [case(name) for name in names]})
    )
    body = {"integrationId": made.id, "caseIds": saved.ids, "concurrency": 1}
    return (await api.start_run(RunCreate.model_validate(body))).id


async def left_by_a_crash(folder: Path, thread: ThreadPoolExecutor) -> UUID:
    """A run of three cases: one is done, one is out, one waits."""
    async with opened(folder, thread) as (api, runner):
        runner.holding = True
        run = await start(api, "А", "Б", "В")
        await runner.holds(1)
        runner.release(1)
        await runner.took(2)
        async for event in api.events(run):  # the next case begins before this one's end is written down
            if event.event == "case.executed":
                break
        return run


async def test_a_run_left_behind_goes_on_where_it_was(tmp_path: Path, thread: ThreadPoolExecutor) -> None:
    run = await left_by_a_crash(tmp_path, thread)
    async with opened(tmp_path, thread) as (api, runner):
        assert (await api.get_run(run)).status is RunStatus.RUNNING
        assert await api.resume() == 2, "the one that was played, and the one at hand"
        events = [event.event async for event in api.events(run)]
        assert events.count("case.executed") == 3
        assert [job.case.name for job in runner.jobs] == ["Б", "В"]
        assert (await api.get_run(run)).status is RunStatus.COMPLETED
        assert await api.resume() == 0


async def test_a_run_left_behind_can_be_ended_and_its_rest_run_later(
    tmp_path: Path, thread: ThreadPoolExecutor
) -> None:
    run = await left_by_a_crash(tmp_path, thread)
    async with opened(tmp_path, thread) as (api, runner):
        assert list(await api.end_interrupted()) == [run]
        assert list(await api.end_interrupted()) == []
        ended = await api.get_run(run)
        assert ended.status is RunStatus.CANCELLED
        assert (ended.progress.passed, ended.progress.cancelled) == (1, 2)
        rest = await api.rerun(run, Rerun(which="unfinished"))
        assert [event.event async for event in api.events(rest.id)][-1] == "run.completed"
        assert [job.case.name for job in runner.jobs] == ["Б", "В"]
        page = await api.results(run, status=ResultStatus.CANCELLED)
        assert [result.case_name for result in page.data.results] == ["Б", "В"]
        assert [one.id for one in await api.runs(status=RunStatus.COMPLETED)] == [rest.id]


async def test_the_same_account_is_found_again(tmp_path: Path, thread: ThreadPoolExecutor) -> None:
    async with opened(tmp_path, thread) as (api, _):
        caller = api.caller
    async with opened(tmp_path, thread) as (api, _):
        assert api.caller == caller


async def test_a_refusal_says_what_the_rest_api_would(tmp_path: Path, thread: ThreadPoolExecutor) -> None:
    async with opened(tmp_path, thread) as (api, _):
        with pytest.raises(ApiError) as refused:
            await api.get_run(UUID(int=1))
        problem = problem_of(refused.value)
        assert (problem.status, problem.code) == (404, "not_found")
