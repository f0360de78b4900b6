"""What one attempt has said, called and spent so far; it survives a timeout in the middle of a call."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from proctor_contracts.base import Json
from proctor_contracts.enums import Role
from proctor_contracts.transcript import SCRIPTED, ToolCallRecord, TranscriptEntry, Usage
from proctor_llm.errors import LlmError
from proctor_llm.replies import clean, clean_text
from proctor_llm.types import Completion, Finish, ReportedCall
from proctor_llm.types import Usage as Tokens

__all__ = ["Recording"]


class Recording:
    """The growing record of one conversation.

    `cost_micro_usd` becomes None, unknown, with the first call whose price is unknown. `tools_captured`
    holds while every reply said what tools were called.
    """

    def __init__(self, *, now: Callable[[], datetime]) -> None:
        self._now = now
        self.entries: list[TranscriptEntry] = []
        self.tokens: Tokens | None = None
        self.cost_micro_usd: int | None = 0
        self.calls = 0
        self.replies = 0
        self.tools_captured = True
        self.outcomes: dict[str, Json] = {}
        self.model: str | None = None
        self.fingerprint: str | None = None
        self.logs: list[str] = []

    @property
    def usage(self) -> Usage:
        """The tokens of every call, as they travel."""
        return Usage() if self.tokens is None else wire_usage(self.tokens)

    def heard_user(self, text: str, *, turn: int) -> None:
        """Record a user message that is about to be sent."""
        self.entries.append(TranscriptEntry(role=Role.TESTER, content=text, timestamp=self._now(), turn=turn))

    def put_into_mouth(self, text: str, *, turn: int) -> None:
        """Record words that the script gives the agent; nobody grades them."""
        self.entries.append(
            TranscriptEntry(
                role=Role.AGENT, content=text, timestamp=self._now(), turn=turn or None, finish=SCRIPTED
            )
        )

    def replied(self, completion: Completion, *, turn: int) -> None:
        """Record a reply: one entry a bubble, the turn's time, tokens and tool calls on the first.

        A reply without a word is an entry too, so that a refusal is seen for what it is.
        """
        self._charge(completion.usage, completion.cost_micro_usd, completion.tries)
        self.replies += 1
        self.model = completion.model or self.model
        self.fingerprint = completion.fingerprint or self.fingerprint
        self.tools_captured = self.tools_captured and completion.tools_reported
        if completion.outcomes:
            self.outcomes.update(clean(completion.outcomes))
        if completion.tries > 1:
            self.logs.append(f"turn {turn}: answered at try {completion.tries}")
        if completion.finish is Finish.INCOMPLETE:
            self.logs.append(
                f"turn {turn}: ended for an unknown reason ({completion.finish_raw!r}), read as incomplete"
            )
        bubbles = completion.bubbles or (completion.text,)
        now = self._now()
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

    def call_failed(self, error: LlmError, *, turn: int) -> None:
        """Charge the tries of a call that gave no reply."""
        # A try that reported no tokens, such as a refused connection, is not known to have cost anything.
        cost = 0 if error.usage is None and error.cost_micro_usd is None else error.cost_micro_usd
        self._charge(error.usage, cost, error.tries)
        if error.tries > 1:
            self.logs.append(f"turn {turn}: no reply after {error.tries} tries")

    def _charge(self, tokens: Tokens | None, cost: int | None, tries: int) -> None:
        self.calls += tries
        if tokens is not None:
            self.tokens = tokens if self.tokens is None else self.tokens + tokens
        known = self.cost_micro_usd is not None and cost is not None
        self.cost_micro_usd = (self.cost_micro_usd or 0) + (cost or 0) if known else None


def wire_usage(tokens: Tokens) -> Usage:
    """Turn an adapter's token counts into those of a transcript."""
    return Usage(
        prompt_tokens=tokens.prompt_tokens,
        cached_prompt_tokens=tokens.cached_prompt_tokens,
        cache_write_tokens=tokens.cache_write_tokens,
        completion_tokens=tokens.completion_tokens,
    )


def _record(call: ReportedCall) -> ToolCallRecord:
    return ToolCallRecord(
        name=clean_text(call.name),
        args=clean(call.args),
        args_raw=clean_text(call.args_raw),
        result=clean(call.result),
        duration_ms=call.duration_ms,
        error=None if call.error is None else clean_text(call.error),
    )
