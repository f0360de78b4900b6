"""What statistics say, in words: differences, what they rest on, and what repeats of a case told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proctor_contracts.diff import CategoryDiff, PairedTest
from proctor_contracts.summary import RunSummary

from .reading import percent
from .text import one_line

__all__ = [
    "ALPHA",
    "FALSE_DISCOVERIES",
    "category_texts",
    "points",
    "rates_text",
    "repeats_text",
    "unstable_text",
    "verdict_text",
]

ALPHA = 0.05
FALSE_DISCOVERIES = 0.10
_SMALL = 30
_TESTS = {"mcnemar_mid_p": "McNemar mid-p", "permutation": "sign-flip permutation"}


def points(share: float, *, signed: bool = True) -> str:
    """Write a difference of rates as percentage points."""
    number = round(100 * share, 1) + 0.0  # no minus zero
    text = f"{number:+.1f}" if signed and number else f"{number:.1f}"
    return f"{text.removesuffix('.0')} points"


def rates_text(test: PairedTest) -> str | None:
    """Write both pass rates and their difference with its interval; None where the test has none."""
    if test.rate_a is None or test.rate_b is None or test.mean_difference is None:
        return None
    text = f"pass rate {percent(test.rate_a)} -> {percent(test.rate_b)}, {points(test.mean_difference)}"
    if test.ci95 is not None and test.ci95[0] < test.ci95[1]:
        low, high = (points(max(-1.0, min(1.0, end))).removesuffix(" points") for end in test.ci95)
        small = ", few cases" if test.pairs < _SMALL else ""
        text += f" (95 % interval {low} to {high}{small})"
    return text


def verdict_text(test: PairedTest) -> str:
    """Write what the test found, and where it found nothing, what it could have found."""
    text = f"{test.better} better, {test.worse} worse of {test.pairs} pairs"
    text += f"; {_TESTS[test.method]} p = {_p(test.p_value)}"
    if test.p_value <= ALPHA:
        return f"{text}: more than noise"
    text += ": no evidence of a difference"
    if test.smallest_detectable is None or test.smallest_detectable > 1:
        return f"{text}; so few pairs cannot show any"
    return f"{text}; smallest one this could have shown: {points(test.smallest_detectable, signed=False)}"


def category_texts(categories: Sequence[CategoryDiff]) -> Iterator[str]:
    """Write one line a category in which the evidence holds up beside the other categories'."""
    for one in categories:
        if one.adjusted <= FALSE_DISCOVERIES:
            found = f"{one.better} better, {one.worse} worse of {one.pairs}"
            name = one_line(one.category, 64)
            yield f"{name}: {points(one.mean_difference)} ({found}; adjusted p = {_p(one.adjusted)})"


def repeats_text(summary: RunSummary) -> str | None:
    """Write what the most trials that were made do: pass at least once, and pass every time."""
    if not summary.repeats:
        return None
    most = summary.repeats[-1]
    over = f"; {most.excluded} cases had fewer" if most.excluded else ""
    return (
        f"of {most.k} trials any passes {percent(most.pass_any)} (pass@{most.k}), "
        f"all pass {percent(most.pass_all)} (pass^{most.k}){over}"
    )


def unstable_text(summary: RunSummary, *, most: int = 3) -> str | None:
    """Name the cases whose trials disagree most, with how many of them passed."""
    if not summary.unstable:
        return None
    names = [f"{one_line(case.label, 64)} ({case.passed} of {case.trials})" for case in summary.unstable]
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else f"{value:.1g}"  # noqa: PLR2004 - three decimals
