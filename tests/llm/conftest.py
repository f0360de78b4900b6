from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from proctor_chassis.egress import Operator
from proctor_chassis.egress.door import OutgoingDoor
from proctor_chassis.secrets import Redactor, Secrets
from proctor_contracts.endpoint import HttpEndpoint
from proctor_contracts.enums import Provider
from proctor_llm import ChatMessage, ChatRequest, Completion, LlmError, LlmSettings, Models, Surroundings
from proctor_llm.calls import TryRecord
from tests.support.stub_provider import StubProvider

NOW = datetime(2026, 10, 21, 7, 27, 30, 400_000, tzinfo=UTC)


@dataclass
class Bench:
    """A stub, the clients pointed at it, and what they did; sleeping is recorded, never done."""

    stub: StubProvider
    models: Models
    sleeps: list[float]
    tries: list[TryRecord] = field(default_factory=list)

    async def ask(
        self, provider: Provider, request: ChatRequest | None = None, *, seconds: float = 600, **endpoint: Any
    ) -> Completion:
        where = HttpEndpoint(**self.endpoint(**endpoint)) if provider is Provider.HTTP or endpoint else None
        client = self.models.client(provider, where)
        return await client.complete(
            request or chat("Hello"), deadline=asyncio.get_running_loop().time() + seconds
        )

    async def fail(
        self, provider: Provider, request: ChatRequest | None = None, *, seconds: float = 600, **endpoint: Any
    ) -> LlmError:
        with pytest.raises(LlmError) as raised:
            await self.ask(provider, request, seconds=seconds, **endpoint)
        return raised.value

    def endpoint(self, **changes: Any) -> dict[str, Any]:
        return {
            "url": self.stub.bot_url,
            "body": {"message": "{{message}}"},
            "replyPath": "$.answer",
            **changes,
        }


def chat(text: str, **changes: Any) -> ChatRequest:
    given: dict[str, Any] = {
        "model": "claude-sonnet-4-5",
        "system": "Be brief.",
        "messages": (ChatMessage("user", text),),
        "conversation_id": "c1",
        **changes,
    }
    return ChatRequest(**given)


def make_models(
    *,
    stub_url: str,
    sleeps: list[float],
    tries: list[TryRecord],
    environ: dict[str, str] | None = None,
    **settings: Any,
) -> tuple[Models, OutgoingDoor]:
    async def pause(seconds: float) -> None:
        sleeps.append(seconds)

    loop = asyncio.get_running_loop()
    door = OutgoingDoor(rules=Operator(loopback=True))
    given: dict[str, Any] = {
        "base_urls": {"anthropic": stub_url, "groq": stub_url, "openai": f"{stub_url}/v1"},
        "api_keys": {"anthropic": "key-a", "groq": "key-g", "openai": "key-o"},
        **settings,
    }
    models = Models(
        settings=LlmSettings(**given),
        door=door,
        secrets=Secrets(environ=environ or {}, embedded=True, redactor=Redactor()),
        surroundings=Surroundings(now=lambda: NOW, monotonic=loop.time, sleep=pause, rng=random.Random(1)),
        meter=tries.append,
    )
    return models, door


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    sleeps: list[float] = []
    tries: list[TryRecord] = []
    async with StubProvider() as stub:
        models, door = make_models(
            stub_url=stub.url, sleeps=sleeps, tries=tries, environ={"PROCTOR_SECRET_BOT_KEY": "s3cret-value"}
        )
        yield Bench(stub, models, sleeps, tries)
        await models.aclose()
        await door.aclose()
