"""What every platform must do, embedded or on real servers; test modules import all of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest

from proctor_api.errors import ApiError
from proctor_contracts.enums import ResultStatus, RunStatus
from proctor_contracts.results import Verdict
from proctor_contracts.schemas.runs import Rerun, RunCreate, RunEvent
from proctor_store.paging import Page
from tests.support.platform import Platform, case

COUNTED = ("passed", "failed", "error", "cancelled")


async def recounted(platform: Platform, run_id: UUID) -> dict[str, int]:
    """The counters of a run as its rows say."""
    rows = await platform.rows(
        "SELECT status, count(*) FROM test_results WHERE run_id = :run GROUP BY status", run=run_id
    )
    return {name: dict(map(tuple, rows)).get(name, 0) for name in COUNTED}


async def kept(platform: Platform, run_id: UUID) -> dict[str, int]:
    """The counters of a run as it keeps them; everything that was out or reserved must be back."""
    row = await platform.run_row(run_id)
    assert (row.remaining, row.in_flight, row.judging, row.reserved_micro) == (0, 0, 0, 0)
    return {name: getattr(row, name) for name in COUNTED}


def gapless(events: Sequence[RunEvent], *, start: int = 1) -> list[str]:
    """The names of the numbered events, which must have every number once and in order."""
    numbered = [event for event in events if event.seq is not None]
    assert [event.seq for event in numbered] == list(range(start, start + len(numbered)))
    return [event.event for event in numbered]


async def test_a_run_plays_its_cases_and_adds_them_up(platform: Platform) -> None:
    platform.runner.script = {"Б": ("fail",), "В": ("provider_down",)}
    run = await platform.start(case("А"), case("Б"), case("В"), repeats=2)
    done = await platform.finished(run)
    assert done.status is RunStatus.COMPLETED
    assert await kept(platform, run.id) == {"passed": 2, "failed": 2, "error": 2, "cancelled": 0}
    assert await recounted(platform, run.id) == await kept(platform, run.id)
    assert done.summary is not None
    assert (done.summary.total, done.summary.cases) == (6, 3)
    assert (done.progress.done, done.progress.total) == (6, 6)
    assert done.summary.cost_cents == 6
    results = await platform.results(run)
    assert {name: one.status.value for name, one in results.items()} == {
        "А": "passed",
        "Б": "failed",
        "В": "error",
        "А#2": "passed",
        "Б#2": "failed",
        "В#2": "error",
    }
    assert results["В"].error is not None
    assert results["В"].error.code == "provider_down"
    assert platform.ended.by_label == {"passed": 2, "failed": 2, "error": 2}


async def test_eighty_eight_parallel_results_are_counted_exactly(platform: Platform) -> None:
    platform.runner.copies = 2
    platform.runner.holding = True
    platform.runner.script = {f"{n}": ("fail",) for n in range(0, 88, 3)}
    run = await platform.start(*(case(f"{n}") for n in range(88)), concurrency=100)
    await platform.runner.holds(88)
    platform.runner.release()
    await platform.finished(run)
    assert await kept(platform, run.id) == {"passed": 58, "failed": 30, "error": 0, "cancelled": 0}
    assert await recounted(platform, run.id) == await kept(platform, run.id)


async def test_each_run_completes_once(platform: Platform) -> None:
    platform.runner.copies = 3
    integration, _ = await platform.cases(*(case(f"{n}") for n in range(4)))
    runs = [await platform.run(integration) for _ in range(5)]
    for run in runs:
        done = await platform.finished(run)
        assert done.status is RunStatus.COMPLETED
        assert gapless(await platform.events(run.id))[-1] == "run.completed"

    async def heard() -> list[UUID]:
        return [message.run_id for message in platform.completed if message.run_id in {r.id for r in runs}]

    await platform.eventually(heard, lambda ids: len(ids) >= len(runs))
    assert sorted(await heard()) == sorted(run.id for run in runs)


async def test_duplicates_change_nothing_and_charge_nothing(platform: Platform) -> None:
    await platform.account(balance_cents=100)
    platform.runner.copies, platform.judge.copies = 3, 2
    run = await platform.start(case("А", judges=1), case("Б"))
    await platform.finished(run)
    # Two cases at a cent and one judging at a tenth of one.
    [(balance,)] = await platform.rows(
        "SELECT balance_micro FROM accounts WHERE id = :account", account=platform.caller.account_id
    )
    assert balance == 1_000_000 - 21_000
    assert (await platform.run_row(run.id)).cost_micro == 21_000

    async def counted() -> float:
        return platform.duplicates.total

    await platform.eventually(counted, lambda total: total >= 5)
    assert platform.duplicates.total == 5
    assert platform.duplicate_cost.total == 4 * 10_000 + 1_000
    assert {one.attempt_count for one in (await platform.results(run)).values()} == {1}


async def test_a_run_of_nothing_but_errors_has_failed(platform: Platform) -> None:
    platform.runner.script = {"А": ("no_key",), "Б": ("no_key",)}
    done = await platform.finished(await platform.start(case("А"), case("Б")))
    assert done.status is RunStatus.FAILED
    assert done.summary is not None
    assert done.summary.errors_by_code == {"no_key": 2}
    assert done.summary.pass_rate is None


async def test_cancel_is_immediate_and_what_comes_later_changes_nothing(platform: Platform) -> None:
    platform.runner.holding = True
    run = await platform.start(*(case(f"{n}") for n in range(8)), concurrency=3)
    await platform.runner.holds(3)
    platform.runner.release(1)
    await platform.runner.took(4)

    await platform.recorded(run, 1)
    cancelled = await platform.services.runs.cancel(platform.caller, run.id)
    assert cancelled.status is RunStatus.CANCELLED
    assert cancelled.summary is not None
    assert (cancelled.summary.passed, cancelled.summary.cancelled) == (1, 7)
    before = await platform.run_row(run.id)
    platform.runner.release()

    async def late() -> float:
        return platform.duplicates.total

    await platform.eventually(late, lambda count: count >= 3)
    assert await platform.run_row(run.id) == before
    assert len(platform.runner.of(run.id)) == 4
    assert await recounted(platform, run.id) == {"passed": 1, "failed": 0, "error": 0, "cancelled": 7}
    again = await platform.services.runs.cancel(platform.caller, run.id)
    assert again.completed_at == cancelled.completed_at
    assert gapless(await platform.events(run.id))[-1] == "run.completed"

    async def told() -> int:
        return sum(run.id in message.run_ids for message in platform.cancelled)

    await platform.eventually(told, lambda count: count >= 1)
    assert await told() == 1


async def test_a_window_is_never_exceeded_by_retries_and_repeats(platform: Platform) -> None:
    platform.runner.holding = True
    platform.runner.script = {"0": ("fail", "fail", "pass"), "1": ("fail",), "2": ("fail", "pass")}
    run = await platform.start(
        *(case(f"{n}") for n in range(6)), concurrency=2, repeats=2, retriesOnFailure=2
    )
    for _ in range(12 + 2 * (2 + 2 + 1)):
        await platform.runner.holds(1)
        assert (await platform.services.runs.get(platform.caller, run.id)).progress.in_flight <= 2
        platform.runner.release(1)
    await platform.finished(run)
    assert platform.runner.peak[run.id] == 2
    results = await platform.results(run)
    assert {(one.status.value, one.attempt_count, one.flaky) for one in results.values()} == {
        ("passed", 3, True),
        ("failed", 3, False),
        ("passed", 2, True),
        ("passed", 1, False),
    }


async def test_a_retry_after_the_judge_waits_for_a_free_place(platform: Platform) -> None:
    platform.judge.holding = platform.runner.holding = True
    platform.judge.script = {"0": ("fail", "pass")}
    run = await platform.start(case("0", judges=1), case("1"), case("2"), concurrency=1, retriesOnFailure=1)
    await platform.runner.holds(1)
    platform.runner.release(1)
    await platform.judge.holds(1)
    # The judged case has freed its place, and the next case has taken it.
    await platform.runner.holds(1)
    platform.judge.release()

    async def row() -> Any:
        return await platform.run_row(run.id)

    seen = await platform.eventually(row, lambda row: row.judging == 0)
    # Where a job is at hand before its place is free, the retry stands behind it.
    assert seen.in_flight == (3 if platform.leads else 1)
    assert [job.case.name for job in platform.runner.of(run.id)] == ["0", "1"]
    platform.runner.release()
    await platform.finished(run)
    assert platform.runner.peak[run.id] == 1
    assert [(job.case.name, job.attempt) for job in platform.runner.of(run.id)] == [
        ("0", 1),
        ("1", 1),
        *([("2", 1), ("0", 2)] if platform.leads else [("0", 2), ("2", 1)]),
    ]
    result = (await platform.results(run, attempts=True))["0"]
    assert (result.status, result.flaky, result.attempt_count) == (ResultStatus.PASSED, True, 2)
    assert [attempt.status.value for attempt in result.attempts] == ["failed", "passed"]


async def test_retries_as_written_in_r_05(platform: Platform) -> None:
    platform.runner.script = {"А": ("fail", "fail", "pass"), "Б": ("fail",), "В": ("down", "pass")}
    run = await platform.start(*(case(name) for name in "АБВГ"), retriesOnFailure=2)
    done = await platform.finished(run)
    results = await platform.results(run)
    assert {name: (one.status.value, one.flaky, one.attempt_count) for name, one in results.items()} == {
        "А": ("passed", True, 3),
        "Б": ("failed", False, 3),
        "В": ("error", False, 1),
        "Г": ("passed", False, 1),
    }
    assert results["А"].first_attempt_status is ResultStatus.FAILED
    assert done.summary is not None
    assert (done.summary.total, done.summary.flaky) == (4, 1)
    # First attempts: one pass and two fails; every attempt was paid.
    assert done.summary.pass_rate == pytest.approx(1 / 3)
    assert done.summary.cost_cents == 8


async def test_the_policy_all_wants_every_attempt_to_pass(platform: Platform) -> None:
    platform.runner.script = {"А": ("pass", "fail", "pass"), "Б": ("pass",)}
    both = [case(name, retryPolicy="all") for name in "АБ"]
    run = await platform.start(*both, retriesOnFailure=2)
    await platform.finished(run)
    results = await platform.results(run)
    assert {name: (one.status.value, one.flaky, one.attempt_count) for name, one in results.items()} == {
        "А": ("failed", True, 3),
        "Б": ("passed", False, 3),
    }
    # The attempt that failed explains the result.
    assert results["А"].transcript[0].content == "спроба 2"


async def test_an_account_limit_holds_across_runs_and_starves_none(platform: Platform) -> None:
    await platform.account(max_concurrent=4)
    platform.runner.holding = True
    integration, _ = await platform.cases(*(case(f"{n}") for n in range(10)))
    large = await platform.run(integration)
    await platform.runner.holds(4)
    small = await platform.run(integration)
    assert (await platform.run_row(small.id)).in_flight == 0
    for _ in range(20):
        await platform.runner.holds(1)
        platform.runner.release(1)
    for run in (large, small):
        assert (await platform.finished(run)).status is RunStatus.COMPLETED
    assert platform.runner.account_peak[platform.caller.account_id] == 4
    order = [job.run_id for job in platform.runner.jobs]
    # The late run got the first place that came free and kept its share, instead of waiting for the end.
    assert order[4:8].count(small.id) >= 1
    assert 3 <= order[:12].count(small.id) <= 5


async def test_a_run_takes_no_more_of_an_accounts_places_than_it_plays(platform: Platform) -> None:
    await platform.account(max_concurrent=4)
    platform.runner.holding = True
    integration, _ = await platform.cases(*(case(f"{n}") for n in range(10)))
    narrow = await platform.run(integration, concurrency=1)
    await platform.runner.holds(1)
    wide = await platform.run(integration)
    await platform.runner.holds(4)
    assert [(await platform.run_row(run.id)).in_flight for run in (narrow, wide)] == [1, 3]
    platform.runner.holding = False
    platform.runner.release()
    for run in (narrow, wide):
        assert (await platform.finished(run)).status is RunStatus.COMPLETED


async def test_a_cancelled_run_gives_its_places_to_the_accounts_other_runs(platform: Platform) -> None:
    await platform.account(max_concurrent=2)
    platform.runner.holding = True
    integration, _ = await platform.cases(*(case(f"{n}") for n in range(3)))
    first = await platform.run(integration)
    await platform.runner.holds(2)
    second = await platform.run(integration)
    await platform.services.runs.cancel(platform.caller, first.id)
    jobs = await platform.runner.took(2, second.id)
    assert len(jobs) == 2
    platform.runner.release()
    assert (await platform.finished(second)).status is RunStatus.COMPLETED


async def test_a_budget_is_never_passed_and_the_rest_is_called_exhausted(platform: Platform) -> None:
    platform.runner.holding = True
    run = await platform.start(*(case(f"{n}") for n in range(16)), budgetCents=10, concurrency=16)
    await platform.runner.holds(5)
    row = await platform.run_row(run.id)
    assert (row.in_flight, row.reserved_micro) == (5, 100_000)
    assert {job.budget_micro_usd for job in platform.runner.of(run.id)} == {20_000}
    platform.runner.release()
    done = await platform.finished(run)
    assert done.status is RunStatus.COMPLETED
    assert await recounted(platform, run.id) == {"passed": 9, "failed": 0, "error": 7, "cancelled": 0}
    assert await kept(platform, run.id) == await recounted(platform, run.id)
    assert done.summary is not None
    assert done.summary.cost_cents == 9
    assert done.summary.errors_by_code == {"budget_exhausted": 7}
    unsent = [one for one in (await platform.results(run)).values() if one.error is not None]
    assert {(one.attempt_count, one.error.blame.value) for one in unsent if one.error} == {
        (0, "infrastructure")
    }
    assert gapless(await platform.events(run.id))[-2:] == ["run.budget_exhausted", "run.completed"]


async def test_a_budget_that_fits_nothing_ends_the_run_at_once(platform: Platform) -> None:
    run = await platform.start(case("А"), case("Б"), budgetCents=1)
    assert run.status is RunStatus.FAILED
    done = await platform.finished(run)
    assert done.summary is not None
    assert done.summary.errors_by_code == {"budget_exhausted": 2}
    assert gapless(await platform.events(run.id)) == ["run.budget_exhausted", "run.completed"]
    assert platform.runner.of(run.id) == []


async def test_a_retry_that_the_budget_does_not_cover_leaves_what_was_seen(platform: Platform) -> None:
    platform.runner.script = {"А": ("fail", "pass"), "Б": ("pass", "pass")}
    run = await platform.start(case("А"), budgetCents=2, retriesOnFailure=1)
    await platform.finished(run)
    result = (await platform.results(run))["А"]
    assert (result.status, result.attempt_count, result.score) == (ResultStatus.FAILED, 1, 0)
    # Passed once of two: neither passed nor failed can be said.
    run = await platform.start(case("Б", retryPolicy="all"), budgetCents=2, retriesOnFailure=1)
    await platform.finished(run)
    result = (await platform.results(run))["Б"]
    assert result.status is ResultStatus.ERROR
    assert result.error is not None
    assert (result.error.code, result.attempt_count) == ("budget_exhausted", 1)
    assert await kept(platform, run.id) == await recounted(platform, run.id)


async def test_a_balance_that_runs_out_stops_dispatch(platform: Platform) -> None:
    await platform.account(balance_cents=2)
    platform.runner.holding = True
    platform.runner.script = {"0": ("fail",)}
    run = await platform.start(*(case(f"{n}") for n in range(6)), concurrency=2, retriesOnFailure=3)
    await platform.runner.holds(2)
    platform.runner.release()
    done = await platform.finished(run)
    assert done.summary is not None
    results = await platform.results(run)
    # The first failed attempt left a cent, the second used it up or the other way round.
    assert results["0"].status is ResultStatus.FAILED
    assert done.summary.cost_cents in {2, 3}
    assert set(done.summary.errors_by_code) == {"balance_exhausted"}
    assert await kept(platform, run.id) == await recounted(platform, run.id)
    with pytest.raises(ApiError) as refused:
        await platform.start(case("А"))
    assert refused.value.status == 402


async def test_an_unknown_cost_is_unknown_and_not_nothing(platform: Platform) -> None:
    platform.runner.cost = None
    run = await platform.start(case("А", judges=1))
    done = await platform.finished(run)
    assert done.summary is not None
    assert done.summary.cost_cents is None
    assert done.progress.cost_cents is None
    assert (await platform.results(run))["А"].cost_cents is None


async def test_the_judge_decides_what_the_checks_left_open(platform: Platform) -> None:
    platform.judge.script = {"Б": ("fail",), "В": ("unsure",), "Г": ("silent",)}
    run = await platform.start(*(case(name, judges=1, threshold=100) for name in "АБВГ"))
    done = await platform.finished(run)
    results = await platform.results(run)
    assert {name: one.status.value for name, one in results.items()} == {
        "А": "passed",
        "Б": "failed",
        "В": "error",
        "Г": "error",
    }
    silent = results["Г"]
    assert silent.error is not None
    assert silent.error.code == "inconclusive"
    assert [one.code for one in silent.assertion_results] == [None, "judge_error"]
    assert (silent.score_min, silent.score_max, silent.needs_review) == (50, 100, True)
    assert done.summary is not None
    assert done.summary.needs_review == 2
    names = gapless(await platform.events(run.id))
    assert names.count("case.executed") == names.count("case.judged") == 4


async def test_under_undecided_a_lost_case_is_not_judged(platform: Platform) -> None:
    platform.runner.script = {"А": ("fail",)}
    run = await platform.start(
        case("А", judges=1, threshold=60), case("Б", judges=1, threshold=60), judgePolicy="undecided"
    )
    await platform.finished(run)
    assert [job.case_name for job in platform.judge.of(run.id)] == ["Б"]
    lost = (await platform.results(run))["А"]
    assert (lost.status, lost.score, lost.score_min, lost.score_max) == (ResultStatus.FAILED, None, 0, 50)
    assert [(one.verdict, one.code) for one in lost.assertion_results] == [
        (Verdict.FAILED, "failed_here"),
        (Verdict.UNRESOLVED, "judge_skipped"),
    ]


async def test_judges_that_are_behind_hold_up_dispatch(platform: Platform) -> None:
    platform.judge.holding = True
    run = await platform.start(*(case(f"{n}", judges=1) for n in range(12)), concurrency=2)
    await platform.judge.holds(8)

    async def row() -> Any:
        return await platform.run_row(run.id)

    seen = await platform.eventually(row, lambda row: row.in_flight == 0)
    # Four windows wait for the judge, and what was out when they did.
    assert 8 <= seen.judging <= 9
    assert len(platform.runner.of(run.id)) == seen.judging
    platform.judge.release()
    assert (await platform.finished(run)).status is RunStatus.COMPLETED


async def test_an_idempotency_key_starts_one_run(platform: Platform) -> None:
    integration, _ = await platform.cases(case("А"))
    body = RunCreate.model_validate({"integrationId": integration, "caseFilter": {}})
    starts = [platform.services.runs.start(platform.caller, body, idempotency_key="ключ-1") for _ in range(5)]
    answers = await asyncio.gather(*starts)
    assert sorted(new for _, new in answers) == [False, False, False, False, True]
    assert len({run.id for run, _ in answers}) == 1
    assert {run.case_ids for run, _ in answers} == {answers[0][0].case_ids}
    other = body.model_copy(update={"repeats": 2})
    with pytest.raises(ApiError) as refused:
        await platform.services.runs.start(platform.caller, other, idempotency_key="ключ-1")
    assert (refused.value.status, refused.value.code) == (409, "idempotency_key_reused")
    await platform.finished(answers[0][0])


async def test_reruns_take_the_results_asked_for_from_the_old_snapshots(platform: Platform) -> None:
    platform.runner.script = {"Б": ("fail",), "В": ("down",)}
    run = await platform.start(case("А"), case("Б"), case("В"), scoreThreshold=80, tags=["ніч"])
    with pytest.raises(ApiError) as going:
        await _rerun_while_held(platform)
    assert (going.value.status, going.value.code) == (409, "run_in_progress")
    await platform.finished(run)
    for which, names in (("failed", ["Б"]), ("errored", ["В"]), ("all", ["А", "Б", "В"])):
        again = await platform.services.runs.rerun(
            platform.caller, run.id, Rerun.model_validate({"which": which})
        )
        assert (again.rerun_of, again.score_threshold, again.tags) == (run.id, 80, ("ніч",))
        await platform.finished(again)
        assert sorted(await platform.results(again)) == names
    with pytest.raises(ApiError) as nothing:
        await platform.services.runs.rerun(platform.caller, run.id, Rerun(which="unfinished"))
    assert nothing.value.code == "nothing_to_rerun"


async def _rerun_while_held(platform: Platform) -> None:
    platform.runner.holding = True
    held = await platform.start(case("А"))
    await platform.runner.holds(1)
    try:
        await platform.services.runs.rerun(platform.caller, held.id, Rerun())
    finally:
        platform.runner.release()
        await platform.finished(held)


async def test_what_a_cancel_left_over_can_be_run_again(platform: Platform) -> None:
    platform.runner.holding = True
    run = await platform.start(*(case(f"{n}") for n in range(4)), concurrency=1)
    await platform.runner.holds(1)
    platform.runner.release(1)
    await platform.runner.holds(1)
    await platform.recorded(run, 1)
    await platform.services.runs.cancel(platform.caller, run.id)
    platform.runner.release()
    again = await platform.services.runs.rerun(platform.caller, run.id, Rerun(which="unfinished"))
    assert (await platform.finished(again)).status is RunStatus.COMPLETED
    assert sorted(await platform.results(again)) == ["1", "2", "3"]


async def test_a_run_that_is_deleted_is_gone_at_once_and_only_once_it_is_over(platform: Platform) -> None:
    platform.runner.holding = True
    run = await platform.start(case("А"))
    with pytest.raises(ApiError) as going:
        await platform.services.runs.delete(platform.caller, run.id)
    assert going.value.code == "run_in_progress"
    await platform.runner.holds(1)
    platform.runner.release()
    await platform.finished(run)
    await platform.services.runs.delete(platform.caller, run.id)
    runs = platform.services.runs
    for look in (runs.get, platform.services.results.document, runs.delete):
        with pytest.raises(ApiError) as gone:
            await look(platform.caller, run.id)
        assert gone.value.status == 404
    assert (await runs.list(platform.caller, page=Page(take=10))).meta.total == 0


async def test_events_resume_where_a_client_stopped(platform: Platform) -> None:
    run = await platform.start(*(case(f"{n}") for n in range(4)))
    names = gapless(await platform.events(run.id))
    assert names[0] == "run.started"
    assert names[1:] == ["case.executed"] * 4 + ["run.completed"]
    assert gapless(await platform.events(run.id, after=3), start=4) == names[3:]
    # On a run that is over a client gets the terminal event at once, whatever number it comes with.
    for after in (6, 999):
        assert gapless(await platform.events(run.id, after=after), start=6) == ["run.completed"]


async def test_two_clients_see_everything_while_a_run_goes_on(platform: Platform) -> None:
    platform.runner.holding = True
    run = await platform.start(*(case(f"{n}") for n in range(6)), concurrency=2)
    clients = [asyncio.create_task(platform.events(run.id)) for _ in range(2)]
    await platform.runner.holds(2)
    platform.runner.release()
    both = [gapless(events) for events in await asyncio.gather(*clients)]
    assert both[0] == both[1]
    assert both[0].count("case.executed") == 6
    assert platform.pipeline.hub.watching == 0


async def test_a_number_a_run_never_reached_is_answered_with_one_resync(platform: Platform) -> None:
    platform.runner.holding = True
    run = await platform.start(case("А"))
    await platform.runner.holds(1)

    async def row() -> Any:
        return await platform.run_row(run.id)

    newest = (await platform.eventually(row, lambda row: row.status == "running")).event_seq
    feed = platform.feed(run.id, after=999)
    first = await anext(feed)
    assert (first.event, first.seq, first.data["total"]) == ("run.resync", newest, 1)
    platform.runner.release()
    rest = [event async for event in feed]
    assert gapless(rest, start=newest + 1)[-1] == "run.completed"


async def test_another_accounts_run_is_not_there(platform: Platform) -> None:
    run = await platform.start(case("А"))
    await platform.finished(run)
    owner = platform.caller
    await platform.account()
    runs, results = platform.services.runs, platform.services.results
    for call in (
        runs.get(platform.caller, run.id),
        runs.cancel(platform.caller, run.id),
        runs.delete(platform.caller, run.id),
        runs.rerun(platform.caller, run.id, Rerun()),
        results.document(platform.caller, run.id),
        results.diff(platform.caller, run.id, run.id),
        anext(platform.feed(run.id)),
    ):
        with pytest.raises(ApiError) as refused:
            await call
        assert refused.value.status == 404
    assert (await runs.get(owner, run.id)).id == run.id
