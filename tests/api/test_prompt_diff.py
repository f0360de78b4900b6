"""The side-by-side comparison of prompts: what it shows, and that it ends on any text."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_api.usecases.prompt_diff import PromptDiff, compare_prompts

LINES = st.lists(st.sampled_from(["a", "b", "a b", "b a c", "", "зворот", "a  b"]), max_size=12)


def shown(found: PromptDiff) -> list[tuple[str, str, str]]:
    """Rows with what changed in brackets."""
    return [
        (
            row.kind,
            "".join(f"[{span.text}]" if span.changed else span.text for span in row.left),
            "".join(f"[{span.text}]" if span.changed else span.text for span in row.right),
        )
        for row in found.rows
    ]


@pytest.mark.parametrize(
    ("left", "right", "rows"),
    [
        ("a\nb", "a\nb", [("equal", "a", "a"), ("equal", "b", "b")]),
        ("", "", [("equal", "", "")]),
        ("be kind", "be very kind", [("changed", "be kind", "be [very ]kind")]),
        ("a\nb\nc", "a\nc", [("equal", "a", "a"), ("removed", "[b]", ""), ("equal", "c", "c")]),
        ("a", "a\nnew line", [("equal", "a", "a"), ("added", "", "[new line]")]),
        # Words keep apostrophes and hyphens: the word changed, not a part of it.
        ("твій об'єкт", "твій обсяг", [("changed", "твій [об'єкт]", "твій [обсяг]")]),
        ("будь-який бот", "будь-яка ботиця", [("changed", "[будь-який] [бот]", "[будь-яка] [ботиця]")]),
        # A line that was put in does not make its neighbours differ.
        (
            "Say hello first.\nNever sell dear things.",
            "Say hello first.\nAsk the name.\nNever sell cheap things.",
            [
                ("equal", "Say hello first.", "Say hello first."),
                ("added", "", "[Ask the name.]"),
                ("changed", "Never sell [dear] things.", "Never sell [cheap] things."),
            ],
        ),
    ],
)
def test_rows_say_what_changed_word_by_word(left: str, right: str, rows: list[tuple[str, str, str]]) -> None:
    assert shown(compare_prompts(left, right)) == rows


def test_the_form_of_line_ends_is_no_change() -> None:
    found = compare_prompts("a\r\nb\rc", "a\nb\nc")
    assert [row.kind for row in found.rows] == ["equal"] * 3
    assert (found.words_removed, found.words_added) == (0, 0)


def test_words_are_counted_and_blanks_are_not() -> None:
    found = compare_prompts("one two three", "one  four three five")
    assert (found.words_removed, found.words_added) == (1, 2)


@given(LINES, LINES)
def test_both_texts_can_be_read_back_from_the_rows(left: list[str], right: list[str]) -> None:
    found = compare_prompts("\n".join(left), "\n".join(right))
    lefts = ["".join(s.text for s in row.left) for row in found.rows if row.left_number is not None]
    rights = ["".join(s.text for s in row.right) for row in found.rows if row.right_number is not None]
    assert lefts == (left or [""])
    assert rights == (right or [""])
    numbers = [row.left_number for row in found.rows if row.left_number is not None]
    assert numbers == list(range(1, len(numbers) + 1))
    numbers = [row.right_number for row in found.rows if row.right_number is not None]
    assert numbers == list(range(1, len(numbers) + 1))
    for row in found.rows:
        changed = any(span.changed for span in (*row.left, *row.right))
        assert changed == (row.kind != "equal")


@given(LINES, LINES)
def test_swapping_the_texts_swaps_the_counts_of_lines(left: list[str], right: list[str]) -> None:
    there = compare_prompts("\n".join(left), "\n".join(right))
    kinds = [row.kind for row in there.rows]
    assert kinds.count("equal") + kinds.count("changed") + kinds.count("removed") == max(len(left), 1)
    assert kinds.count("equal") + kinds.count("changed") + kinds.count("added") == max(len(right), 1)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("\n".join(map(str, range(40_000))), "\n".join(map(str, reversed(range(40_000))))),
        ("a\nb\n" * 40_000, "b\na\n" * 40_000),
        ("a b " * 60_000, "b  a " * 50_000),
        ("word " * 50_000, "other " * 40_000),
        ("x" * 260_000, "y" * 260_000),
        (
            " ".join(random.Random(1).choices("abcd", k=100_000)),
            " ".join(random.Random(2).choices("abcd", k=100_000)),
        ),
    ],
    ids=["reversed", "swapped", "one-line", "repeats", "one-word", "noise"],
)
def test_the_work_is_bounded_for_the_largest_prompts(left: str, right: str) -> None:
    found = compare_prompts(left, right)
    assert found.words_removed + found.words_added > 0
