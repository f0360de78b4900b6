"""Anthropic's models through the official SDK, streamed: the first token's time comes from the stream."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from proctor_contracts.base import Json
from proctor_contracts.enums import Blame

from .aliases import Aliases
from .anthropic_wire import FINISHES, StreamedReply, request_fields
from .calls import Caller, Tally
from .door import Door, Surroundings
from .endings import check_ending
from .errors import LlmError, LlmErrorCode
from .replies import excerpt, loads
from .sdk import Sdk, require_model
from .sse import ServerEvent, read_events
from .types import ChatRequest, Completion, Finish

__all__ = ["AnthropicClient"]

_NAME = "anthropic"


class AnthropicClient:
    """Speaks the Messages API.

    The SDK sends and authenticates; its stream is read raw, so an error event is classified by its type,
    a reply without its end is never taken for a whole one, and nothing is built that is not used.
    """

    def __init__(
        self, *, api_key: str, base_url: str, door: Door, caller: Caller, surroundings: Surroundings
    ) -> None:
        def build(sdk: ModuleType, http: Any) -> Any:
            return sdk.AsyncAnthropic(
                api_key=api_key, base_url=base_url, http_client=http, max_retries=0, timeout=None
            )

        self._sdk = Sdk(
            name=_NAME,
            http_module="httpx2",
            key_name="ANTHROPIC_API_KEY",
            door=door,
            surroundings=surroundings,
            build=build,
        )
        self._caller = caller
        self._surroundings = surroundings

    async def complete(self, request: ChatRequest, *, deadline: float) -> Completion:
        """Send one request; see LlmClient."""
        require_model(_NAME, request.model)
        await self._sdk.client()
        aliases = Aliases(tool.name for tool in request.tools)
        fields = request_fields(request, aliases)

        async def attempt(tally: Tally) -> Completion:
            try:
                return await self._stream(fields, aliases, tally)
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

    async def _stream(self, fields: dict[str, Any], aliases: Aliases, tally: Tally) -> Completion:
        clock = self._surroundings.monotonic
        started = clock()
        first: float | None = None
        reply = StreamedReply()
        response = await self._sdk.post("/v1/messages", {**fields, "stream": True}, stream=True)
        try:
            async for event in read_events(response.aiter_bytes()):
                data = _read(event)
                if event.name == "error" or (isinstance(data, dict) and data.get("type") == "error"):
                    # The status was 200 long ago; what counts is the error's type.
                    raise self._sdk.status_fault(200, data)
                if reply.take(data) and first is None:
                    first = clock()
                tally.usage = reply.usage
        finally:
            await response.aclose()
        if not reply.done:
            message = f"{_NAME} closed its stream in the middle of a reply"
            raise LlmError(LlmErrorCode.PROVIDER_UNAVAILABLE, message, blame=Blame.PROVIDER, retryable=True)
        finish = FINISHES.get(reply.stop_reason or "", Finish.INCOMPLETE)
        text, uses = reply.text, reply.tool_uses(aliases)
        check_ending(_NAME, finish, text, uses, last_is_use=reply.last_is_use)
        return Completion(
            text=text,
            bubbles=(text,) if text.strip() else (),
            finish=finish,
            model=reply.model or fields["model"],
            latency_ms=round((clock() - started) * 1000),
            tool_uses=uses,
            usage=reply.usage,
            ttft_ms=None if first is None else round((first - started) * 1000),
            finish_raw=reply.stop_reason,
        )


def _read(event: ServerEvent) -> Json:
    try:
        return loads(event.data)
    except ValueError as error:
        message = f"{_NAME} sent an event that is not JSON: {excerpt(event.data)}"
        raise LlmError(LlmErrorCode.UNEXPECTED_SHAPE, message, blame=Blame.PROVIDER) from error
