from __future__ import annotations

from proctor_contracts.schemas.agents import DiffRow, DiffSpan, VersionDiff, VersionRef, VersionSource
from proctor_reports.versions import render_version_diff
from tests.reports.documents import START, uid


def ref(number: int) -> VersionRef:
    return VersionRef(id=uid(number), version_number=number, source=VersionSource.MANUAL, created_at=START)


def row(number: int, left: str | None, right: str | None) -> DiffRow:
    """A row; words in brackets changed."""

    def spans(text: str | None) -> tuple[DiffSpan, ...]:
        parts = [] if text is None else text.replace("]", "[").split("[")
        return tuple(DiffSpan(text=part, changed=place % 2 == 1) for place, part in enumerate(parts) if part)

    kind = (
        "added" if left is None else "removed" if right is None else "equal" if left == right else "changed"
    )
    return DiffRow.model_validate(
        {"kind": kind, "left": spans(left), "right": spans(right)}
        | {"left_number": None if left is None else number, "right_number": None if right is None else number}
    )


def diff(*rows: DiffRow, identical: bool = False) -> VersionDiff:
    return VersionDiff(
        left=ref(1), right=ref(2), identical=identical, words_removed=1, words_added=2, rows=rows
    )


def test_changed_words_stand_in_brackets_and_far_lines_are_left_out() -> None:
    rows = [row(n, f"line {n}", f"line {n}") for n in range(1, 11)]
    rows[5] = row(6, "be [kind]", "be [very kind]")
    rows.append(row(11, None, "[the end]"))
    assert render_version_diff(diff(*rows)).splitlines() == [
        "v1 -> v2: 1 words removed, 2 added",
        "  …",
        "    3   line 3",
        "    4   line 4",
        "    5   line 5",
        "    6 - be [kind]",
        "    6 + be [very kind]",
        "    7   line 7",
        "    8   line 8",
        "    9   line 9",
        "   10   line 10",
        "   11 + the end",
    ]


def test_colour_marks_words_without_brackets() -> None:
    shown = render_version_diff(diff(row(1, "be [kind]", "be [good]")), color=True)
    assert "be \x1b[31mkind\x1b[0m" in shown
    assert "be \x1b[32mgood\x1b[0m" in shown


def test_equal_prompts_are_called_so() -> None:
    same = row(1, "a", "a")
    assert render_version_diff(diff(same, identical=True)) == "v1 and v2 are the same\n"
    assert "line ends" in render_version_diff(diff(same))
