"""Simulated agents with known pass rates: how often the statistics are wrong, and what being right costs.

Everything is decided by the functions that runs, comparisons and alerts use; only the agents are dice.
"""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from uuid import UUID

from proctor_contracts.verdicts import ComparisonVerdict, RegressionVerdict
from proctor_grading.comparison import mcnemar, sign_flip
from proctor_grading.corrections import ALPHA
from proctor_grading.power import smallest_plan
from proctor_grading.regression import CONFIRMING_TRIALS, Scores, confirm, first_look
from proctor_grading.sequential import Pairs, Plan, decide

__all__ = ["simulations"]

COMPARISONS = 1_000
HISTORIES = 4_000
LOSSES = 40_000
"""Histories with a real loss: its bar is near, so the standard error has to be small."""

BASELINE_RUNS = 7
MAX_PAIRS = 160
CATEGORY = "category"


def simulations(*, seed: int = 7) -> None:
    """Print every figure beside its bar."""
    print(f"{'statistics, simulated':46}{'seen':>9}  bar")
    started = time.perf_counter()
    _fixed(random.Random(seed))
    _sequential(random.Random(seed))
    _alerts(random.Random(seed))
    taken = time.perf_counter() - started
    print(
        f"({taken:.0f} s; {COMPARISONS:,} comparisons, {HISTORIES:,} histories a line, "
        f"{LOSSES:,} with a loss; ± is the standard error)"
    )


def _line(name: str, seen: str, bar: str = "") -> None:
    print(f"{name:46}{seen:>9}  {bar}".rstrip(), flush=True)


def _share(count: int, of: int) -> str:
    return f"{100 * count / of:.1f} %"


def _bar(text: str, count: int, of: int) -> str:
    """A bar with the standard error of what stands beside it."""
    share = count / of
    return f"{text} (± {100 * math.sqrt(share * (1 - share) / of):.2f} %)"


def _fixed(rng: random.Random) -> None:
    """Two alike agents in comparisons of a fixed size."""
    bar = "<= 5 % false worse"
    for name, call in (("one trial", _mid_p), ("three trials", _flips)):
        worse = sum(call(rng) for _ in range(COMPARISONS))
        _line(f".90/.90, 100 cases, {name}: worse", _share(worse, COMPARISONS), bar)


def _mid_p(rng: random.Random) -> bool:
    pairs = Pairs()
    for _ in range(100):
        pairs = pairs.seen(a=rng.random() < 0.9, b=rng.random() < 0.9)
    return pairs.worse > pairs.better and mcnemar(pairs.worse, pairs.better).mid_p <= ALPHA


def _flips(rng: random.Random) -> bool:
    """Cases differ here: four of five always pass, the fifth is a coin."""
    differences = []
    for number in range(100):
        p = 1.0 if number % 5 else 0.5
        differences.append(sum((rng.random() < p) - (rng.random() < p) for _ in range(3)))
    return sum(differences) < 0 and sign_flip(differences) <= ALPHA


def _sequential(rng: random.Random) -> None:
    """Comparisons that stop by themselves, looked at after every pair."""
    plan = Plan(max_pairs=MAX_PAIRS, alpha=ALPHA, min_detectable=0.1)
    alike, _ = _play(rng, plan, 0.9, 0.9)
    _line(
        f".90/.90 until decided (<= {MAX_PAIRS}): worse",
        _share(alike[ComparisonVerdict.WORSE], COMPARISONS),
        "<= 5 %",
    )
    _line("  better", _share(alike[ComparisonVerdict.BETTER], COMPARISONS), "<= 5 %")
    lower, used = _play(rng, plan, 0.9, 0.7)
    power = lower[ComparisonVerdict.WORSE] / COMPARISONS
    fixed = smallest_plan(power, worse=0.9 * 0.3, better=0.1 * 0.7)
    _line(
        ".90/.70 until decided: found worse", _share(lower[ComparisonVerdict.WORSE], COMPARISONS), ">= 80 %"
    )
    bar = f"< {fixed}, the smallest fixed plan of that power"
    _line("  mean pairs", f"{used / COMPARISONS:.1f}", bar)
    patient = Plan(max_pairs=1_500, alpha=ALPHA, min_detectable=0.1)
    calm, used = _play(rng, patient, 0.9, 0.9, count=COMPARISONS // 5)
    _line(
        ".90/.90 until decided (<= 1,500): none >= .10",
        _share(calm[ComparisonVerdict.NO_DIFFERENCE], COMPARISONS // 5),
        f"mean {used * 5 / COMPARISONS:.0f} pairs",
    )


def _play(
    rng: random.Random, plan: Plan, a: float, b: float, *, count: int = COMPARISONS
) -> tuple[Counter[ComparisonVerdict], int]:
    verdicts: Counter[ComparisonVerdict] = Counter()
    used = 0
    for _ in range(count):
        pairs = Pairs()
        verdict = None
        while verdict is None:
            pairs = pairs.seen(a=rng.random() < a, b=rng.random() < b)
            verdict = decide(plan, pairs)
        verdicts[verdict] += 1
        used += pairs.total
    return verdicts, used


def _alerts(rng: random.Random) -> None:
    """A category with seven runs before it: nothing changed, or twenty points lost."""
    for cases in (5, 10, 20):
        alarms = _alarms(rng, cases, drop=0.0, histories=HISTORIES)
        _line(
            f"nothing changed, {cases} cases: first look fires",
            _share(alarms["suspected"] + alarms["at once"], HISTORIES),
        )
        told = alarms["at once"] + alarms["confirmed"]
        bar = _bar("<= 3 %", told, HISTORIES)
        _line("  alarm, at once or after the rerun", _share(told, HISTORIES), bar)
    alarms = _alarms(rng, 20, drop=0.2, histories=LOSSES)
    told = alarms["at once"] + alarms["confirmed"]
    _line("20 points lost, 20 cases: found at once", _share(alarms["at once"], LOSSES))
    _line("  alarm, at once or after the rerun", _share(told, LOSSES), _bar(">= 80 %", told, LOSSES))


def _alarms(rng: random.Random, cases: int, *, drop: float, histories: int) -> Counter[str]:
    found: Counter[str] = Counter()
    for _ in range(histories):
        baseline = [_run(rng, cases, 0.9) for _ in range(BASELINE_RUNS)]
        looked = first_look({CATEGORY: _run(rng, cases, 0.9 - drop)}, [{CATEGORY: run} for run in baseline])[
            CATEGORY
        ]
        if looked.verdict is RegressionVerdict.REGRESSION:
            found["at once"] += 1
        elif looked.verdict is RegressionVerdict.SUSPECTED:
            found["suspected"] += 1
            rerun = confirm(_run(rng, cases, 0.9 - drop, trials=CONFIRMING_TRIALS), baseline)
            found["confirmed"] += rerun is not None and rerun.verdict is RegressionVerdict.REGRESSION
    return found


def _run(rng: random.Random, cases: int, p: float, *, trials: int = 1) -> Scores:
    return {
        UUID(int=case): tuple(100 if rng.random() < p else 0 for _ in range(trials)) for case in range(cases)
    }
