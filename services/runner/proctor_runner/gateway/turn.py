"""The entries of one turn with tools: words and calls in the order they came."""

from __future__ import annotations

from proctor_contracts.enums import Role
from proctor_contracts.transcript import ToolCallRecord, TranscriptEntry
from proctor_llm.errors import LlmError
from proctor_llm.replies import clean_text
from proctor_llm.spending import wire_usage
from proctor_llm.types import Completion, Finish, Usage
from proctor_runner.recording import Recording

__all__ = ["CAPPED", "TurnEntries"]

CAPPED = "tool_iteration_cap"
"""The `finish` of a turn that ended because the model would not stop calling tools."""


class TurnEntries:
    """Writes what happens in one turn into a recording, which holds all of it at any moment.

    Every reply of the model is an entry that holds the calls it asked for, in words or not. The first one
    carries time (model and tools) and tokens of the whole turn.
    """

    def __init__(self, recording: Recording, *, turn: int) -> None:
        self._recording = recording
        self._turn = turn
        self._start = len(recording.entries)
        self._latency_ms = 0
        self._ttft_ms: int | None = None
        self._usage: Usage | None = None

    def replied(self, completion: Completion, *, calls: bool) -> None:
        """Record a reply; `calls` says whether calls that it asks for follow."""
        self._recording.charged(completion, turn=self._turn)
        if len(self._recording.entries) == self._start:
            self._ttft_ms = completion.ttft_ms
        self._latency_ms += completion.latency_ms
        if completion.usage is not None:
            self._usage = completion.usage if self._usage is None else self._usage + completion.usage
        for bubble in completion.bubbles or (completion.text,):
            self._say(clean_text(bubble), finish=Finish.TOOL_USE if calls else completion.finish)

    def called(self, record: ToolCallRecord) -> None:
        """Record a tool call of the last reply."""
        self._latency_ms += record.duration_ms or 0
        entries = self._recording.entries
        last = entries[-1]
        entries[-1] = last.model_copy(update={"tool_calls": (*last.tool_calls, record)})

    def silent(self, error: LlmError) -> None:
        """Record that the model ended its turn without a word."""
        self._recording.spending.failed(error)
        self._recording.logs.append(f"turn {self._turn}: {clean_text(error.message)}")
        self._say("", finish=error.code)

    def capped(self, iterations: int) -> None:
        """Record that the model was still calling tools when the turn was ended."""
        self._recording.logs.append(
            f"turn {self._turn}: ended after {iterations} rounds of tool calls without an answer, "
            "and the conversation with it"
        )
        self._say("", finish=CAPPED)

    def close(self) -> None:
        """Put the turn's time and tokens onto its first entry."""
        entries = self._recording.entries
        if len(entries) > self._start:
            entries[self._start] = entries[self._start].model_copy(
                update={
                    "latency_ms": self._latency_ms,
                    "ttft_ms": self._ttft_ms,
                    "usage": None if self._usage is None else wire_usage(self._usage),
                }
            )

    def _say(self, text: str, *, finish: str) -> None:
        self._recording.entries.append(
            TranscriptEntry(
                role=Role.AGENT,
                content=text,
                timestamp=self._recording.now(),
                turn=self._turn,
                finish=finish,
            )
        )
