"""Versions of a prompt for people: a list, one whole, two side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

from proctor_contracts.schemas.agents import AgentView, DiffRow, DiffSpan, VersionDiff, VersionView

from .paint import Paint
from .text import clip, one_line, visible

__all__ = ["render_version", "render_version_diff", "render_versions"]

_AROUND = 3
"""Equal lines that are shown before and after a change."""


def render_versions(agent: AgentView, versions: Sequence[VersionView], *, width: int = 100) -> str:
    """List versions, one a line, the current one marked."""
    numbers = {version.id: version.version_number for version in versions}
    lines = [clip(_line(version, numbers), max(width, 40)) for version in versions]
    if agent.prompt_differs:
        lines.append(
            "the integration's prompt was changed past its versions: "
            "`sync` keeps it as one, `activate` undoes it"
        )
    return "\n".join(lines) + "\n"


def render_version(version: VersionView) -> str:
    """Show a version whole: what is known about it, then its prompt."""
    facts = [
        f"v{version.version_number} · {version.source.value}{' · current' if version.is_current else ''}",
        f"id {version.id}, made {version.created_at:%Y-%m-%d %H:%M} UTC",
    ]
    if version.platform_version is not None:
        facts.append(f"platform version {one_line(version.platform_version)}")
    if version.exported_to_platform_at is not None:
        facts.append(f"pasted into the platform {version.exported_to_platform_at:%Y-%m-%d %H:%M} UTC")
    facts += [visible(text) for text in (version.notes, version.generation_context) if text]
    return "\n".join([*facts, "", visible(version.prompt)]) + "\n"


def render_version_diff(diff: VersionDiff, *, color: bool = False) -> str:
    """Show what changed from the left version to the right one; without colours, words in brackets."""
    return "\n".join(_changes(diff, Paint(color), color=color)) + "\n"


def _line(version: VersionView, numbers: Mapping[UUID, int]) -> str:
    mark = "*" if version.is_current else " "
    parent = None if version.parent_version_id is None else numbers.get(version.parent_version_id)
    origin = f" from v{parent}" if parent is not None else ""
    exported = ", in the platform" if version.exported_to_platform_at is not None else ""
    said = one_line(version.notes or version.prompt, 200) or "(empty)"
    when = f"{version.created_at:%Y-%m-%d %H:%M}"
    return f"{mark} v{version.version_number:<3} {when}  {version.source.value}{origin}{exported}: {said}"


def _changes(diff: VersionDiff, paint: Paint, *, color: bool) -> Iterator[str]:
    left, right = diff.left.version_number, diff.right.version_number
    if all(row.kind == "equal" for row in diff.rows):
        form = "" if diff.identical else " but for the form of their line ends"
        yield f"v{left} and v{right} are the same{form}"
        return
    yield f"v{left} -> v{right}: {diff.words_removed} words removed, {diff.words_added} added"
    changed = [place for place, row in enumerate(diff.rows) if row.kind != "equal"]
    shown = {
        near
        for place in changed
        for near in range(max(0, place - _AROUND), min(len(diff.rows), place + _AROUND + 1))
    }
    last = -1
    for place in sorted(shown):
        if place != last + 1:
            yield paint.dim("  …")
        yield from _row(diff.rows[place], paint, color=color)
        last = place


def _row(row: DiffRow, paint: Paint, *, color: bool) -> Iterator[str]:
    if row.kind == "equal":
        yield f"{row.right_number or 0:5}   {_text(row.right, paint, '', color=color)}"
        return
    if row.left_number is not None:
        yield f"{row.left_number:5} {paint('-', 'red')} {_text(row.left, paint, 'red', color=color)}"
    if row.right_number is not None:
        yield f"{row.right_number:5} {paint('+', 'green')} {_text(row.right, paint, 'green', color=color)}"


def _text(spans: Sequence[DiffSpan], paint: Paint, hue: str, *, color: bool) -> str:
    whole = len(spans) == 1
    return "".join(
        visible(span.text)
        if not span.changed or (whole and not color)
        else paint(visible(span.text), hue)
        if color
        else f"[{visible(span.text)}]"
        for span in spans
    )
