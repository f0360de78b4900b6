"""What an attempt may cost at most, so that a budget is reserved before money is spent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import orjson

from proctor_contracts.agents import AgentSnapshot, HandlerSnapshot
from proctor_contracts.cases import CaseSnapshot, ScriptedMulti, ScriptedSingle
from proctor_contracts.enums import Runner
from proctor_contracts.run_settings import RunSettings
from proctor_llm.prices import Prices
from proctor_llm.worst_case import MESSAGE_OVERHEAD, call_cost, conversation_cost, tokens_at_most

__all__ = [
    "CALLS_A_TURN",
    "JUDGE_OVERHEAD_TOKENS",
    "JUDGE_REPLY_TOKENS",
    "JUDGE_TRIES",
    "TOOL_RESULT_TOKENS",
    "Shares",
    "shares",
    "unknown_prices",
]

CALLS_A_TURN = 6
"""Model calls that the gateway runner makes for one user message at most."""

TOOL_RESULT_TOKENS = 4_000
"""What the tool results between two model calls are taken to add; a case with longer ones may run short."""

TOOL_OVERHEAD_TOKENS = 128
"""What a provider adds around the description of one tool; on the safe side."""

DERIVED_SCHEMA_FACTOR = 12
"""How much longer than an example body the schema derived from it is at most."""

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
    gateway = settings.runner is Runner.GATEWAY
    conversation = (
        _tool_conversation_cost(prices, agent, script)
        if gateway
        else conversation_cost(
            prices,
            agent.provider,
            agent.model or "",
            system=agent.prompt,
            turns=script,
            max_tokens=agent.max_tokens,
        )
    )
    if conversation is None:
        return None
    criteria = [assertion for assertion in case.assertions if assertion.kind == "judge"]
    if not criteria or settings.judge is None:
        return Shares(conversation, 0)
    said = agent.max_tokens if not gateway else (agent.max_tokens + TOOL_RESULT_TOKENS) * CALLS_A_TURN
    transcript = sum(tokens_at_most(text) for group in script for text in group) + said * len(script)
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


def _tool_conversation_cost(
    prices: Prices, agent: AgentSnapshot, script: Sequence[Sequence[str]]
) -> int | None:
    """Bound a conversation in which every user message takes as many model calls as it may."""
    prompt = tokens_at_most(agent.prompt) + _tool_tokens(agent.handlers)
    total = 0
    for added in script:
        prompt += sum(map(tokens_at_most, added))
        for _ in range(CALLS_A_TURN):
            cost = call_cost(
                prices, agent.provider, agent.model or "", prompt_tokens=prompt, max_tokens=agent.max_tokens
            )
            if cost is None:
                return None
            total += cost
            prompt += agent.max_tokens + TOOL_RESULT_TOKENS + 2 * MESSAGE_OVERHEAD
    return total


def _tool_tokens(handlers: Iterable[HandlerSnapshot]) -> int:
    return sum(
        tokens_at_most(handler.name)
        + tokens_at_most(handler.description or "")
        + TOOL_OVERHEAD_TOKENS
        + (
            len(orjson.dumps(handler.body)) * DERIVED_SCHEMA_FACTOR
            if handler.parameters_schema is None
            else len(orjson.dumps(handler.parameters_schema))
        )
        for handler in handlers
    )


def unknown_prices(settings: RunSettings, prices: Prices, *, judged: bool) -> list[str]:
    """Name the provider and model pairs whose price is unknown, so that a budget cannot be enforced."""
    pairs = [(settings.agent.provider, settings.agent.model or "")]
    if judged and settings.judge is not None:
        pairs.append((settings.judge.provider, settings.judge.model))
    return [f"{provider}:{model}" for provider, model in pairs if prices.find(provider, model) is None]
