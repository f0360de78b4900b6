"""What one attempt has said, called and spent so far; it survives a timeout in the middle of a call."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from proctor_contracts.base import Json
from proctor_contracts.effects import Effect
from proctor_contracts.enums import Role
from proctor_contracts.results import AssertionResult
from proctor_contracts.transcript import SCRIPTED, ToolCallRecord, TranscriptEntry
from proctor_llm.errors import LlmError
from proctor_llm.replies import clean, clean_text
from proctor_llm.spending import Spending, wire_usage
from proctor_llm.types import Completion, Finish, ReportedCall

__all__ = ["Recording"]


class Recording:
    """The growing record of one conversation.

    `tools_captured` holds while every reply said what tools were called. `effects` is the ledger of writes,
    None while the loop keeps none.
    """

    def __init__(self, *, now: Callable[[], datetime]) -> None:
        self.now = now
        self.entries: list[TranscriptEntry] = []
        self.spending = Spending()
        self.replies = 0
        self.tools_captured = True
        self.effects: list[Effect] | None = None
        self.tools_gap: str | None = None
        self.outcomes: dict[str, Json] = {}
        self.model: str | None = None
        self.fingerprint: str | None = None
        self.logs: list[str] = []

    def explained(self, results: tuple[AssertionResult, ...]) -> tuple[AssertionResult, ...]:
        """Add to checks of tools that were not reported what the reply held instead."""
        if self.tools_gap is None:
            return results
        return tuple(
            one.model_copy(update={"message": f"{one.message} ({self.tools_gap})"})
            if one.code == "tools_not_reported"
            else one
            for one in results
        )

    def heard_user(self, text: str, *, turn: int) -> None:
        """Record a user message that is about to be sent."""
        self.entries.append(TranscriptEntry(role=Role.TESTER, content=text, timestamp=self.now(), turn=turn))

    def put_into_mouth(self, text: str, *, turn: int) -> None:
        """Record words that the script gives the agent; nobody grades them."""
        self.entries.append(
            TranscriptEntry(
                role=Role.AGENT, content=text, timestamp=self.now(), turn=turn or None, finish=SCRIPTED
            )
        )

    def charged(self, completion: Completion, *, turn: int) -> None:
        """Charge a reply and note what is odd about it; its words are recorded apart."""
        self.spending.replied(completion)
        self.replies += 1
        self.model = completion.model or self.model
        self.fingerprint = completion.fingerprint or self.fingerprint
        if self.tools_gap is None and completion.tools_gap is not None:
            self.tools_gap = f"turn {turn}, {clean_text(completion.tools_gap)}"
        if completion.outcomes:
            self.outcomes.update(clean(completion.outcomes))
        if completion.tries > 1:
            self.logs.append(f"turn {turn}: answered at try {completion.tries}")
        if completion.finish is Finish.INCOMPLETE:
            self.logs.append(
                f"turn {turn}: ended for an unknown reason ({completion.finish_raw!r}), read as incomplete"
            )

    def replied(self, completion: Completion, *, turn: int) -> None:
        """Record a reply: one entry a bubble, the turn's time, tokens and tool calls on the first.

        A reply without a word is an entry too, so that a refusal is seen for what it is.
        """
        self.charged(completion, turn=turn)
        self.tools_captured = self.tools_captured and completion.tools_reported
        bubbles = completion.bubbles or (completion.text,)
        now = self.now()
        self.entries.append(
            TranscriptEntry(
                role=Role.AGENT,
                content=clean_text(bubbles[0]),
                timestamp=now,
                turn=turn,
                latency_ms=completion.latency_ms,
                ttft_ms=completion.ttft_ms,
                usage=None if completion.usage is None else wire_usage(completion.usage),
                finish=completion.finish,
                tool_calls=tuple(map(_record, completion.reported_calls)),
            )
        )
        self.entries.extend(
            TranscriptEntry(
                role=Role.AGENT,
                content=clean_text(bubble),
                timestamp=now,
                turn=turn,
                finish=completion.finish,
            )
            for bubble in bubbles[1:]
        )

    def silent(self, error: LlmError, *, turn: int) -> None:
        """Record a reply that held nothing at all; which tools it called, nobody knows."""
        self.spending.failed(error)
        self.tools_captured = False
        self.logs.append(f"turn {turn}: {clean_text(error.message)}")
        self.entries.append(
            TranscriptEntry(role=Role.AGENT, content="", timestamp=self.now(), turn=turn, finish=error.code)
        )

    def call_failed(self, error: LlmError, *, turn: int) -> None:
        """Charge the tries of a call that gave no reply."""
        self.spending.failed(error)
        if error.tries > 1:
            self.logs.append(f"turn {turn}: no reply after {error.tries} tries")


def _record(call: ReportedCall) -> ToolCallRecord:
    return ToolCallRecord(
        name=clean_text(call.name),
        args=clean(call.args),
        args_raw=clean_text(call.args_raw),
        result=clean(call.result),
        duration_ms=call.duration_ms,
        error=None if call.error is None else clean_text(call.error),
    )
