"""What an attempt may cost at most, so that a budget is reserved before money is spent."""

from __future__ import annotations

from dataclasses import dataclass

from proctor_contracts.cases import CaseSnapshot, ScriptedMulti, ScriptedSingle
from proctor_contracts.run_settings import RunSettings
from proctor_llm.prices import Prices
from proctor_llm.worst_case import call_cost, conversation_cost, tokens_at_most

__all__ = ["JUDGE_OVERHEAD_TOKENS", "JUDGE_REPLY_TOKENS", "JUDGE_TRIES", "Shares", "shares", "unknown_prices"]

JUDGE_OVERHEAD_TOKENS = 4_000
"""The judge's instructions, schema and fences around a transcript; on the safe side."""

JUDGE_REPLY_TOKENS = 2_048
"""The longest answer a judge may give, its one retry with a larger cap included."""

JUDGE_TRIES = 3
"""An answer that cannot be read is asked for again twice."""


@dataclass(frozen=True, slots=True)
class Shares:
    """Micro-USD reserved for one attempt: the conversation and its judging."""

    agent: int
    judge: int

    @property
    def total(self) -> int:
        """Both."""
        return self.agent + self.judge


def turns(case: CaseSnapshot) -> list[list[str]]:
    """Group a script by agent calls: the texts that join the history before each."""
    match case.input:
        case ScriptedSingle(message=message):
            return [[message]]
        case ScriptedMulti(messages=messages):
            groups: list[list[str]] = []
            pending: list[str] = []
            for line in messages:
                pending.append(line.content)
                if line.role == "user":
                    groups.append(pending)
                    pending = []
            return groups


def shares(case: CaseSnapshot, settings: RunSettings, prices: Prices) -> Shares | None:
    """Bound what one attempt costs; None when a price is unknown."""
    agent = settings.agent
    script = turns(case)
    conversation = conversation_cost(
        prices,
        agent.provider,
        agent.model or "",
        system=agent.prompt,
        turns=script,
        max_tokens=agent.max_tokens,
    )
    if conversation is None:
        return None
    criteria = [assertion for assertion in case.assertions if assertion.kind == "judge"]
    if not criteria or settings.judge is None:
        return Shares(conversation, 0)
    transcript = sum(tokens_at_most(text) for group in script for text in group) + agent.max_tokens * len(
        script
    )
    context = tokens_at_most(case.rubric or "")
    judging = 0
    for criterion in criteria:
        # The rubric stands twice in the prompt: before and after the transcript.
        prompt = transcript + context + 2 * tokens_at_most(criterion.rubric) + JUDGE_OVERHEAD_TOKENS
        cost = call_cost(
            prices,
            settings.judge.provider,
            settings.judge.model,
            prompt_tokens=prompt,
            max_tokens=JUDGE_REPLY_TOKENS,
        )
        if cost is None:
            return None
        judging += (
            cost * max(criterion.votes or 0, settings.judge.votes, 3 if case.critical else 1) * JUDGE_TRIES
        )
    return Shares(conversation, judging)


def unknown_prices(settings: RunSettings, prices: Prices, *, judged: bool) -> list[str]:
    """Name the provider and model pairs whose price is unknown, so that a budget cannot be enforced."""
    pairs = [(settings.agent.provider, settings.agent.model or "")]
    if judged and settings.judge is not None:
        pairs.append((settings.judge.provider, settings.judge.model))
    return [f"{provider}:{model}" for provider, model in pairs if prices.find(provider, model) is None]
