"""OpenAI-compatible models and Groq through their official SDKs."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Self
from urllib.parse import urlsplit

from proctor_contracts.enums import Blame

from .aliases import Aliases
from .calls import Caller, Tally
from .chat_wire import read_reply, read_usage, request_fields
from .door import Door, Surroundings
from .endings import check_ending
from .errors import LlmError, LlmErrorCode
from .replies import excerpt, loads
from .sdk import Sdk, require_model
from .types import ChatRequest, Completion

__all__ = ["ChatCompletionsClient"]

_OPENAI_HOST = "api.openai.com"


class ChatCompletionsClient:
    """Speaks chat completions, unstreamed: not every compatible gateway sends usage in a stream.

    The SDK sends and authenticates; its reply is read raw, so nothing is built that is not used and a
    gateway's small deviations do no harm.
    """

    def __init__(
        self, *, sdk: Sdk, path: str, limit_field: str, caller: Caller, surroundings: Surroundings
    ) -> None:
        self._sdk = sdk
        self._path = path
        self._limit_field = limit_field
        self._caller = caller
        self._surroundings = surroundings

    @classmethod
    def openai(
        cls,
        *,
        api_key: str,
        base_url: str,
        headers: dict[str, str],
        door: Door,
        caller: Caller,
        surroundings: Surroundings,
    ) -> Self:
        """Make a client of OpenAI itself or of anything that speaks like it at `base_url`."""

        def build(sdk: ModuleType, http: Any) -> Any:
            return sdk.AsyncOpenAI(
                api_key=api_key,
                base_url=base_url,
                http_client=http,
                max_retries=0,
                timeout=None,
                default_headers=headers or None,
            )

        sdk = Sdk(
            name="openai",
            http_module="httpx2",
            key_name="OPENAI_API_KEY",
            door=door,
            surroundings=surroundings,
            build=build,
        )
        # OpenAI's newer models refuse the old name; the gateways mostly know no other.
        theirs = urlsplit(base_url).hostname == _OPENAI_HOST
        limit_field = "max_completion_tokens" if theirs else "max_tokens"
        return cls(
            sdk=sdk,
            path="/chat/completions",
            limit_field=limit_field,
            caller=caller,
            surroundings=surroundings,
        )

    @classmethod
    def groq(
        cls, *, api_key: str, base_url: str, door: Door, caller: Caller, surroundings: Surroundings
    ) -> Self:
        """Make a client of Groq."""

        def build(sdk: ModuleType, http: Any) -> Any:
            return sdk.AsyncGroq(
                api_key=api_key, base_url=base_url, http_client=http, max_retries=0, timeout=None
            )

        sdk = Sdk(
            name="groq",
            http_module="httpx",
            key_name="GROQ_API_KEY",
            door=door,
            surroundings=surroundings,
            build=build,
        )
        return cls(
            sdk=sdk,
            path="/openai/v1/chat/completions",
            limit_field="max_completion_tokens",
            caller=caller,
            surroundings=surroundings,
        )

    async def complete(self, request: ChatRequest, *, deadline: float) -> Completion:
        """Send one request; see LlmClient."""
        require_model(self._sdk.name, request.model)
        await self._sdk.client()
        aliases = Aliases(tool.name for tool in request.tools)
        fields = request_fields(request, aliases, limit_field=self._limit_field)

        async def attempt(tally: Tally) -> Completion:
            try:
                return await self._ask(fields, aliases, tally)
            except LlmError:
                raise
            except Exception as error:
                raise self._sdk.fault(error) from error

        return await self._caller.call(attempt, model=request.model, deadline=deadline)

    async def prepare(self) -> None:
        """Import the SDK and make its client; see LlmClient."""
        await self._sdk.client()

    async def aclose(self) -> None:
        """Close the SDK's client."""
        await self._sdk.aclose()

    async def _ask(self, fields: dict[str, Any], aliases: Aliases, tally: Tally) -> Completion:
        clock = self._surroundings.monotonic
        started = clock()
        raw = (await self._sdk.post(self._path, fields)).content
        latency_ms = round((clock() - started) * 1000)
        try:
            body = loads(raw)
            tally.usage = read_usage(body)
            reply = read_reply(body, aliases)
        except ValueError as error:
            message = (
                f"{self._sdk.name} answered something else than a chat completion ({error}): {excerpt(raw)}"
            )
            raise LlmError(LlmErrorCode.UNEXPECTED_SHAPE, message, blame=Blame.PROVIDER) from error
        check_ending(self._sdk.name, reply.finish, reply.text, reply.uses, last_is_use=bool(reply.uses))
        return Completion(
            text=reply.text,
            bubbles=(reply.text,) if reply.text.strip() else (),
            finish=reply.finish,
            model=reply.model or fields["model"],
            latency_ms=latency_ms,
            tool_uses=reply.uses,
            usage=reply.usage,
            fingerprint=reply.fingerprint,
            finish_raw=reply.finish_raw,
        )
