"""The API's pipeline with a runner and a judge that a test scripts, on any database and bus."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeVar
from uuid import UUID, uuid4

from sqlalchemy import text

from proctor_api.advancing import Advancing
from proctor_api.auth import Caller
from proctor_api.pipeline.assembly import Pipeline
from proctor_api.usecases.accounts import AccountLimits
from proctor_api.wiring import Foundations, Services
from proctor_chassis.bus import Bus, DeadSubscription, Listener, Meta, Subscription
from proctor_chassis.metrics import Meters
from proctor_contracts.agents import JudgeSettings
from proctor_contracts.enums import Blame, Provider, Role
from proctor_contracts.messages import (
    CaseExecuted,
    CaseJudged,
    CaseRequested,
    JudgeRequested,
    RunCancelled,
    RunCompleted,
)
from proctor_contracts.results import AssertionResult, CaseError, Verdict
from proctor_contracts.schemas.cases import BulkCases
from proctor_contracts.schemas.integrations import IntegrationCreate
from proctor_contracts.schemas.runs import ResultView, RunCreate, RunEvent, RunView
from proctor_contracts.topology import CONTROL, JUDGE_CASES, SCHEDULER_RUNS, runner_queue
from proctor_contracts.transcript import TranscriptEntry, Usage
from proctor_grading.regex import QuickJsRegex
from proctor_llm.prices import Price, Prices
from proctor_store.paging import Page
from proctor_store.session import Database

__all__ = [
    "JUDGE",
    "PATIENCE",
    "PRICES",
    "Counted",
    "FakeJudge",
    "FakeRunner",
    "Platform",
    "case",
    "executed",
    "judged",
    "open_platform",
]

PATIENCE = 30.0
"""Seconds after which something that should happen is called missing."""
LOOK_EVERY = 0.02
JUDGE = JudgeSettings(provider=Provider.ANTHROPIC, model="judge-1")
# The worst case of a conversation of one turn is then 1,024 output tokens: exactly two cents.
TWO_CENTS = Price(Decimal(0), Decimal(0), Decimal(0), Decimal(20_000) / 1024)
# And that of judging one criterion three times 2,048 of them, at a micro-USD each.
JUDGED = Price(Decimal(0), Decimal(0), Decimal(0), Decimal(1))
PRICES = Prices({"anthropic": {"two-cents": TWO_CENTS, "judge-1": JUDGED}}, date="2026-01-01")
T = TypeVar("T")


class Counted:
    """An instrument that a test reads."""

    def __init__(self) -> None:
        self.total = 0.0
        self.by_label: Counter[str] = Counter()

    def add(self, amount: float = 1, **labels: str) -> None:
        self.total += amount
        for value in labels.values():
            self.by_label[value] += int(amount)

    def set(self, value: float, **labels: str) -> None:
        self.add(value - self.total, **labels)

    def observe(self, value: float, **labels: str) -> None:
        self.add(value, **labels)


def case(name: str, *, judges: int = 0, checks: int = 1, **more: Any) -> dict[str, Any]:
    """A case with so many deterministic checks, then so many for the judge."""
    return {
        "name": name,
        "category": "Мова",
        "input": {"kind": "scripted_single", "message": "Привіт"},
        "assertions": [
            *({"kind": "contains", "value": f"слово {n}"} for n in range(checks)),
            *({"kind": "judge", "rubric": f"Ввічливо {n}."} for n in range(judges)),
        ],
    } | more


def executed(job: CaseRequested, word: str = "pass", **more: Any) -> CaseExecuted:
    """What a runner reports: `pass` or `fail` of the deterministic checks, or an error of this code."""
    now = datetime.now(UTC)
    fields: dict[str, Any] = {
        "run_id": job.run_id,
        "result_id": job.result_id,
        "case_id": job.case.id,
        "trial": job.trial,
        "attempt": job.attempt,
        "transcript": (TranscriptEntry(role=Role.AGENT, content=f"спроба {job.attempt}", latency_ms=5),),
        "usage": Usage(prompt_tokens=10, completion_tokens=5),
        "cost_micro_usd": 10_000,
        "started_at": now,
        "finished_at": now,
    }
    if word in {"pass", "fail"}:
        decided = Verdict.PASSED if word == "pass" else Verdict.FAILED
        fields["assertion_results"] = tuple(
            _result(place, one.kind, Verdict.PENDING if one.kind == "judge" else decided)
            for place, one in enumerate(job.case.assertions)
        )
    else:
        fields["error"] = CaseError(code=word, message="так вийшло", blame=Blame.PROVIDER)
    return CaseExecuted(**(fields | more))


def judged(job: JudgeRequested, word: str = "pass", **more: Any) -> CaseJudged:
    """What a judge reports: one word for every criterion; `silent` answers none."""
    verdict = {"pass": Verdict.PASSED, "fail": Verdict.FAILED}.get(word, Verdict.UNRESOLVED)
    answered = () if word == "silent" else job.criteria
    fields: dict[str, Any] = {
        "run_id": job.run_id,
        "result_id": job.result_id,
        "case_id": job.case_id,
        "trial": job.trial,
        "attempt": job.attempt,
        "assertion_results": tuple(_result(one.index, "judge", verdict) for one in answered),
        "cost_micro_usd": 1_000,
        "finished_at": datetime.now(UTC),
    }
    return CaseJudged(**(fields | more))


def _result(index: int, kind: str, verdict: Verdict) -> AssertionResult:
    code = None if verdict is Verdict.PASSED else f"{verdict}_here"
    return AssertionResult(index=index, kind=kind, verdict=verdict, code=code)


class _Worker:
    """Takes jobs and keeps them while it is `holding`; the cases named in `dying` end in an exception."""

    def __init__(self) -> None:
        self.jobs: list[Any] = []
        self.holding = False
        self.dying: set[str] = set()
        self.held: deque[tuple[Any, asyncio.Event]] = deque()
        self.out: Counter[UUID] = Counter()
        self.peak: defaultdict[UUID, int] = defaultdict(int)
        self.accounts: Counter[UUID] = Counter()
        self.account_peak: defaultdict[UUID, int] = defaultdict(int)
        self._changed = asyncio.Condition()

    async def take(self, job: Any) -> None:
        self.out[job.run_id] += 1
        self.accounts[job.account_id] += 1
        self.peak[job.run_id] = max(self.peak[job.run_id], self.out[job.run_id])
        self.account_peak[job.account_id] = max(
            self.account_peak[job.account_id], self.accounts[job.account_id]
        )
        async with self._changed:
            self.jobs.append(job)
            self._changed.notify_all()
        if self.holding:
            free = asyncio.Event()
            self.held.append((job, free))
            async with self._changed:
                self._changed.notify_all()
            await free.wait()

    def left(self, job: Any) -> None:
        self.out[job.run_id] -= 1
        self.accounts[job.account_id] -= 1

    def release(self, count: int | None = None) -> None:
        """Let so many held jobs go on, the oldest first; all of them and all later ones without a count."""
        if count is None:
            self.holding = False
        for _ in range(len(self.held) if count is None else count):
            self.held.popleft()[1].set()

    async def holds(self, count: int) -> None:
        """Wait until so many jobs are held."""
        await self._until(lambda: len(self.held) >= count)

    async def took(self, count: int, run_id: UUID | None = None) -> list[Any]:
        """Wait for so many jobs, of one run or of any."""
        await self._until(lambda: len(self.of(run_id)) >= count)
        return self.of(run_id)

    def of(self, run_id: UUID | None) -> list[Any]:
        return [job for job in self.jobs if run_id is None or job.run_id == run_id]

    async def _until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(condition)


class FakeRunner(_Worker):
    """Plays cases as scripted: for each case's name a word for each attempt, the last one for all later ones.

    `play` is asked instead where a word depends on more. `copies` says how often each report is sent, `cost`
    what an attempt costs in micro-USD.
    """

    def __init__(self, bus: Bus) -> None:
        super().__init__()
        self._bus = bus
        self.script: Mapping[str, Sequence[str]] = {}
        self.play: Callable[[CaseRequested], str] | None = None
        self.copies = 1
        self.cost: int | None = 10_000

    async def handle(self, job: CaseRequested, _meta: Meta) -> None:
        await self.take(job)
        # Before the report is sent: what follows from it may be here before `publish` returns.
        self.left(job)
        if job.case.name in self.dying:
            raise RuntimeError("the worker fell over")
        words = self.script.get(job.case.name, ("pass",))
        word = words[min(job.attempt, len(words)) - 1] if self.play is None else self.play(job)
        for _ in range(self.copies):
            await self._bus.publish(executed(job, word, cost_micro_usd=self.cost))

    def subscriptions(self, pools: Sequence[str] = ("default", "high")) -> tuple[Subscription, ...]:
        return tuple(
            Subscription(
                queue=runner_queue(pool),
                models={f"case.requested.{pool}": CaseRequested},
                handler=self.handle,
                concurrency=500,
            )
            for pool in pools
        )


class FakeJudge(_Worker):
    """Judges as scripted, by the case's name and attempt."""

    def __init__(self, bus: Bus) -> None:
        super().__init__()
        self._bus = bus
        self.script: Mapping[str, Sequence[str]] = {}
        self.copies = 1

    async def handle(self, job: JudgeRequested, _meta: Meta) -> None:
        await self.take(job)
        self.left(job)
        if job.case_name in self.dying:
            raise RuntimeError("the worker fell over")
        words = self.script.get(job.case_name, ("pass",))
        word = words[min(job.attempt, len(words)) - 1]
        for _ in range(self.copies):
            await self._bus.publish(judged(job, word))

    def subscriptions(self) -> tuple[Subscription, ...]:
        return (
            Subscription(
                queue=JUDGE_CASES,
                models={"judge.requested": JudgeRequested},
                handler=self.handle,
                concurrency=500,
            ),
        )


@dataclass
class Platform:
    """An API replica with its workers, and one account that uses it.

    With `leads` jobs leave before their place is free and wait at hand.
    """

    database: Database
    bus: Bus
    pipeline: Pipeline
    services: Services
    runner: FakeRunner
    judge: FakeJudge
    duplicates: Counted
    duplicate_cost: Counted
    ended: Counted
    time: Shifted
    leads: bool
    caller: Caller = field(default_factory=lambda: Caller(UUID(int=0)))
    completed: list[RunCompleted] = field(default_factory=list)
    cancelled: list[RunCancelled] = field(default_factory=list)

    async def account(self, **limits: Any) -> Caller:
        """Make a fresh account and use it from now on."""
        made = await self.services.accounts.create(uuid4().hex, AccountLimits(**limits))
        self.caller = Caller(made.id)
        return self.caller

    async def cases(self, *cases: dict[str, Any], **integration: Any) -> tuple[UUID, tuple[UUID, ...]]:
        """Make an integration with these cases."""
        body = IntegrationCreate.model_validate(
            {
                "name": uuid4().hex,
                "provider": "anthropic",
                "model": "two-cents",
                "agentPrompt": "Будь чемним.",
            }
            | integration
        )
        made = await self.services.integrations.create(self.caller, body)
        saved = await self.services.bulk.upsert(
            self.caller, BulkCases.model_validate({"integrationId": made.id, "cases": cases})
        )
        return made.id, saved.ids

    async def start(self, *cases: dict[str, Any], **body: Any) -> RunView:
        """Start a run of these cases."""
        integration, _ = await self.cases(*cases)
        return await self.run(integration, **body)

    async def run(self, integration: UUID, **body: Any) -> RunView:
        """Start a run of all cases of an integration."""
        asked = {"integrationId": integration, "caseFilter": {}} | body
        return (await self.services.runs.start(self.caller, RunCreate.model_validate(asked)))[0]

    async def finished(self, run: RunView | UUID) -> RunView:
        """Wait for the end of a run."""
        run_id = run if isinstance(run, UUID) else run.id
        async with asyncio.timeout(PATIENCE):
            await self.events(run_id)
        return await self.services.runs.get(self.caller, run_id)

    async def events(self, run_id: UUID, *, after: int | None = None) -> list[RunEvent]:
        """Follow a run to its terminal event."""
        async with asyncio.timeout(PATIENCE), aclosing(self.feed(run_id, after=after)) as feed:
            return [event async for event in feed]

    def feed(self, run_id: UUID, *, after: int | None = None) -> Any:
        return self.services.feed.events(self.caller, run_id, after=after)

    async def results(self, run: RunView | UUID, *, attempts: bool = False) -> dict[str, ResultView]:
        """The first 200 results of a run by the case's name, with the trial where there are several."""
        run_id = run if isinstance(run, UUID) else run.id
        page = await self.services.results.page(
            self.caller, run_id, page=Page(take=200), include_attempts=attempts
        )
        return {
            one.case_name if one.trial == 1 else f"{one.case_name}#{one.trial}": one
            for one in page.data.results
        }

    async def rows(self, sql: str, **values: Any) -> list[Any]:
        """Ask the database itself; ids are given and compared as this database keeps them."""
        given = {
            name: value.hex if isinstance(value, UUID) and self.database.dialect == "sqlite" else value
            for name, value in values.items()
        }
        async with self.database.reading() as unit:
            return list((await unit.connection.execute(text(sql), given)).all())

    async def run_row(self, run_id: UUID) -> Any:
        return (await self.rows("SELECT * FROM test_runs WHERE id = :run", run=run_id))[0]

    async def recorded(self, run: RunView, passed: int) -> None:
        """Wait until so many passes are written down: the next case may begin before that."""

        async def row() -> Any:
            return await self.run_row(run.id)

        await self.eventually(row, lambda row: row.passed >= passed)

    async def eventually(self, look: Callable[[], Awaitable[T]], holds: Callable[[T], bool]) -> T:
        """Look until it holds."""
        never = asyncio.Event()
        async with asyncio.timeout(PATIENCE):
            while True:
                seen = await look()
                if holds(seen):
                    return seen
                try:
                    await asyncio.wait_for(never.wait(), LOOK_EVERY)
                except TimeoutError:
                    continue


class Shifted:
    """The real time, moved ahead by tests."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@asynccontextmanager
async def open_platform(
    database: Database,
    bus: Bus,
    *,
    workers: Bus | None = None,
    alone: bool,
    judge: JudgeSettings | None = JUDGE,
    prices: Prices = PRICES,
    collects: bool = True,
    works: bool = True,
    publish_through: Bus | None = None,
) -> AsyncIterator[Platform]:
    """Start an API on a database and a bus, with workers on the same bus or their own.

    Without `collects` this replica takes no reports, without `works` nobody takes jobs; `publish_through`
    stands between the API and its bus.
    """
    duplicates, duplicate_cost, ended, shifted = Counted(), Counted(), Counted(), Shifted()
    meters = Meters(duplicates=duplicates, duplicate_cost=duplicate_cost, cases=ended)
    pipeline = Pipeline(
        database=database,
        bus=publish_through or bus,
        prices=prices,
        clock=shifted.now,
        meters=meters,
        pools=("default", "high"),
        owner=uuid4().hex,
        alone=alone,
    )
    async with AsyncExitStack() as stack:
        executor = stack.enter_context(ThreadPoolExecutor(1))
        services = Services(
            Foundations(
                database=database,
                clock=shifted.now,
                monotonic=time.monotonic,
                settler=pipeline.settler,
                hub=pipeline.hub,
                announce=pipeline.announce,
                prices=prices,
                judge=judge,
                pools=("default", "high", "nowhere"),
                regex=QuickJsRegex(),
                executor=executor,
            )
        )
        hands = workers or bus
        platform = Platform(
            database=database,
            bus=bus,
            pipeline=pipeline,
            services=services,
            runner=FakeRunner(hands),
            judge=FakeJudge(hands),
            duplicates=duplicates,
            duplicate_cost=duplicate_cost,
            ended=ended,
            time=shifted,
            leads=alone,
        )

        async def noted(message: RunCompleted, _meta: Meta) -> None:
            platform.completed.append(message)

        listening: list[Listener] = [
            *pipeline.listeners(),
            Listener(
                exchange=CONTROL, models={"run.cancelled": RunCancelled}, handler=platform.cancelled.append
            ),
        ]
        consuming: list[Subscription | DeadSubscription] = []
        if collects:
            consuming += pipeline.subscriptions()
            consuming.append(Advancing(rounds=lambda: services.rounds).subscription())
            consuming.append(
                Subscription(
                    queue=SCHEDULER_RUNS, models={"run.completed": RunCompleted}, handler=noted, concurrency=8
                )
            )
        await bus.start(consuming, listening)
        if works:
            await hands.start([*platform.runner.subscriptions(), *platform.judge.subscriptions()])
        pipeline.start()
        stack.push_async_callback(pipeline.stop)
        await platform.account()
        yield platform
