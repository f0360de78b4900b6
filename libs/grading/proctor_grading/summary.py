"""The numbers of a run, worked out from its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from proctor_contracts.enums import ResultStatus
from proctor_contracts.summary import CaseRef, GroupSummary, RunSummary
from proctor_contracts.transcript import Usage

from .rows import ResultRow
from .statistics import clustered, percentile, wilson

__all__ = ["Tally", "summarise"]

MICRO_USD_PER_CENT = 10_000


def summarise(rows: Iterable[ResultRow], *, duration_ms: int | None = None) -> RunSummary:
    """Work out a run's summary; unfinished rows are counted as such and enter nothing else."""
    tally = Tally()
    for row in rows:
        tally.add(row)
    return tally.summary(duration_ms=duration_ms)


class Tally:
    """Counts rows one by one; what it says does not depend on their order."""

    def __init__(self) -> None:
        self._all = _Group()
        self._categories: dict[str, _Group] = {}
        self._priorities: dict[str, _Group] = {}
        self._cases: dict[UUID, list[int]] = {}
        self._weighted = self._weights = 0
        self._latencies: list[int] = []
        self._tokens = [0, 0, 0, 0]
        self._cost: int | None = 0
        self._judge_cost: int | None = 0
        self._unfinished = 0
        self._errors: Counter[str] = Counter()
        self._critical: dict[ResultStatus, dict[UUID, CaseRef]] = {
            ResultStatus.FAILED: {},
            ResultStatus.ERROR: {},
        }

    def add(self, row: ResultRow) -> None:
        """Count one row."""
        groups = (
            self._all,
            self._categories.setdefault(row.category, _Group()),
            self._priorities.setdefault(row.priority.value, _Group()),
        )
        for group in groups:
            group.add(row)
        trials = self._cases.setdefault(row.case_id, [0, 0])
        if row.first in _GRADED and row.status.final:
            trials[0] += row.first is ResultStatus.PASSED
            trials[1] += 1
        self._unfinished += not row.status.final
        self._add_money(row)
        self._latencies.extend(row.latencies_ms)
        if (score := row.counted_score) is not None:
            self._weighted += score * row.weight
            self._weights += row.weight
        if row.status is ResultStatus.ERROR:
            self._errors[row.error_code or "unknown"] += 1
        if row.critical and row.status in self._critical:
            self._critical[row.status].setdefault(row.case_id, row.named())

    def summary(self, *, duration_ms: int | None = None) -> RunSummary:
        """Return the numbers so far."""
        group = self._all
        prompt, cached, written, completion = self._tokens
        return RunSummary(
            **group.numbers() | {"avg_score": self._weighted / self._weights if self._weights else None},
            cases=len(self._cases),
            unfinished=self._unfinished,
            graded=group.first_graded,
            first_passed=group.first_passed,
            pass_rate_after_retries=_share(group.passed, group.passed + group.failed),
            pass_rate_ci95=self._interval(),
            by_category={name: self._categories[name].summary() for name in sorted(self._categories)},
            by_priority={name: self._priorities[name].summary() for name in sorted(self._priorities)},
            latency_p50_ms=percentile(self._latencies, 50),
            latency_p95_ms=percentile(self._latencies, 95),
            usage=Usage(
                prompt_tokens=prompt,
                cached_prompt_tokens=cached,
                cache_write_tokens=written,
                completion_tokens=completion,
            ),
            cost_micro_usd=self._cost,
            cost_cents=None if self._cost is None else self._cost / MICRO_USD_PER_CENT,
            judge_cost_micro_usd=self._judge_cost,
            duration_ms=duration_ms,
            errors=dict(sorted(self._errors.items())),
            critical_failed=tuple(self._critical[ResultStatus.FAILED].values()),
            critical_errored=tuple(self._critical[ResultStatus.ERROR].values()),
        )

    def _add_money(self, row: ResultRow) -> None:
        if self._cost is not None:
            self._cost = None if row.cost_micro_usd is None else self._cost + row.cost_micro_usd
        if self._judge_cost is not None:
            judge = row.judge_cost_micro_usd
            self._judge_cost = None if judge is None else self._judge_cost + judge
        if (usage := row.usage) is not None:
            tokens = (
                usage.prompt_tokens,
                usage.cached_prompt_tokens,
                usage.cache_write_tokens,
                usage.completion_tokens,
            )
            for kind, count in enumerate(tokens):
                self._tokens[kind] += count

    def _interval(self) -> tuple[float, float] | None:
        """Wilson's interval; where cases have several trials, on the effective number of them."""
        graded = [(k, n) for k, n in self._cases.values() if n]
        if not graded:
            return None
        if all(n == 1 for _, n in graded):
            return wilson(sum(k for k, _ in graded), len(graded))
        rate = clustered(graded)
        return None if rate is None else rate.interval


_GRADED = frozenset({ResultStatus.PASSED, ResultStatus.FAILED})


class _Group:
    """The counts that the whole run and each of its groups share."""

    __slots__ = (
        "cancelled",
        "error",
        "failed",
        "first_graded",
        "first_passed",
        "flaky",
        "passed",
        "points",
        "scored",
        "total",
    )

    def __init__(self) -> None:
        self.total = self.passed = self.failed = self.error = self.cancelled = self.flaky = 0
        self.first_graded = self.first_passed = self.points = self.scored = 0

    def add(self, row: ResultRow) -> None:
        self.total += 1
        match row.status:
            case ResultStatus.PASSED:
                self.passed += 1
            case ResultStatus.FAILED:
                self.failed += 1
            case ResultStatus.ERROR:
                self.error += 1
            case ResultStatus.CANCELLED:
                self.cancelled += 1
            case _:
                return
        self.flaky += row.flaky
        if row.first in _GRADED:
            self.first_graded += 1
            self.first_passed += row.first is ResultStatus.PASSED
        if (score := row.counted_score) is not None:
            self.points += score
            self.scored += 1

    def numbers(self) -> dict[str, Any]:
        return {
            "total": self.total,
            "passed": self.passed,
            "failed": self.failed,
            "error": self.error,
            "cancelled": self.cancelled,
            "flaky": self.flaky,
            "pass_rate": _share(self.first_passed, self.first_graded),
            "avg_score": self.points / self.scored if self.scored else None,
            "scored": self.scored,
        }

    def summary(self) -> GroupSummary:
        return GroupSummary(**self.numbers())


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
