"""The numbers of a run, worked out from its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from proctor_contracts.enums import ResultStatus
from proctor_contracts.summary import GroupSummary, RepeatRates, RunSummary, UnstableCase
from proctor_contracts.transcript import Usage

from .repeats import instability, mean_pass_rates
from .rows import ResultRow
from .statistics import clustered, percentile, wilson

__all__ = ["Tally", "summarise"]

MICRO_USD_PER_CENT = 10_000
MOST_REPEATS = 10
MOST_UNSTABLE = 10


def summarise(rows: Iterable[ResultRow], *, duration_ms: int | None = None) -> RunSummary:
    """Work out a run's summary; unfinished rows only count in `total`."""
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
        self._labels: dict[UUID, str] = {}
        self._weighted = self._weights = 0
        self._latencies: list[int] = []
        self._tokens = _Tokens()
        self._judge_tokens = _Tokens()
        self._cost: int | None = 0
        self._needs_review = 0
        self._errors: Counter[str] = Counter()
        self._critical: dict[ResultStatus, dict[UUID, str]] = {
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
            if trials[1] > 1:
                self._labels.setdefault(row.case_id, row.label)
        self._needs_review += row.needs_review
        self._tokens.add(row.usage)
        self._judge_tokens.add(row.judge_usage)
        if self._cost is not None:
            self._cost = None if row.cost_micro_usd is None else self._cost + row.cost_micro_usd
        self._latencies.extend(row.latencies_ms)
        if (score := row.counted_score) is not None:
            self._weighted += score * row.weight
            self._weights += row.weight
        if row.status is ResultStatus.ERROR:
            self._errors[row.error_code or "unknown"] += 1
        if row.critical and row.status in self._critical:
            self._critical[row.status].setdefault(row.case_id, row.label)

    def summary(self, *, duration_ms: int | None = None) -> RunSummary:
        """Return the numbers so far."""
        group = self._all
        unstable = self._unstable()
        return RunSummary(
            **group.numbers() | {"avg_score": self._weighted / self._weights if self._weights else None},
            cases=len(self._cases),
            first_attempt_passed=group.first_passed,
            first_attempt_failed=group.first_graded - group.first_passed,
            pass_rate_after_retries=_share(group.passed, group.passed + group.failed),
            pass_rate_ci95=self._interval(),
            flaky_rate=_share(group.flaky, group.passed + group.failed),
            repeats=self._repeats(),
            instability=_share(sum(case.instability for case in unstable), len(self._labels)),
            unstable=tuple(unstable[:MOST_UNSTABLE]),
            by_category={name: self._categories[name].summary() for name in sorted(self._categories)},
            by_priority={name: self._priorities[name].summary() for name in sorted(self._priorities)},
            latency_p50_ms=percentile(self._latencies, 50),
            latency_p95_ms=percentile(self._latencies, 95),
            usage=self._tokens.usage(),
            judge_usage=self._judge_tokens.usage(),
            cost_cents=None if self._cost is None else self._cost / MICRO_USD_PER_CENT,
            duration_ms=duration_ms,
            critical_failed=tuple(self._critical[ResultStatus.FAILED].values()),
            critical_error=tuple(self._critical[ResultStatus.ERROR].values()),
            errors_by_code=dict(sorted(self._errors.items())),
            needs_review=self._needs_review,
        )

    def _interval(self) -> tuple[float, float] | None:
        """Wilson's interval; where cases have several trials, on the effective number of them."""
        graded = [(k, n) for k, n in self._cases.values() if n]
        if not graded:
            return None
        if all(n == 1 for _, n in graded):
            return wilson(sum(k for k, _ in graded), len(graded))
        rate = clustered(graded)
        return None if rate is None else rate.interval

    def _repeats(self) -> tuple[RepeatRates, ...]:
        """What 2 and more trials do; that of one trial is the pass rate."""
        counts = [(k, n) for k, n in self._cases.values()]
        most = min(MOST_REPEATS, max((n for _, n in counts), default=0))
        found = (mean_pass_rates(counts, k) for k in range(2, most + 1))
        return tuple(
            RepeatRates(
                k=one.k,
                pass_any=one.any_of_k,
                pass_all=one.all_of_k,
                cases=one.cases,
                excluded=one.excluded,
            )
            for one in found
            if one is not None
        )

    def _unstable(self) -> list[UnstableCase]:
        """The cases whose trials disagree, the worst first."""
        found = [
            UnstableCase(label=label, trials=n, passed=k, instability=d)
            for case, label in self._labels.items()
            for k, n in [self._cases[case]]
            if (d := instability(n, k))
        ]
        return sorted(found, key=lambda case: (-case.instability, case.label))


_GRADED = frozenset({ResultStatus.PASSED, ResultStatus.FAILED})


class _Tokens:
    """Token counts, added up without building a value for each step."""

    __slots__ = ("counts",)

    def __init__(self) -> None:
        self.counts = [0, 0, 0, 0]

    def add(self, usage: Usage | None) -> None:
        if usage is None:
            return
        counts = self.counts
        counts[0] += usage.prompt_tokens
        counts[1] += usage.cached_prompt_tokens
        counts[2] += usage.cache_write_tokens
        counts[3] += usage.completion_tokens

    def usage(self) -> Usage:
        prompt, cached, written, completion = self.counts
        return Usage(
            prompt_tokens=prompt,
            cached_prompt_tokens=cached,
            cache_write_tokens=written,
            completion_tokens=completion,
        )


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


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None
