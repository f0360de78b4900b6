"""An agent that says what a test tells it to, and jobs to play against it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from proctor_chassis.clock import SystemClock
from proctor_chassis.secrets import Redactor
from proctor_contracts.agents import AgentSnapshot, HandlerSnapshot
from proctor_contracts.cases import CaseSnapshot
from proctor_contracts.endpoint import HttpEndpoint
from proctor_contracts.enums import Blame, Provider, Runner
from proctor_contracts.messages import CaseRequested
from proctor_grading.regex import QuickJsRegex
from proctor_llm.errors import LlmError, LlmErrorCode
from proctor_llm.prices import Prices
from proctor_llm.types import ChatRequest, Completion, Finish, ToolUse, Usage
from proctor_runner.attempts import Attempts
from proctor_runner.gateway.outcome import Failure, Outcome
from proctor_runner.gateway.webhook import HandlerCaller
from proctor_runner.grader import Grader

RUN = UUID(int=1)
CASE = UUID(int=2)
RESULT = UUID(int=3)
ACCOUNT = UUID(int=4)
GROQ_MODEL = "llama-3.3-70b-versatile"

GRADING = ThreadPoolExecutor(1)

Answer = Completion | Exception | str | Callable[[ChatRequest], Completion]


def reply(*bubbles: str, **more: Any) -> Completion:
    fields: dict[str, Any] = {
        "text": "\n".join(bubbles),
        "bubbles": bubbles,
        "finish": Finish.STOP,
        "model": "bot-1",
        "latency_ms": 40,
        "usage": Usage(prompt_tokens=100, completion_tokens=20),
        "cost_micro_usd": 500,
    }
    return Completion(**(fields | more))


def failure(code: LlmErrorCode, message: str = "it broke", **more: Any) -> LlmError:
    error = LlmError(code, message, blame=more.pop("blame", Blame.PROVIDER))
    for name, value in more.items():
        setattr(error, name, value)
    return error


@dataclass
class FakeAgent:
    """Answers in order; the last answer repeats. `hang` makes every call wait until it is cancelled."""

    answers: Sequence[Answer] = ("Вітаю! Чим допомогти?",)
    hang: bool = False
    requests: list[ChatRequest] = field(default_factory=list)
    deadlines: list[float] = field(default_factory=list)
    called: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)

    async def complete(self, request: ChatRequest, *, deadline: float) -> Completion:
        self.requests.append(request)
        self.deadlines.append(deadline)
        self.called.set()
        if self.hang:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
        answer = self.answers[min(len(self.requests), len(self.answers)) - 1]
        match answer:
            case str():
                return reply(answer)
            case Completion():
                return answer
            case Exception():
                raise answer
            case _:
                return answer(request)

    async def prepare(self) -> None:
        return None

    async def aclose(self) -> None:
        """Nothing to release."""


@dataclass
class FakeModels:
    agent: FakeAgent
    prices: Prices = field(default_factory=Prices.load)
    missing: LlmError | None = None
    asked: list[tuple[Provider, HttpEndpoint | None]] = field(default_factory=list)

    def client(self, provider: Provider, endpoint: HttpEndpoint | None = None) -> FakeAgent:
        self.asked.append((provider, endpoint))
        if self.missing is not None:
            raise self.missing
        return self.agent


@dataclass
class FakeHandlers:
    """Answers tool calls by handler name; a callable is given the arguments, with `hang` none is answered."""

    answers: dict[str, Any] = field(default_factory=dict)
    hang: bool = False
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    called: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)

    async def call(
        self, handler: HandlerSnapshot, args: Mapping[str, Any], *, integration: str, deadline: float
    ) -> Outcome:
        assert integration == "support-bot"
        assert deadline > 0
        self.calls.append((handler.name, dict(args)))
        self.called.set()
        if self.hang:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
        answer = self.answers.get(handler.name, {"ok": True})
        answer = answer(args) if callable(answer) else answer
        match answer:
            case Failure():
                return Outcome(failure=answer, called=True)
            case Outcome():
                return answer
            case _:
                return Outcome(result=answer, called=True)


def attempts(
    agent: FakeAgent,
    *,
    models: FakeModels | None = None,
    handlers: HandlerCaller | None = None,
    redactor: Redactor | None = None,
    guard_seconds: float = 1.0,
) -> Attempts:
    return Attempts(
        models=models or FakeModels(agent),
        handlers=handlers or FakeHandlers(),
        grader=Grader(thread=GRADING),
        regex=QuickJsRegex(),
        languages=None,
        redactor=redactor or Redactor(),
        clock=SystemClock(),
        worker_id="runner-1",
        guard_seconds=guard_seconds,
        conversation_id=lambda: "conversation-1",
    )


def agent_snapshot(**more: Any) -> AgentSnapshot:
    fields: dict[str, Any] = {
        "integration_id": UUID(int=5),
        "integration_name": "support-bot",
        "provider": Provider.GROQ,
        "model": GROQ_MODEL,
        "prompt": "Ти помічник магазину.",
    }
    return AgentSnapshot(**(fields | more))


def handler(name: str, **more: Any) -> HandlerSnapshot:
    return HandlerSnapshot(id=UUID(int=6), name=name, **more)


def asks(*uses: ToolUse, text: str = "", **more: Any) -> Completion:
    """A reply that wants tools called."""
    bubbles = (text,) if text else ()
    return reply(*bubbles, finish=Finish.TOOL_USE, tool_uses=uses, **more)


def use(name: str, args: dict[str, Any] | None = None, *, id: str | None = None) -> ToolUse:  # noqa: A002 - its name on the wire
    raw = json.dumps(args or {}, ensure_ascii=False)
    return ToolUse(f"use-{name}" if id is None else id, name, args or {}, raw)


def gateway_job(*says: str, handlers: Sequence[HandlerSnapshot] = (), **more: Any) -> CaseRequested:
    agent = agent_snapshot(handlers=tuple(handlers), **more.pop("agent_fields", {}))
    return job(*says, agent=agent, runner=Runner.GATEWAY, **more)


def job(
    *says: str | tuple[str, str],
    assertions: Sequence[dict[str, Any]] = ({"kind": "contains", "value": "Вітаю"},),
    agent: AgentSnapshot | None = None,
    case: dict[str, Any] | None = None,
    **more: Any,
) -> CaseRequested:
    messages = [
        {"role": "user", "content": say} if isinstance(say, str) else {"role": say[0], "content": say[1]}
        for say in says or ("Добрий день",)
    ]
    fields: dict[str, Any] = {
        "id": CASE,
        "name": "Вітання",
        "category": "Загальне",
        "input": {"kind": "scripted_multi", "messages": messages},
        "assertions": list(assertions),
    }
    return CaseRequested(
        run_id=more.pop("run_id", RUN),
        account_id=ACCOUNT,
        result_id=RESULT,
        case=CaseSnapshot.model_validate(fields | (case or {})),
        agent=agent or agent_snapshot(),
        **more,
    )
