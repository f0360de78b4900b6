"""The scripted loop: every user message of the case in turn, the agent answering each."""

from __future__ import annotations

from typing import assert_never

from proctor_contracts.agents import AgentSnapshot
from proctor_contracts.base import Json
from proctor_contracts.cases import CaseInput
from proctor_contracts.results import CaseError
from proctor_llm.client import LlmClient
from proctor_llm.errors import LlmError, LlmErrorCode
from proctor_llm.types import ChatMessage, ChatRequest
from proctor_llm.worst_case import tokens_at_most
from proctor_runner.recording import Recording

from .allowance import Allowance, reply_tokens
from .script import Put, Say, steps

__all__ = ["play_scripted"]


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
            prompt_tokens += reply_tokens(completion, reply)
    return None
