"""What the bot's tools did, in words: calls, the ledger of writes, and how each weather went."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from typing_extensions import override

from proctor_contracts.effects import Effect
from proctor_contracts.enums import ResultStatus, Runner
from proctor_contracts.results import Verdict
from proctor_contracts.schemas.runs import ResultView, RunDocument
from proctor_contracts.transcript import ToolCallRecord, TranscriptEntry

__all__ = [
    "WeatherCount",
    "called",
    "conversation",
    "ledger",
    "runner_text",
    "shows_ledger",
    "weather_counts",
]

_LONGEST_VALUE = 200
LEDGER_KINDS = frozenset({"state"})
"""Checks that read the ledger, so that a broken one is explained by showing it."""


@dataclass(frozen=True, slots=True)
class WeatherCount:
    """How the results under one weather ended."""

    weather: str
    total: int
    failed: int
    error: int

    @override
    def __str__(self) -> str:
        parts = [f"{self.failed} failed"] + ([f"{self.error} error"] if self.error else [])
        return f"{self.weather}: {', '.join(parts)} of {self.total}"


def weather_counts(document: RunDocument) -> tuple[WeatherCount, ...]:
    """Count failures and errors by weather; a document need not hold the results that passed."""
    planned = Counter(document.run.weather)
    summary = document.run.summary
    if not planned or summary is None:
        return ()
    ended = Counter((result.weather, result.status) for result in document.results)
    each = summary.total // planned.total()
    return tuple(
        WeatherCount(
            weather=weather,
            total=each * times,
            failed=ended[weather, ResultStatus.FAILED],
            error=ended[weather, ResultStatus.ERROR],
        )
        for weather, times in planned.items()
    )


def runner_text(document: RunDocument) -> str | None:
    """Say how the tools of a run were called; None for a run that called none."""
    run = document.run
    if run.runner is not Runner.GATEWAY:
        return None
    return (
        "gateway, dry run: side effects are noted, not made"
        if run.dry_run
        else "gateway, tools called for real"
    )


def called(call: ToolCallRecord) -> str:
    """Write a tool call and what came of it on one line."""
    args = call.args_raw if call.args is None else _short(call.args)
    text = f"calls {call.name}({args or ''})"
    if call.error is not None:
        text += f" → error: {call.error}"
    elif call.result is not None:
        text += f" → {_short(call.result)}"
    return f"{text} (dry run)" if call.dry_run else text


def conversation(transcript: Sequence[TranscriptEntry]) -> str:
    """Write a conversation with its tool calls, a line each."""
    lines = []
    for entry in transcript:
        lines.append(f"{entry.role.value}: {entry.content}")
        lines += [f"  {called(call)}" for call in entry.tool_calls]
    return "\n".join(lines)


def shows_ledger(result: ResultView) -> bool:
    """Whether the result has to be explained by what the bot wrote."""
    return any(
        check.kind in LEDGER_KINDS and check.verdict in {Verdict.FAILED, Verdict.UNRESOLVED}
        for check in result.assertion_results
    )


def ledger(effects: Sequence[Effect]) -> tuple[str, ...]:
    """Write the ledger, a line for each write; raw texts, still to be made safe for their medium."""
    if not effects:
        return ("nothing was written",)
    return tuple(_written(effect) for effect in effects)


def _written(effect: Effect) -> str:
    name = f"{effect.action.value} {effect.entity}" + (f" {effect.key}" if effect.key else "")
    marks = [f"{effect.tool}, turn {effect.turn}"]
    if effect.dry_run:
        marks.append("dry run")
    if effect.failed:
        marks.append("failed")
    return f"{name} {_short(effect.data)} ({', '.join(marks)})"


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"
