"""What a batch changes, gathered in memory under the runs' locks and written once at its end."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from proctor_contracts.cases import CaseSnapshot
from proctor_contracts.enums import ResultStatus, Runner, RunStatus
from proctor_contracts.messages import CaseRequested, RunMessage
from proctor_contracts.run_settings import RunSettings
from proctor_contracts.transcript import Usage
from proctor_store.repositories.events import NewEvent
from proctor_store.repositories.outbox import Outgoing
from proctor_store.repositories.pipeline import ResultRow, RunRow

from .steps import AttemptOutcome, Plan
from .trials import seed_of, weather_of

__all__ = ["ResultWork", "RunWork", "case_requested"]


@dataclass(slots=True)
class RunWork:
    """A locked run, the deltas of its counters, its new events and messages; `ending` is set by a cancel."""

    row: RunRow
    settings: RunSettings
    add: Counter[str] = field(default_factory=Counter)
    put: dict[str, Any] = field(default_factory=dict)
    events: list[NewEvent] = field(default_factory=list)
    outgoing: list[Outgoing] = field(default_factory=list)
    charged: int = 0
    ending: RunStatus | None = None

    @property
    def plan(self) -> Plan:
        """What was decided in advance."""
        return Plan(self.settings.retries_on_failure, self.settings.judge, self.settings.judge_policy)

    @property
    def in_flight(self) -> int:
        """Jobs out and not executed."""
        return self.row.in_flight + self.add["in_flight"]

    @property
    def judging(self) -> int:
        """Attempts waiting for the judge."""
        return self.row.judging + self.add["judging"]

    @property
    def uncommitted(self) -> int | None:
        """Micro-USD of the budget neither spent nor reserved; None without an enforced budget."""
        if self.row.budget_micro is None or self.settings.budget_mode != "enforce":
            return None
        spent = self.row.cost_micro + self.add["cost_micro"]
        return self.row.budget_micro - spent - self.row.reserved_micro - self.add["reserved_micro"]

    @property
    def next_ordinal(self) -> int:
        """The first result not yet let out."""
        return int(self.put.get("next_ordinal", self.row.next_ordinal))

    def cancel(self, open_results: int) -> None:
        """End the run as cancelled with the results that were open."""
        self.ended(ResultStatus.CANCELLED, open_results)
        self.put["next_ordinal"] = self.row.total
        # What was out counts no more, so that the account's other runs may use the places at once.
        for name in ("in_flight", "judging", "reserved_micro"):
            self.add[name] -= getattr(self.row, name) + self.add[name]
        self.ending = RunStatus.CANCELLED

    @property
    def changed(self) -> bool:
        """Whether there is anything to write."""
        return bool(any(self.add.values()) or self.put or self.events or self.outgoing)

    @property
    def live(self) -> bool:
        """Whether the run can still change."""
        return not RunStatus(self.row.status).final

    def started(self, now: datetime) -> None:
        """Say once that the run's first job is out."""
        if self.row.status == RunStatus.PENDING and "status" not in self.put:
            self.put |= {"status": RunStatus.RUNNING.value, "started_at": now}
            self.event("run.started", {"total": self.row.total})

    def event(self, name: str, data: dict[str, Any]) -> None:
        """Number an event; the run's lock makes the numbers gapless."""
        seq = self.row.event_seq + self.add["event_seq"] + 1
        self.add["event_seq"] += 1
        self.events.append(NewEvent(self.row.id, seq, name, data))

    def send(self, message: RunMessage) -> None:
        """Let a message leave with the transaction."""
        self.outgoing.append(Outgoing.of(message))

    def spend(self, micro: int | None) -> None:
        """Account for a model call; an unknown cost is counted as unknown, never as nothing."""
        if micro is None:
            self.add["unknown_costs"] += 1
        else:
            self.add["cost_micro"] += micro
            self.charged += micro

    def saw_model(self, kind: str, *names: str | None) -> None:
        """Remember what a provider says it answered with, so that a silent change can be seen."""
        known: list[str] = self.put.get(kind, getattr(self.row, kind)) or []
        new = [name for name in names if name and name not in known]
        if new:
            self.put[kind] = sorted({*known, *new})[:32]

    def ended(self, status: ResultStatus, count: int = 1) -> None:
        """Count results that are over."""
        self.add[status.value] += count
        self.add["remaining"] -= count


@dataclass(slots=True)
class ResultWork:
    """A result and what changes of it; `played` is what its events tell of the attempt just played."""

    row: ResultRow
    case: CaseSnapshot
    change: dict[str, Any] = field(default_factory=dict)
    played: dict[str, Any] = field(default_factory=dict)

    def now(self, name: str) -> Any:
        """The value as it stands within the batch."""
        return self.change[name] if name in self.change else getattr(self.row, name)

    @property
    def history(self) -> list[AttemptOutcome]:
        """The graded attempts so far."""
        return [AttemptOutcome(ResultStatus(status), *rest) for status, *rest in self.now("history")]

    def history_with(self, outcome: AttemptOutcome) -> list[list[Any]]:
        """The graded attempts and one more, as they are stored."""
        return [*self.now("history"), outcome.stored()]

    def expects(self, attempt: int, stage: str) -> bool:
        """Whether this report is the one that is awaited; anything else is a duplicate or came too late."""
        return bool(self.now("stage") == stage and self.now("attempt") == attempt)

    def label(self) -> dict[str, Any]:
        """What names the result in an event."""
        return {
            "resultId": str(self.row.id),
            "caseId": str(self.row.case_id),
            "ref": self.case.ref,
            "name": self.case.name,
            "trial": self.row.trial,
            "attempt": self.now("attempt"),
            **({} if self.row.weather is None else {"weather": self.row.weather}),
            **self.played,
        }

    def spend(self, kind: str, usage: Usage, micro: int | None) -> None:
        """Add the tokens and money of a report; one unknown price makes the whole cost unknown."""
        before = self.now(kind)
        total = usage if before is None else Usage.model_validate(before) + usage
        self.change[kind] = total.model_dump(by_alias=True)
        cost = self.now("cost_micro")
        self.change["cost_micro"] = None if cost is None or micro is None else cost + micro

    def saved(self) -> dict[str, Any]:
        """The change as the store takes it."""
        return {"id": self.row.id, **self.change}


def case_requested(
    run: RunWork, *, result_id: Any, trial: int, attempt: int, case: CaseSnapshot, share: int | None
) -> CaseRequested:
    """Write the job of one attempt, with everything a worker needs."""
    settings = run.settings
    return CaseRequested.model_construct(
        v=1,
        run_id=run.row.id,
        account_id=run.row.account_id,
        result_id=result_id,
        trial=trial,
        attempt=attempt,
        pool=settings.pool,
        case=case,
        agent=settings.agent,
        runner=Runner(settings.runner),
        dry_run=settings.dry_run,
        timeout_ms=settings.case_timeout_ms,
        budget_micro_usd=share,
        on_tool_error=settings.on_tool_error,
        weather=weather_of(settings, trial),
        seed=seed_of(settings, case, trial),
    )
