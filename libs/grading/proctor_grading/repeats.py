"""What several trials of one case say: passing any or all of k, how unstable a case is, what retries hide."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from proctor_contracts.verdicts import Stability

__all__ = [
    "QUARANTINE",
    "PassRates",
    "Stability",
    "failure_bound",
    "flagged_flaky",
    "instability",
    "mean_pass_rates",
    "pass_all",
    "pass_any",
    "passed_after_retries",
    "quarantine",
    "stability",
]

ENOUGH = 5
"""The fewest trials that give a case a class."""

QUARANTINE = 0.2
"""The instability from which a case should be looked at before it blocks a release."""


def pass_any(n: int, c: int, k: int) -> float | None:
    """Estimate pass@k, that any of k trials passes, from c passes in n; None unless 1 ≤ k ≤ n."""
    return 1 - math.comb(n - c, k) / math.comb(n, k) if 1 <= k <= n else None


def pass_all(n: int, c: int, k: int) -> float | None:
    """Estimate pass^k, that all of k trials pass, from c passes in n; None unless 1 ≤ k ≤ n."""
    return math.comb(c, k) / math.comb(n, k) if 1 <= k <= n else None


@dataclass(frozen=True, slots=True)
class PassRates:
    """pass@k and pass^k of a suite: means over `cases`; `excluded` had fewer than k trials."""

    k: int
    any_of_k: float
    all_of_k: float
    cases: int
    excluded: int


def mean_pass_rates(counts: Iterable[tuple[int, int]], k: int) -> PassRates | None:
    """Average over cases given as (passes, trials); None when no case has k trials.

    The trials must be first attempts, as many as were fixed beforehand: retries stop at a pass and bias both.
    """
    tried = [(c, n) for c, n in counts if n > 0]
    enough = [(c, n) for c, n in tried if n >= k]
    if k < 1 or not enough:
        return None
    total = len(enough)
    return PassRates(
        k=k,
        any_of_k=1 - math.fsum(math.comb(n - c, k) / math.comb(n, k) for c, n in enough) / total,
        all_of_k=math.fsum(math.comb(c, k) / math.comb(n, k) for c, n in enough) / total,
        cases=total,
        excluded=len(tried) - total,
    )


def instability(n: int, c: int) -> float | None:
    """Estimate without bias how likely two trials of a case disagree, from c passes in n; None below two."""
    return 2 * c * (n - c) / (n * (n - 1)) if n > 1 else None


def stability(n: int, c: int) -> Stability:
    """Class a case by its history of n trials with c passes."""
    if n < ENOUGH:
        return Stability.UNKNOWN
    if c == n:
        return Stability.STABLE_PASS
    return Stability.FLAKY if c else Stability.STABLE_FAIL


def quarantine(n: int, c: int, *, critical: bool = False) -> bool:
    """Whether a case is unstable enough to be set apart; a critical one never is."""
    found = instability(n, c)
    return not critical and stability(n, c) is Stability.FLAKY and found is not None and found >= QUARANTINE


def passed_after_retries(p: float, retries: int) -> float:
    """Return the chance that a case with pass probability p ends passed when any attempt is enough."""
    return 1 - (1 - p) ** (retries + 1)


def flagged_flaky(p: float, retries: int) -> float:
    """Return the chance that the retries of such a case show that it is flaky."""
    return (1 - p) * (1 - (1 - p) ** retries)


def failure_bound(n: int) -> float:
    """Return the highest failure rate that n passes in a row leave possible (95 % one-sided)."""
    return 1 - 0.05 ** (1 / n) if n > 0 else 1.0
