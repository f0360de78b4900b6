"""The clients of a process: one for each provider and endpoint, made on first use."""

from __future__ import annotations

import asyncio
import contextlib
import random
from datetime import UTC, datetime
from typing import TYPE_CHECKING, assert_never

from proctor_contracts.endpoint import HttpEndpoint, SecretRef, endpoint_problem
from proctor_contracts.enums import Blame, Provider

from .calls import Caller, Meter
from .client import LlmClient
from .door import Door, SecretSource, Surroundings
from .errors import LlmError, LlmErrorCode
from .limits import Limits
from .prices import Prices
from .settings import LlmSettings

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Models", "real_surroundings"]

_MOST_CLIENTS = 1_000


def real_surroundings(rng: random.Random | None = None) -> Surroundings:
    """Give the real clock, sleep and randomness of the running loop."""
    loop = asyncio.get_running_loop()
    return Surroundings(
        now=lambda: datetime.now(UTC), monotonic=loop.time, sleep=asyncio.sleep, rng=rng or random.Random()
    )


class Models:
    """Hands out clients; limits, prices and metering are shared by all of them.

    Make it inside the running loop. Adapters are imported when they are first asked for, SDKs when they
    first call.
    """

    def __init__(
        self,
        *,
        settings: LlmSettings,
        door: Door,
        secrets: SecretSource,
        surroundings: Surroundings | None = None,
        prices: Prices | None = None,
        meter: Meter | None = None,
    ) -> None:
        self._settings = settings
        self._door = door
        self._secrets = secrets
        self._surroundings = surroundings or real_surroundings()
        self.prices = prices or Prices.load(settings.price_file)
        self._meter = meter
        self._limits = Limits(settings.limits, self._surroundings)
        self._clients: dict[tuple[Provider, str], LlmClient] = {}

    def client(self, provider: Provider, endpoint: HttpEndpoint | None = None) -> LlmClient:
        """Give the client of a provider, at an endpoint of its own where the integration names one.

        Raises:
            LlmError: `missing_key` or `missing_endpoint`, saying what to set.
        """
        key = (provider, "" if endpoint is None else endpoint.model_dump_json())
        client = self._clients.get(key)
        if client is None:
            client = self._make(provider, endpoint)
            if (folder := self._settings.record_dir) is not None and provider is not Provider.REPLAY:
                client = self._recording(client, folder / f"{provider}.jsonl")
            if len(self._clients) < _MOST_CLIENTS:
                self._clients[key] = client
        return client

    async def prepare(self, provider: Provider, endpoint: HttpEndpoint | None = None) -> None:
        """Load what a provider's first call needs; what is wrong is said by that call."""
        with contextlib.suppress(LlmError):
            await self.client(provider, endpoint).prepare()

    async def aclose(self) -> None:
        """Close every client; the door stays open, it is its owner's."""
        clients = list(self._clients.values())
        self._clients.clear()
        for client in clients:
            await client.aclose()

    def _make(self, provider: Provider, endpoint: HttpEndpoint | None) -> LlmClient:
        match provider:
            case Provider.HTTP:
                return self._http(endpoint)
            case Provider.ANTHROPIC:
                return self._anthropic()
            case Provider.OPENAI:
                return self._openai(endpoint)
            case Provider.GROQ:
                return self._groq()
            case Provider.REPLAY:
                return self._replay()
            case _:
                assert_never(provider)

    def _http(self, endpoint: HttpEndpoint | None) -> LlmClient:
        from .http import HttpClient  # noqa: PLC0415 - aiohttp is not needed by every process

        problem = endpoint_problem(Provider.HTTP, endpoint)
        if endpoint is None or problem is not None:
            raise LlmError(LlmErrorCode.MISSING_ENDPOINT, problem or "", blame=Blame.INFRASTRUCTURE)
        return HttpClient(
            endpoint=endpoint,
            door=self._door,
            secrets=self._secrets,
            caller=self._caller(Provider.HTTP),
            surroundings=self._surroundings,
        )

    def _anthropic(self) -> LlmClient:
        from .anthropic import AnthropicClient  # noqa: PLC0415 - only where it is used

        return AnthropicClient(
            api_key=self._key(Provider.ANTHROPIC),
            base_url=self._settings.base_urls["anthropic"],
            door=self._door,
            caller=self._caller(Provider.ANTHROPIC),
            surroundings=self._surroundings,
        )

    def _openai(self, endpoint: HttpEndpoint | None) -> LlmClient:
        from .chat_completions import ChatCompletionsClient  # noqa: PLC0415 - only where it is used

        headers = self._plain_headers(endpoint) if endpoint is not None else {}
        # A gateway of one's own (Ollama, vLLM) often asks for no key; the SDK wants one all the same.
        keyless = endpoint is not None
        return ChatCompletionsClient.openai(
            api_key=self._settings.api_keys.get("openai", "none") if keyless else self._key(Provider.OPENAI),
            base_url=endpoint.url if endpoint is not None else self._settings.base_urls["openai"],
            headers=headers,
            door=self._door,
            caller=self._caller(Provider.OPENAI),
            surroundings=self._surroundings,
        )

    def _groq(self) -> LlmClient:
        from .chat_completions import ChatCompletionsClient  # noqa: PLC0415 - only where it is used

        return ChatCompletionsClient.groq(
            api_key=self._key(Provider.GROQ),
            base_url=self._settings.base_urls["groq"],
            door=self._door,
            caller=self._caller(Provider.GROQ),
            surroundings=self._surroundings,
        )

    def _replay(self) -> LlmClient:
        from .replay import ReplayClient  # noqa: PLC0415 - only where it is used

        folder = self._settings.replay_dir
        if folder is None:
            message = "provider replay reads recorded replies from a folder: set PROCTOR_REPLAY_DIR"
            raise LlmError(LlmErrorCode.MISSING_KEY, message, blame=Blame.INFRASTRUCTURE)
        return ReplayClient(folder=folder, caller=self._caller(Provider.REPLAY))

    def _recording(self, client: LlmClient, file: Path) -> LlmClient:
        from .replay import RecordingClient  # noqa: PLC0415 - only where it is used

        return RecordingClient(inner=client, file=file)

    def _caller(self, provider: Provider) -> Caller:
        return Caller(
            provider=provider,
            limits=self._limits,
            prices=self.prices,
            policy=self._settings.retry,
            surroundings=self._surroundings,
            meter=self._meter,
        )

    def _key(self, provider: Provider) -> str:
        key = self._settings.api_keys.get(provider)
        if not key:
            message = f"no API key for {provider}: set {provider.upper()}_API_KEY"
            raise LlmError(LlmErrorCode.MISSING_KEY, message, blame=Blame.INFRASTRUCTURE)
        return key

    def _plain_headers(self, endpoint: HttpEndpoint) -> dict[str, str]:
        headers: dict[str, str] = {}
        for name, value in endpoint.headers.items():
            if isinstance(value, SecretRef):
                secret = self._secrets.find(value.secret)
                if secret is None:
                    message = f"header {name}: {self._secrets.how_to_set(value.secret)}"
                    raise LlmError(LlmErrorCode.MISSING_KEY, message, blame=Blame.INFRASTRUCTURE)
                headers[name] = secret
            else:
                headers[name] = value
        return headers
