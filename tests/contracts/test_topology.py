from __future__ import annotations

from typing import Any

import pytest

from proctor_contracts.messages import (
    CaptureRecorded,
    CaseExecuted,
    CaseJudged,
    CaseRequested,
    JudgeRequested,
    Message,
    RegressionDetected,
    RunCompleted,
    ScheduleFired,
    Transient,
)
from proctor_contracts.topology import (
    ALERTER_RUNS,
    API_CAPTURES,
    API_COMPARES,
    API_REGRESSIONS,
    API_SCHEDULES,
    COLLECTOR_RESULTS,
    DEAD,
    DEAD_LETTERS,
    FIXED_POOLS,
    JUDGE_CASES,
    RETRY_LADDER,
    SCHEDULER_RUNS,
    Queue,
    runner_queue,
    work_queues,
)
from tests.contracts.examples import EXAMPLES

POOLS = ("gpu", "eu-west")


def reached(message: Message) -> list[str]:
    return [
        queue.name
        for queue in work_queues(POOLS)
        for bound in queue.bindings
        if bound.exchange == message.exchange and bound.key == message.key()
    ]


def example(model: type[Message]) -> Any:
    return next(each for each in EXAMPLES.values() if type(each) is model)


@pytest.mark.parametrize("pool", [*FIXED_POOLS, *POOLS])
def test_a_case_job_reaches_exactly_the_queue_of_its_pool(pool: str) -> None:
    job = example(CaseRequested).model_copy(update={"pool": pool})
    assert reached(job) == [f"proctor.runner.cases.{pool}"]


def test_a_pool_that_nobody_configured_has_no_queue() -> None:
    assert reached(example(CaseRequested).model_copy(update={"pool": "unheard-of"})) == []


@pytest.mark.parametrize(
    ("model", "queue"),
    [
        (JudgeRequested, JUDGE_CASES),
        (CaseExecuted, COLLECTOR_RESULTS),
        (CaseJudged, COLLECTOR_RESULTS),
        (CaptureRecorded, API_CAPTURES),
        (ScheduleFired, API_SCHEDULES),
        (RegressionDetected, API_REGRESSIONS),
    ],
)
def test_every_work_message_reaches_exactly_one_work_queue(model: type[Message], queue: Queue) -> None:
    assert reached(example(model)) == [queue.name]


def test_a_completed_run_reaches_each_of_its_readers_once() -> None:
    assert sorted(reached(example(RunCompleted))) == sorted(
        [API_COMPARES.name, SCHEDULER_RUNS.name, ALERTER_RUNS.name]
    )


def test_work_queues_bind_exact_keys_since_a_copied_job_is_paid_twice() -> None:
    for queue in work_queues(POOLS):
        for bound in queue.bindings:
            if queue is not DEAD_LETTERS:
                assert "#" not in bound.key
                assert "*" not in bound.key
    assert [(bound.exchange, bound.key) for bound in DEAD_LETTERS.bindings] == [(DEAD, "#")]


def test_names_are_the_agreed_ones() -> None:
    assert [queue.name for queue in work_queues(("gpu",))] == [
        "proctor.runner.cases.default",
        "proctor.runner.cases.high",
        "proctor.runner.cases.gpu",
        "proctor.judge.cases",
        "proctor.collector.results",
        "proctor.api.captures",
        "proctor.api.compares",
        "proctor.api.schedules",
        "proctor.api.regressions",
        "proctor.scheduler.runs",
        "proctor.alerter.runs",
        "proctor.dead",
    ]
    wanted = {
        "case.requested": ("proctor.jobs", "case.requested.high"),
        "judge.requested": ("proctor.jobs", "judge.requested"),
        "case.executed": ("proctor.events", "case.executed"),
        "case.judged": ("proctor.events", "case.judged"),
        "capture.recorded": ("proctor.events", "capture.recorded"),
        "run.completed": ("proctor.events", "run.completed"),
        "schedule.fired": ("proctor.events", "schedule.fired"),
        "regression.detected": ("proctor.events", "regression.detected"),
        "run.cancelled": ("proctor.control", "run.cancelled"),
        "worker.heartbeat": ("proctor.control", "worker.heartbeat"),
        "live.hint": ("proctor.live", "live.run.018f6b1e-0000-7000-8000-000000000001"),
        "live.event": ("proctor.live", "live.run.018f6b1e-0000-7000-8000-000000000001"),
    }
    assert {name: (each.exchange.name, each.key()) for name, each in EXAMPLES.items()} == wanted


def test_only_transient_messages_travel_where_messages_may_be_lost() -> None:
    for each in EXAMPLES.values():
        assert each.exchange.transient is isinstance(each, Transient)


def test_a_configured_pool_that_is_fixed_anyway_is_declared_once() -> None:
    names = [queue.name for queue in work_queues(("default", "gpu", "gpu"))]
    assert len(names) == len(set(names))
    assert runner_queue("gpu").name in names


def test_the_ladder_ascends_and_names_its_delays() -> None:
    seconds = [delay.seconds for delay in RETRY_LADDER]
    assert seconds == sorted(set(seconds))
    assert [delay.name for delay in RETRY_LADDER] == [f"proctor.retry.{each}s" for each in seconds]
