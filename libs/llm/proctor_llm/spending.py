"""What a series of calls has used so far, failed tries included."""

from __future__ import annotations

from proctor_contracts.transcript import Usage as WireUsage

from .errors import LlmError
from .types import Completion, Usage

__all__ = ["Spending", "wire_usage"]


class Spending:
    """Adds up tokens, money and tries; `cost_micro_usd` is None, unknown, once one price is unknown."""

    def __init__(self) -> None:
        self.tokens: Usage | None = None
        self.cost_micro_usd: int | None = 0
        self.calls = 0

    @property
    def usage(self) -> WireUsage:
        """The tokens as messages carry them."""
        return WireUsage() if self.tokens is None else wire_usage(self.tokens)

    def replied(self, completion: Completion) -> None:
        """Charge a call that was answered."""
        self._add(completion.usage, completion.cost_micro_usd, completion.tries)

    def failed(self, error: LlmError) -> None:
        """Charge the tries of a call without an answer; one that reported no tokens is taken to be free."""
        free = error.usage is None and error.cost_micro_usd is None
        self._add(error.usage, 0 if free else error.cost_micro_usd, error.tries)

    def lost(self) -> None:
        """Record a call that was cut off: what it used is unknown, and unknown is not nothing."""
        self.calls += 1
        self.cost_micro_usd = None

    def _add(self, tokens: Usage | None, cost: int | None, tries: int) -> None:
        self.calls += tries
        if tokens is not None:
            self.tokens = tokens if self.tokens is None else self.tokens + tokens
        if self.cost_micro_usd is not None:
            self.cost_micro_usd = None if cost is None else self.cost_micro_usd + cost


def wire_usage(tokens: Usage) -> WireUsage:
    """Turn an adapter's token counts into those of a message."""
    return WireUsage(
        prompt_tokens=tokens.prompt_tokens,
        cached_prompt_tokens=tokens.cached_prompt_tokens,
        cache_write_tokens=tokens.cache_write_tokens,
        completion_tokens=tokens.completion_tokens,
    )
