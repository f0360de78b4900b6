"""Two prompts side by side: lines matched first, then the words of lines that changed.

Line ends do not count. The work is bounded whatever the texts are: what could only be matched at great cost
is shown as replaced.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

from proctor_contracts.schemas.agents import DiffRow, DiffSpan

__all__ = ["PromptDiff", "compare_prompts"]

_LINE_END = re.compile(r"\r\n|\r|\n")
# A word keeps its hyphens, apostrophes (U+0027, U+2019, U+02BC) and combining marks, as Ukrainian needs it.
_TOKEN = re.compile(r"[\w\u0300-\u036f]+(?:['\u2019\u02bc-][\w\u0300-\u036f]+)*|\s+|.", re.DOTALL)
_WORK = 4_000_000
"""Pairs of lines or words that may be looked at where nothing unique holds the texts together."""
_ALIKE = 0.3
"""From which share of common words on two lines are one line that changed."""
_MOST_PAIRS = 2_500

_Block = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class PromptDiff:
    """The rows, and how many words only one of the texts has."""

    rows: tuple[DiffRow, ...]
    words_removed: int
    words_added: int


class _Budget:
    """The work that is left for one comparison."""

    def __init__(self) -> None:
        self.left = _WORK

    def take(self, work: int) -> bool:
        if work > self.left:
            return False
        self.left -= work
        return True


def compare_prompts(left: str, right: str) -> PromptDiff:
    """Lay two texts side by side."""
    before, after = _LINE_END.split(left), _LINE_END.split(right)
    budget = _Budget()
    rows: list[DiffRow] = []
    removed = added = 0
    at_left = at_right = 0
    for start_left, start_right, size in [*_matches(before, after, budget), (len(before), len(after), 0)]:
        for one, other in _aligned(before[at_left:start_left], after[at_right:start_right]):
            spans = _changed(
                None if one is None else before[at_left + one],
                None if other is None else after[at_right + other],
                budget,
            )
            removed += _words(spans[0])
            added += _words(spans[1])
            rows.append(
                DiffRow(
                    kind="added" if one is None else "removed" if other is None else "changed",
                    left_number=None if one is None else at_left + one + 1,
                    left=spans[0],
                    right_number=None if other is None else at_right + other + 1,
                    right=spans[1],
                )
            )
        for step in range(size):
            same = (DiffSpan(text=before[start_left + step], changed=False),)
            rows.append(
                DiffRow(
                    kind="equal",
                    left_number=start_left + step + 1,
                    left=same,
                    right_number=start_right + step + 1,
                    right=same,
                )
            )
        at_left, at_right = start_left + size, start_right + size
    return PromptDiff(tuple(rows), removed, added)


def _matches(a: Sequence[str], b: Sequence[str], budget: _Budget) -> list[tuple[int, int, int]]:
    """Find runs of equal items as (place in a, place in b, length), in order and without overlap."""
    pairs: list[tuple[int, int]] = []
    waiting: list[_Block] = [(0, len(a), 0, len(b))]
    while waiting:
        low_a, high_a, low_b, high_b = waiting.pop()
        while low_a < high_a and low_b < high_b and a[low_a] == b[low_b]:
            pairs.append((low_a, low_b))
            low_a, low_b = low_a + 1, low_b + 1
        while low_a < high_a and low_b < high_b and a[high_a - 1] == b[high_b - 1]:
            high_a, high_b = high_a - 1, high_b - 1
            pairs.append((high_a, high_b))
        # Most blocks have nothing in common: no need to count anything then.
        if set(a[low_a:high_a]).isdisjoint(b[low_b:high_b]):
            continue
        block = (low_a, high_a, low_b, high_b)
        anchors = _anchors(a, b, block)
        if anchors:
            edges = [(low_a - 1, low_b - 1), *anchors, (high_a, high_b)]
            pairs += anchors
            waiting += [(one[0] + 1, other[0], one[1] + 1, other[1]) for one, other in pairwise(edges)]
        elif budget.take((high_a - low_a) * (high_b - low_b)):
            matcher = SequenceMatcher(None, a[low_a:high_a], b[low_b:high_b], autojunk=False)
            for match in matcher.get_matching_blocks():
                pairs += [(low_a + match.a + step, low_b + match.b + step) for step in range(match.size)]
    return _runs(sorted(pairs))


def _anchors(a: Sequence[str], b: Sequence[str], block: _Block) -> list[tuple[int, int]]:
    """Match the items that both sides have exactly once, as many as stand in one order (patience)."""
    low_a, high_a, low_b, high_b = block
    times_a, times_b = Counter(a[low_a:high_a]), Counter(b[low_b:high_b])
    places = {item: place for place, item in enumerate(b[low_b:high_b], low_b) if times_b[item] == 1}
    tails: list[int] = []
    heads: list[tuple[int, int, int]] = []
    ends: list[int] = []
    for place in range(low_a, high_a):
        item = a[place]
        if times_a[item] != 1 or (other := places.get(item)) is None:
            continue
        length = bisect_left(tails, other)
        heads.append((place, other, ends[length - 1] if length else -1))
        if length == len(tails):
            tails.append(other)
            ends.append(len(heads) - 1)
        else:
            tails[length] = other
            ends[length] = len(heads) - 1
    found: list[tuple[int, int]] = []
    at = ends[-1] if ends else -1
    while at >= 0:
        place, other, at = heads[at]
        found.append((place, other))
    return found[::-1]


def _runs(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int, int]]:
    found: list[tuple[int, int, int]] = []
    for one, other in pairs:
        if found and found[-1][0] + found[-1][2] == one and found[-1][1] + found[-1][2] == other:
            found[-1] = (found[-1][0], found[-1][1], found[-1][2] + 1)
        else:
            found.append((one, other, 1))
    return found


def _aligned(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[int | None, int | None]]:
    """Pair the lines of a replaced block that are alike; the others stand alone, the left ones first."""
    at_left = at_right = 0
    for one, other in [*_alike(left, right), (len(left), len(right))]:
        yield from ((place, None) for place in range(at_left, one))
        yield from ((None, place) for place in range(at_right, other))
        if one < len(left):
            yield one, other
        at_left, at_right = one + 1, other + 1


def _alike(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    if len(left) * len(right) > _MOST_PAIRS:
        return [(place, place) for place in range(min(len(left), len(right)))]
    bags = [Counter(_TOKEN.findall(line)) for line in right]
    # best[i][j]: the most likeness that the first i left and j right lines can have in order.
    best = [[0.0] * (len(right) + 1) for _ in range(len(left) + 1)]
    score = [[_likeness(Counter(_TOKEN.findall(line)), bag) for bag in bags] for line in left]
    for i, row in enumerate(score, 1):
        for j, alike in enumerate(row, 1):
            paired = best[i - 1][j - 1] + alike if alike >= _ALIKE else 0.0
            best[i][j] = max(best[i - 1][j], best[i][j - 1], paired)
    found: list[tuple[int, int]] = []
    i, j = len(left), len(right)
    while i and j:
        if best[i][j] == best[i - 1][j]:
            i -= 1
        elif best[i][j] == best[i][j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            found.append((i, j))
    return found[::-1]


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    whole = one.total() + other.total()
    return 2 * (one & other).total() / whole if whole else 1.0


def _changed(
    left: str | None, right: str | None, budget: _Budget
) -> tuple[tuple[DiffSpan, ...], tuple[DiffSpan, ...]]:
    if left is None or right is None:
        alone = (DiffSpan(text=left if left is not None else right or "", changed=True),)
        return (alone, ()) if right is None else ((), alone)
    before, after = _TOKEN.findall(left), _TOKEN.findall(right)
    matches = _matches(before, after, budget)
    return (
        _spans(before, [(place, size) for place, _, size in matches]),
        _spans(after, [(place, size) for _, place, size in matches]),
    )


def _spans(tokens: Sequence[str], same: Sequence[tuple[int, int]]) -> tuple[DiffSpan, ...]:
    found: list[DiffSpan] = []
    at = 0
    for start, size in [*same, (len(tokens), 0)]:
        if at < start:
            found.append(DiffSpan(text="".join(tokens[at:start]), changed=True))
        if size:
            text = "".join(tokens[start : start + size])
            if found and not found[-1].changed:
                text = found.pop().text + text
            found.append(DiffSpan(text=text, changed=False))
        at = start + size
    return tuple(found)


def _words(spans: Sequence[DiffSpan]) -> int:
    return sum(1 for span in spans if span.changed for token in _TOKEN.findall(span.text) if token.strip())
