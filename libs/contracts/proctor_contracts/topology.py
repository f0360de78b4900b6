"""Every exchange, queue, binding and routing key, in one place.

A topology test proves that no work is doubled or lost.

Work queues bind exact keys: a topic exchange copies, and a copied job would be paid twice.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "ALERTER_RUNS",
    "API_CAPTURES",
    "API_COMPARES",
    "API_REGRESSIONS",
    "API_SCHEDULES",
    "COLLECTOR_RESULTS",
    "CONTROL",
    "DEAD",
    "DEAD_LETTERS",
    "DEFAULT_POOL",
    "DELIVERY_LIMIT",
    "EVENTS",
    "FIXED_POOLS",
    "JOBS",
    "JUDGE_CASES",
    "LIVE",
    "MAX_BODY_BYTES",
    "RETRY_LADDER",
    "SCHEDULER_RUNS",
    "Binding",
    "Delay",
    "Exchange",
    "ExchangeKind",
    "Queue",
    "case_key",
    "live_key",
    "runner_queue",
    "work_queues",
]

ExchangeKind = str
DEFAULT_POOL = "default"
FIXED_POOLS = ("default", "high")
MAX_BODY_BYTES = 1024 * 1024
DELIVERY_LIMIT = 50
"""How often a job may kill its worker before the broker dead-letters it."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A durable exchange, or a transient one whose messages may be lost."""

    name: str
    kind: ExchangeKind
    transient: bool = False


@dataclass(frozen=True, slots=True)
class Binding:
    """One exact key of one exchange that a queue receives."""

    exchange: Exchange
    key: str


@dataclass(frozen=True, slots=True)
class Queue:
    """A quorum work queue and what it is bound to."""

    name: str
    bindings: tuple[Binding, ...]


@dataclass(frozen=True, slots=True)
class Delay:
    """One rung of the retry ladder: a queue whose messages return to their work queue after `seconds`."""

    name: str
    seconds: float


JOBS = Exchange("proctor.jobs", "topic")
EVENTS = Exchange("proctor.events", "topic")
DEAD = Exchange("proctor.dead", "topic")
CONTROL = Exchange("proctor.control", "fanout", transient=True)
LIVE = Exchange("proctor.live", "topic", transient=True)

RETRY_LADDER = (
    Delay("proctor.retry.5s", 5),
    Delay("proctor.retry.30s", 30),
    Delay("proctor.retry.300s", 300),
)


def case_key(pool: str) -> str:
    """Route a case job to its pool."""
    return f"case.requested.{pool}"


def runner_queue(pool: str) -> Queue:
    """Name the queue that the runners of one pool share."""
    return Queue(f"proctor.runner.cases.{pool}", (Binding(JOBS, case_key(pool)),))


def live_key(run: object) -> str:
    """Route the hint that a run has more events, and its transient progress."""
    return f"live.run.{run}"


JUDGE_CASES = Queue("proctor.judge.cases", (Binding(JOBS, "judge.requested"),))
COLLECTOR_RESULTS = Queue(
    "proctor.collector.results", (Binding(EVENTS, "case.executed"), Binding(EVENTS, "case.judged"))
)
API_CAPTURES = Queue("proctor.api.captures", (Binding(EVENTS, "capture.recorded"),))
API_COMPARES = Queue("proctor.api.compares", (Binding(EVENTS, "run.completed"),))
API_REGRESSIONS = Queue("proctor.api.regressions", (Binding(EVENTS, "regression.detected"),))
API_SCHEDULES = Queue("proctor.api.schedules", (Binding(EVENTS, "schedule.fired"),))
SCHEDULER_RUNS = Queue("proctor.scheduler.runs", (Binding(EVENTS, "run.completed"),))
ALERTER_RUNS = Queue("proctor.alerter.runs", (Binding(EVENTS, "run.completed"),))
DEAD_LETTERS = Queue("proctor.dead", (Binding(DEAD, "#"),))


def work_queues(pools: tuple[str, ...] = ()) -> tuple[Queue, ...]:
    """List every durable queue, with one runner queue for each fixed and configured pool."""
    names = tuple(dict.fromkeys((*FIXED_POOLS, *pools)))
    return (
        *(runner_queue(name) for name in names),
        JUDGE_CASES,
        COLLECTOR_RESULTS,
        API_CAPTURES,
        API_COMPARES,
        API_SCHEDULES,
        API_REGRESSIONS,
        SCHEDULER_RUNS,
        ALERTER_RUNS,
        DEAD_LETTERS,
    )
