"""Judge models that a test scripts, and jobs to put before them."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from proctor_chassis.clock import SystemClock
from proctor_chassis.secrets import Redactor
from proctor_contracts.agents import JudgeSettings
from proctor_contracts.assertions import Judge
from proctor_contracts.endpoint import HttpEndpoint
from proctor_contracts.enums import Provider, Role
from proctor_contracts.messages import JudgeCriterion, JudgeRequested
from proctor_contracts.transcript import TranscriptEntry
from proctor_judge.judging import Judging
from proctor_llm.errors import LlmError
from proctor_llm.prices import Prices
from proctor_llm.types import ChatRequest, Completion, Finish, ToolUse, Usage

MODEL = "claude-sonnet-4-5"
TALK = (
    TranscriptEntry(role=Role.TESTER, content="Де моє замовлення?", turn=1),
    TranscriptEntry(role=Role.AGENT, content="Вибачте за затримку. Передаю менеджеру.", turn=1),
)
NONCE = re.compile(r'<transcript id="([A-Z2-7]{8})">')

Answer = Completion | LlmError | Callable[[ChatRequest], Completion]


def nonce_of(request: ChatRequest) -> str:
    found = NONCE.search(request.messages[0].content)
    assert found is not None
    return found.group(1)


def said(text: str, **more: Any) -> Completion:
    fields: dict[str, Any] = {
        "text": text,
        "bubbles": (text,) if text else (),
        "finish": Finish.STOP,
        "model": "judge-1",
        "latency_ms": 5,
        "usage": Usage(prompt_tokens=200, completion_tokens=30),
        "cost_micro_usd": 1000,
    }
    return Completion(**(fields | more))


def called(*calls: dict[str, Any], name: str = "grade", **more: Any) -> Completion:
    uses = tuple(ToolUse(f"t{at}", name, args, json.dumps(args)) for at, args in enumerate(calls))
    return said("", **({"tool_uses": uses, "finish": Finish.TOOL_USE} | more))


def graded(verdict: str, **more: Any) -> Callable[[ChatRequest], Completion]:
    """A judge that answers properly: the forced tool, with the nonce it was given."""

    def answer(request: ChatRequest) -> Completion:
        args: dict[str, Any] = {
            "evidence": [{"turn": 1, "quote": "Передаю менеджеру"}],
            "reasoning": "Бо так сказано.",
            "basis": "said",
            "injection_attempt": False,
            "verdict": verdict,
            "nonce": nonce_of(request),
        }
        return called(args | more)

    return answer


@dataclass
class FakeJudge:
    """Answers in order; the last answer repeats."""

    answers: Sequence[Answer]
    hang: bool = False
    requests: list[ChatRequest] = field(default_factory=list)
    deadlines: list[float] = field(default_factory=list)
    called: asyncio.Event = field(default_factory=asyncio.Event)

    async def complete(self, request: ChatRequest, *, deadline: float) -> Completion:
        self.requests.append(request)
        self.deadlines.append(deadline)
        self.called.set()
        answer = self.answers[min(len(self.requests), len(self.answers)) - 1]
        if self.hang:
            await asyncio.Event().wait()
        await asyncio.sleep(0)
        match answer:
            case Completion():
                return answer
            case LlmError():
                raise answer
            case _:
                return answer(request)

    async def prepare(self) -> None:
        return None

    async def aclose(self) -> None:
        """Nothing to release."""


@dataclass
class FakeModels:
    judge: FakeJudge
    prices: Prices = field(default_factory=Prices.load)
    missing: LlmError | None = None
    asked: list[tuple[Provider, HttpEndpoint | None]] = field(default_factory=list)

    def client(self, provider: Provider, endpoint: HttpEndpoint | None = None) -> FakeJudge:
        self.asked.append((provider, endpoint))
        if self.missing is not None:
            raise self.missing
        return self.judge


def judging(
    judge: FakeJudge,
    *,
    models: FakeModels | None = None,
    redactor: Redactor | None = None,
    guard_seconds: float = 1.0,
) -> Judging:
    return Judging(
        models=models or FakeModels(judge),
        redactor=redactor or Redactor(),
        clock=SystemClock(),
        worker_id="judge-1",
        rng=random.Random(7),
        guard_seconds=guard_seconds,
    )


def job(
    *rubrics: str | Judge,
    transcript: tuple[TranscriptEntry, ...] = TALK,
    votes: int = 1,
    **more: Any,
) -> JudgeRequested:
    criteria = tuple(
        JudgeCriterion(
            index=at, assertion=rubric if isinstance(rubric, Judge) else Judge(rubric=rubric, ref=f"c{at}")
        )
        for at, rubric in enumerate(rubrics or ("Агент передає розмову менеджеру.",), start=2)
    )
    settings = JudgeSettings.model_validate({"provider": "anthropic", "model": MODEL, "votes": votes})
    fields: dict[str, Any] = {
        "run_id": UUID(int=1),
        "account_id": UUID(int=4),
        "result_id": UUID(int=3),
        "case_id": UUID(int=2),
        "criteria": criteria,
        "transcript": transcript,
        "judge": settings,
    }
    return JudgeRequested(**(fields | more))
