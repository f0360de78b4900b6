"""The scripted loop: every user message of the case in turn, the agent answering each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import assert_never

from proctor_contracts.agents import AgentSnapshot
from proctor_contracts.base import Json
from proctor_contracts.cases import CaseInput, ScriptedMulti, ScriptedSingle
from proctor_contracts.enums import Blame
from proctor_contracts.results import CaseError
from proctor_llm.client import LlmClient
from proctor_llm.errors import LlmError, LlmErrorCode
from proctor_llm.types import ChatMessage, ChatRequest, Completion
from proctor_llm.worst_case import MESSAGE_OVERHEAD, tokens_at_most
from proctor_runner.recording import Recording

__all__ = ["Allowance", "Put", "Say", "play_scripted", "steps"]

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


@dataclass(frozen=True, slots=True)
class Say:
    """Send this as the user, and wait for the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Put:
    """Put this into the history as the agent's words."""

    text: str


def steps(given: CaseInput) -> Iterator[Say | Put]:
    """List what a script does, in order."""
    match given:
        case ScriptedSingle(message=text):
            yield Say(text)
        case ScriptedMulti(messages=messages):
            for message in messages:
                yield Say(message.content) if message.role == "user" else Put(message.content)
        case _:
            assert_never(given)


async def play_scripted(
    given: CaseInput,
    *,
    agent: AgentSnapshot,
    client: LlmClient,
    conversation_id: str,
    deadline: float,
    recording: Recording,
    allowance: Allowance | None,
) -> CaseError | None:
    """Play the script into the recording; an error says why it stopped short.

    Raises:
        LlmError: when a call gave no reply; its tries are already charged.
    """
    history: list[ChatMessage] = []
    session: Json = None
    turn = 0
    prompt_tokens = tokens_at_most(agent.prompt) if allowance is not None else 0
    for step in steps(given):
        match step:
            case Put(text=text):
                history.append(ChatMessage("assistant", text))
                recording.put_into_mouth(text, turn=turn)
            case Say(text=text):
                turn += 1
                history.append(ChatMessage("user", text))
            case _:
                assert_never(step)
        if allowance is not None:
            prompt_tokens += tokens_at_most(text)
        if isinstance(step, Put):
            continue
        if allowance is not None and (refusal := allowance.refusal(recording, prompt_tokens)) is not None:
            return refusal
        recording.heard_user(text, turn=turn)
        request = ChatRequest(
            model=agent.model or "",
            system=agent.prompt,
            messages=tuple(history),
            conversation_id=conversation_id,
            max_tokens=agent.max_tokens,
            temperature=agent.temperature,
            session_id=session,
        )
        try:
            completion = await client.complete(request, deadline=deadline)
        except LlmError as error:
            if error.code is not LlmErrorCode.EMPTY_REPLY:
                recording.call_failed(error, turn=turn)
                raise
            # Saying nothing is something the agent did: it is graded, and the user goes on.
            recording.silent(error, turn=turn)
            continue
        recording.replied(completion, turn=turn)
        session = completion.session_id if session is None else session
        reply = completion.text or "\n".join(completion.bubbles)
        if reply:
            # Providers refuse an empty assistant message; after a wordless refusal the user speaks again.
            history.append(ChatMessage("assistant", reply))
            prompt_tokens += _reply_tokens(completion, reply)
    return None


def _reply_tokens(completion: Completion, reply: str) -> int:
    """Bound what a reply adds to the next prompt; the tokens the provider counted are the closer bound."""
    by_length = tokens_at_most(reply)
    if completion.usage is None:
        return by_length
    return min(by_length, completion.usage.completion_tokens + MESSAGE_OVERHEAD)
