"""What an attempt may spend, and how much the next call may add to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from proctor_contracts.enums import Blame
from proctor_contracts.results import CaseError
from proctor_llm.types import Completion
from proctor_llm.worst_case import MESSAGE_OVERHEAD, tokens_at_most
from proctor_runner.recording import Recording

__all__ = ["Allowance", "reply_tokens"]

CostOfCall = Callable[[int], int | None]
"""Bounds the cost in micro-USD of a call with so many prompt tokens; None when the price is unknown."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What this attempt may spend in micro-USD, and what a call may cost at most."""

    micro_usd: int
    cost_of_call: CostOfCall

    def refusal(self, recording: Recording, prompt_tokens: int) -> CaseError | None:
        """Say why the next call may not be made; an unknown price cannot be enforced, and is not."""
        worst = self.cost_of_call(prompt_tokens)
        spent = recording.spending.cost_micro_usd
        if worst is None or spent is None or spent + worst <= self.micro_usd:
            return None
        return CaseError(
            code="budget_exhausted",
            message=(
                f"the next call may cost up to {worst} micro-USD, and of the {self.micro_usd} reserved for "
                f"this attempt {spent} are spent; raise budgetCents, or lower maxTokens"
            ),
            blame=Blame.INFRASTRUCTURE,
        )


def reply_tokens(completion: Completion, reply: str) -> int:
    """Bound what a reply adds to the next prompt; the tokens the provider counted are the closer bound."""
    uses = completion.tool_uses
    by_length = tokens_at_most(reply) + sum(
        tokens_at_most(use.args_raw) + tokens_at_most(use.name) for use in uses
    )
    if completion.usage is None:
        return by_length
    marks = MESSAGE_OVERHEAD * (1 + 2 * len(uses))
    return min(by_length, completion.usage.completion_tokens + marks)
