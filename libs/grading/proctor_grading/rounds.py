"""A comparison that goes on until it is decided: which pairs it has, what they say, which come next."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from proctor_contracts.enums import ResultStatus
from proctor_contracts.verdicts import ComparisonVerdict

from .rows import ResultRow
from .sequential import Look, Pairs, Plan, look

__all__ = ["PORTION", "Standing", "portion", "standing", "standings"]

PORTION = 20
"""Cases played between two looks: more would be spent in vain after a decision, fewer leave workers idle."""

_GRADED = frozenset({ResultStatus.PASSED, ResultStatus.FAILED})

Rows = Sequence[ResultRow]


@dataclass(frozen=True, slots=True)
class Standing:
    """What a cell's pairs with the baseline show; `tried` counts also those that brought no verdict."""

    look: Look
    tried: int

    @property
    def open(self) -> bool:
        """Whether more pairs are wanted."""
        return self.look.verdict is None


def portion(seed: str, cases: Sequence[UUID], *, tried: int, limit: int) -> list[UUID]:
    """Choose the cases to play next after `tried` pairs; empty at the limit.

    Cases come in rounds, each a random order of all of them. The seed alone decides the orders, so that
    everybody who asks is told the same.
    """
    turn, at = divmod(tried, len(cases))
    order = sorted(cases)
    random.Random(f"{seed}:{turn}").shuffle(order)
    return order[at : at + min(PORTION, max(0, limit - tried))]


def standings(
    plan: Plan, baseline: Sequence[Rows], cells: Mapping[int, Sequence[Rows]]
) -> dict[int, Standing]:
    """Look at every cell against the baseline; each has the results of its runs, in the order they were made.

    The chance of a wrong better or worse is that of the plan over all cells together: each has its part.
    """
    each = Plan(
        max_pairs=plan.max_pairs, alpha=plan.alpha / max(1, len(cells)), min_detectable=plan.min_detectable
    )
    return {cell: standing(each, list(zip(baseline, rows, strict=False))) for cell, rows in cells.items()}


def standing(plan: Plan, runs: Sequence[tuple[Rows, Rows]]) -> Standing:
    """Look at one cell; each entry holds the same cases in the baseline and in the cell.

    A pair is a case with a verdict on both sides, by first attempts. Runs without a single pair end it: what
    errs throughout will go on erring.
    """
    pairs, tried, barren = Pairs(), 0, False
    for before, after in runs:
        others = {(row.case_id, row.trial): row.first for row in after}
        known = pairs.total
        for row in before:
            tried += 1
            other = others.get((row.case_id, row.trial))
            if row.first in _GRADED and other in _GRADED:
                pairs = pairs.seen(a=row.first is ResultStatus.PASSED, b=other is ResultStatus.PASSED)
        barren = barren or pairs.total == known
    seen = look(plan, pairs)
    if seen.verdict is None and (barren or tried >= plan.max_pairs):
        seen = Look(ComparisonVerdict.UNDECIDED, seen.pairs, seen.difference, seen.interval, seen.evidence)
    return Standing(seen, tried)
