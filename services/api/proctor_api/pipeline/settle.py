"""One batch on running runs: lock, apply, let the next cases out, complete, and write it all once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from proctor_chassis.metrics import Meters
from proctor_contracts.base import TRUSTED
from proctor_contracts.cases import CaseSnapshot
from proctor_contracts.enums import Phase, ResultStatus
from proctor_contracts.messages import CaseExecuted, CaseJudged, LiveHint
from proctor_contracts.run_settings import RunSettings
from proctor_contracts.topology import JOBS
from proctor_llm.prices import Prices
from proctor_store.repositories import events, outbox, pipeline
from proctor_store.session import Unit

from .batch import Applier, Report
from .completion import complete
from .dispatch import Dispatcher
from .turnstile import Departure
from .work import ResultWork, RunWork

__all__ = ["Held", "Settler"]

REMEMBERED_RUNS = 10_000
FINAL = tuple(status.value for status in ResultStatus if status.final)


@dataclass(slots=True)
class Held:
    """Locked accounts and runs, and the results that the batch touches."""

    now: datetime
    accounts: dict[UUID, pipeline.AccountRow]
    runs: dict[UUID, RunWork]
    results: dict[UUID, ResultWork] = field(default_factory=dict)

    def balance_of(self, account_id: UUID) -> int | None:
        """What is left of an account's balance after this batch; None when it is unlimited."""
        balance = self.accounts[account_id].balance_micro
        charged = sum(run.charged for run in self.runs.values() if run.row.account_id == account_id)
        return None if balance is None else balance - charged

    @property
    def out_of_money(self) -> frozenset[UUID]:
        """The accounts that may not start another case."""
        return frozenset(a for a in self.accounts if (left := self.balance_of(a)) is not None and left <= 0)


class Settler:
    """Applies reports to runs.

    Locks are taken on accounts, then runs, each in id order, so that replicas never wait for each other in a
    circle. `wake` tells the relay that messages wait; `hint` tells live listeners how far a run's events go.
    `direct` sends jobs past the outbox: for a process that is alone, whose rows say at the next start what is
    outstanding.
    """

    def __init__(
        self,
        *,
        dispatcher: Dispatcher,
        prices: Prices,
        clock: Callable[[], datetime],
        wake: Callable[[], None],
        hint: Callable[[Sequence[LiveHint]], None],
        meters: Meters,
        direct: Callable[[Sequence[Departure]], None] | None = None,
    ) -> None:
        self._direct = direct
        self._dispatcher = dispatcher
        self.prices = prices
        self._clock = clock
        self._wake = wake
        self._hint = hint
        self._meters = meters
        self._owners: dict[UUID, UUID] = {}
        self._served: dict[UUID, int] = {}
        self._turn = 0

    async def lock(self, unit: Unit, run_ids: Iterable[UUID]) -> Held:
        """Lock runs and their accounts; an account with a limit brings its other waiting runs along."""
        wanted = set(run_ids)
        if len(self._owners) > REMEMBERED_RUNS:
            self._owners.clear()
        if unknown := wanted - self._owners.keys():
            self._owners |= await pipeline.owners(unit, unknown)
        accounts = await pipeline.lock_accounts(
            unit, {self._owners[run] for run in wanted if run in self._owners}
        )
        limited = [a.id for a in accounts.values() if a.max_concurrent_cases is not None]
        if limited:
            wanted |= await pipeline.running_runs(unit, limited)
        rows = await pipeline.lock_runs(unit, wanted)
        return Held(
            now=self._clock(),
            accounts=accounts,
            runs={
                key: RunWork(row, RunSettings.model_validate(row.settings, context=TRUSTED))
                for key, row in rows.items()
            },
        )

    async def load(self, unit: Unit, held: Held, result_ids: Iterable[UUID]) -> None:
        """Read results of locked runs."""
        rows = await pipeline.results_by_id(unit, result_ids)
        held.results |= {
            key: ResultWork(row, CaseSnapshot.model_validate(row.snapshot)) for key, row in rows.items()
        }

    async def apply(self, unit: Unit, held: Held, reports: Sequence[Report]) -> None:
        """Apply the reports that are awaited; the others are duplicates or late and change nothing."""
        await self.load(unit, held, {report.result_id for report in reports})
        judged = [(r.result_id, r.attempt) for r in reports if isinstance(r, CaseJudged)]
        applier = Applier(
            runs=held.runs,
            results=held.results,
            executed=await pipeline.executed_payloads(unit, judged),
            prices=self.prices,
            now=held.now,
        )
        fresh: list[pipeline.NewPhase] = []
        late: list[Report] = []
        for report in reports:
            run = held.runs.get(report.run_id)
            if run is not None:
                run.started(held.now)
            if not applier.awaited(report):
                late.append(report)
                continue
            applier.apply(report)
            phase = Phase.EXECUTED if isinstance(report, CaseExecuted) else Phase.JUDGED
            body = report.model_dump_json(exclude_none=True)
            fresh.append(pipeline.NewPhase(report.result_id, report.attempt, phase, report.run_id, body))
        await pipeline.insert_phases(unit, fresh)
        if late:
            unit.after_commit(lambda: self._count_duplicates(late))

    async def flush(self, unit: Unit, held: Held) -> None:
        """Let the next cases out, write what changed, and complete the runs that have nothing left."""
        await pipeline.save_results(unit, [r.saved() for r in held.results.values() if r.change])
        # After the results, since those that are to be retried stand in line with the others now.
        await self._fill(unit, held)
        sent = 0
        jobs: list[Departure] = []
        for run in held.runs.values():
            if not run.live or not run.changed:
                continue
            if self._direct is not None and run.outgoing:
                run.started(held.now)
            if await pipeline.bump_run(unit, run.row.id, add=run.add, put=run.put) == 0:
                await complete(unit, run, now=held.now, status=run.ending)
            await events.append(unit, run.events, now=held.now)
            if self._direct is not None:
                limit = run.put.get("window", run.row.window)
                jobs += [Departure(each, limit) for each in run.outgoing if each.exchange == JOBS.name]
                run.outgoing = [message for message in run.outgoing if message.exchange != JOBS.name]
            sent += await outbox.add(unit, run.outgoing, now=held.now)
        for account_id in held.accounts:
            charged = sum(r.charged for r in held.runs.values() if r.row.account_id == account_id)
            await pipeline.charge(unit, account_id, charged)
        hints = [LiveHint(run_id=r.row.id, seq=r.events[-1].seq) for r in held.runs.values() if r.events]
        if sent:
            unit.after_commit(self._wake)
        if jobs and (direct := self._direct) is not None:
            unit.after_commit(lambda: direct(jobs))
        if hints:
            unit.after_commit(lambda: self._hint(hints))
        ended = {status: sum(run.add[status] for run in held.runs.values()) for status in FINAL}
        unit.after_commit(lambda: self._count_ended(ended))

    def _count_duplicates(self, reports: Sequence[Report]) -> None:
        self._meters.duplicates.add(len(reports))
        self._meters.duplicate_cost.add(sum(report.cost_micro_usd or 0 for report in reports))

    def _count_ended(self, ended: Mapping[str, int]) -> None:
        for status, count in ended.items():
            if count:
                self._meters.cases.add(count, status=status)

    async def _fill(self, unit: Unit, held: Held) -> None:
        limits = {a.id: a.max_concurrent_cases for a in held.accounts.values()}
        limited = [key for key, limit in limits.items() if limit is not None]
        busy = await pipeline.in_flight_by_account(unit, limited) if limited else {}
        for account_id in limited:
            moved = sum(r.add["in_flight"] for r in held.runs.values() if r.row.account_id == account_id)
            busy[account_id] = busy.get(account_id, 0) + moved
        for fair in (True, False) if limited else (False,):
            await self._fill_once(unit, held, limits=limits, busy=busy, fair=fair)

    async def _fill_once(
        self,
        unit: Unit,
        held: Held,
        *,
        limits: Mapping[UUID, int | None],
        busy: dict[UUID, int],
        fair: bool,
    ) -> None:
        """Fill windows, the run with the fewest cases out first; of equal ones, the one served longest ago.

        With `fair`, no run of a limited account takes more than its share of the places, so that a large run
        does not starve a small one; without, what the others left is taken as well.
        """
        broke = held.out_of_money
        waiting = Counter(
            run.row.account_id for run in held.runs.values() if run.live and run.next_ordinal < run.row.total
        )
        for run in sorted(
            held.runs.values(), key=lambda each: (each.in_flight, self._served.get(each.row.id, 0))
        ):
            account_id = run.row.account_id
            limit, allowance = limits.get(account_id), None
            if limit is not None:
                allowance = max(0, limit - busy.get(account_id, 0))
                if fair:
                    share = max(1, limit // max(1, waiting[account_id]))
                    allowance = min(allowance, max(0, share - run.in_flight))
            left = await self._dispatcher.fill(
                unit,
                run,
                now=held.now,
                account_limit=limit,
                allowance=allowance,
                out_of_money=account_id in broke,
                counted=limit is not None or held.accounts[account_id].balance_micro is not None,
            )
            if limit is not None and left:
                busy[account_id] = busy.get(account_id, 0) + left
                self._note_served(run.row.id)

    def _note_served(self, run_id: UUID) -> None:
        if len(self._served) > REMEMBERED_RUNS:
            self._served.clear()
        self._turn += 1
        self._served[run_id] = self._turn
