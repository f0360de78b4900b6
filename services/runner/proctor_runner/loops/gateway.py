"""The gateway loop: the model with the integration's handlers as tools, turn by turn."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from proctor_contracts.agents import AgentSnapshot
from proctor_contracts.cases import CaseInput
from proctor_contracts.enums import Blame
from proctor_contracts.results import CaseError
from proctor_llm.client import LlmClient
from proctor_llm.errors import LlmError, LlmErrorCode
from proctor_llm.replies import clean_text
from proctor_llm.types import ChatMessage, ChatRequest, Finish, ToolResult, ToolUse
from proctor_llm.worst_case import MESSAGE_OVERHEAD, tokens_at_most
from proctor_runner.gateway.calls import ToolCalls
from proctor_runner.gateway.tools import Toolbox
from proctor_runner.gateway.turn import TurnEntries
from proctor_runner.recording import Recording

from .allowance import Allowance, reply_tokens
from .script import Put, Say, steps

__all__ = ["MAX_ITERATIONS", "GatewayConversation"]

MAX_ITERATIONS = 6
"""How often a model may call tools within one user turn."""

_COMPLETE = frozenset({Finish.TOOL_USE, Finish.STOP, Finish.LENGTH})
"""Endings after which the calls of a reply are whole; adapters refuse a call that the limit cut."""


@dataclass(frozen=True, slots=True)
class _Stop:
    """The conversation ends before its script: with an error, or since the model found no end."""

    error: CaseError | None


class GatewayConversation:
    """One conversation; what it says and does grows in `recording`."""

    def __init__(
        self,
        *,
        agent: AgentSnapshot,
        client: LlmClient,
        tools: Toolbox,
        calls: ToolCalls,
        conversation_id: str,
        deadline: float,
        recording: Recording,
        allowance: Allowance | None,
        needs_handlers: bool = False,
    ) -> None:
        """Wire it; with `needs_handlers` one that cannot be reached ends the case in an error."""
        self._agent = agent
        self._client = client
        self._tools = tools
        self._calls = calls
        self._conversation_id = conversation_id
        self._deadline = deadline
        self._recording = recording
        self._allowance = allowance
        self._needs_handlers = needs_handlers
        self._history: list[ChatMessage] = []
        self._ids: set[str] = set()
        self._prompt_tokens = tokens_at_most(agent.prompt) + tools.tokens if allowance is not None else 0

    async def play(self, given: CaseInput) -> CaseError | None:
        """Play the script; an error says why it stopped short.

        Raises:
            LlmError: when a call gave no reply; its tries are already charged.
        """
        recording = self._recording
        turn = 0
        for step in steps(given):
            if self._allowance is not None:
                self._prompt_tokens += tokens_at_most(step.text)
            match step:
                case Put(text=text):
                    self._history.append(ChatMessage("assistant", text))
                    recording.put_into_mouth(text, turn=turn)
                case Say(text=text):
                    turn += 1
                    self._history.append(ChatMessage("user", text))
                    stop = await self._turn(text, turn=turn)
                    if stop is not None:
                        return stop.error
                case _:
                    assert_never(step)
        return None

    async def _turn(self, text: str, *, turn: int) -> _Stop | None:
        refusal = self._refusal()
        if refusal is not None:
            return _Stop(refusal)
        self._recording.heard_user(text, turn=turn)
        entries = TurnEntries(self._recording, turn=turn)
        try:
            for iteration in range(1, MAX_ITERATIONS + 1):
                if iteration > 1 and (refusal := self._refusal()) is not None:
                    return _Stop(refusal)
                uses = await self._ask(entries, turn=turn)
                if not uses:
                    return None
                error = await self._answer(uses, entries, turn=turn)
                if error is not None:
                    return _Stop(error)
            entries.capped(MAX_ITERATIONS)
            return _Stop(None)
        finally:
            entries.close()

    async def _ask(self, entries: TurnEntries, *, turn: int) -> Sequence[ToolUse]:
        """Ask the model once; gives the calls it wants made, none when its turn is over."""
        agent = self._agent
        request = ChatRequest(
            model=agent.model or "",
            system=agent.prompt,
            messages=tuple(self._history),
            conversation_id=self._conversation_id,
            tools=self._tools.specs,
            max_tokens=agent.max_tokens,
            temperature=agent.temperature,
        )
        try:
            completion = await self._client.complete(request, deadline=self._deadline)
        except LlmError as error:
            if error.code is not LlmErrorCode.EMPTY_REPLY:
                self._recording.call_failed(error, turn=turn)
                raise
            # Saying nothing is something the agent did: it is graded, and the user goes on.
            entries.silent(error)
            return ()
        uses: Sequence[ToolUse] = ()
        if completion.finish in _COMPLETE:
            uses = self._named(completion.tool_uses)
        elif completion.tool_uses:
            self._recording.logs.append(f"turn {turn}: tool calls before {completion.finish} were not made")
        entries.replied(completion, calls=bool(uses))
        reply = completion.text or "\n".join(completion.bubbles)
        if reply or uses:
            # Providers refuse an empty assistant message; after a wordless refusal the user speaks again.
            self._history.append(ChatMessage("assistant", reply, tool_uses=tuple(uses)))
            if self._allowance is not None:
                self._prompt_tokens += reply_tokens(completion, reply)
        return uses

    async def _answer(self, uses: Sequence[ToolUse], entries: TurnEntries, *, turn: int) -> CaseError | None:
        """Make the calls in order, and answer all of them in one message."""
        results: list[ToolResult] = []
        for use in uses:
            record, result = await self._calls.call(use, turn=turn, deadline=self._deadline)
            entries.called(record)
            results.append(result)
            if self._needs_handlers and self._calls.unreachable is not None:
                return CaseError(
                    code="tool_unreachable",
                    message=f"{clean_text(self._calls.unreachable)} (the run asks for onToolError: error)",
                    blame=Blame.TOOL,
                )
            if asyncio.get_running_loop().time() >= self._deadline:
                return CaseError(
                    code="case_timeout",
                    message=f"the case's time ran out while it called {use.name}",
                    blame=Blame.TOOL,
                )
        self._history.append(ChatMessage("tool", "", tool_results=tuple(results)))
        if self._allowance is not None:
            self._prompt_tokens += sum(tokens_at_most(one.content) + MESSAGE_OVERHEAD for one in results)
        return None

    def _refusal(self) -> CaseError | None:
        if self._allowance is None:
            return None
        return self._allowance.refusal(self._recording, self._prompt_tokens)

    def _named(self, uses: Sequence[ToolUse]) -> Sequence[ToolUse]:
        """Give every call an id that is its own: some gateways send none, or the same one again."""
        named: list[ToolUse] = []
        for use in uses:
            unique, number = use.id, len(self._ids)
            while not unique or unique in self._ids:
                number += 1
                unique = f"call_{number}"
            self._ids.add(unique)
            named.append(use if unique == use.id else dataclasses.replace(use, id=unique))
        return named
