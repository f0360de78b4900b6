"""A stub of the model APIs and of a plain bot, on loopback: well behaved or flaky, and it remembers.

    async with StubProvider() as stub:
        stub.script(Status(429, retry_after="2"), Say("Hello"))
        ...  # point a client at stub.anthropic_url, .openai_url, .groq_url or .bot_url
        assert stub.requests[0].body["model"] == "m"

With nothing scripted (or the script used up) `stub.answer` decides: a callable from Seen to Reply.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from aiohttp import web

__all__ = [
    "BreakOff",
    "Drip",
    "HangUp",
    "Raw",
    "Reply",
    "Say",
    "Seen",
    "Status",
    "StubProvider",
    "Tool",
    "polite_answer",
]


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it came in."""

    path: str
    headers: Mapping[str, str]
    body: Any

    @property
    def last_user_text(self) -> str:
        """What the user said last, in any of the formats."""
        if not isinstance(self.body, dict):
            return ""
        for message in reversed(self.body.get("messages", [])):
            if message["role"] == "user" and isinstance(message["content"], str):
                return str(message["content"])
        return str(self.body.get("message", ""))

    @property
    def forced_tool(self) -> str | None:
        """The tool that the request forces the model to call."""
        choice = self.body.get("tool_choice") if isinstance(self.body, dict) else None
        if not isinstance(choice, dict):
            return None
        return str(choice["name"] if "name" in choice else choice["function"]["name"])


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool call in a reply; `raw` replaces the JSON of `args` (to cut it short)."""

    name: str
    args: dict[str, Any] = field(default_factory=dict)
    raw: str | None = None

    @property
    def arguments(self) -> str:
        """The arguments as the wire carries them."""
        return json.dumps(self.args) if self.raw is None else self.raw


@dataclass(frozen=True, slots=True)
class Say:
    """A whole reply; `finish` is the wire's own word and defaults to the normal one."""

    text: str = ""
    tools: tuple[Tool, ...] = ()
    finish: str | None = None
    usage: Mapping[str, Any] | None = None
    model: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Status:
    """An error answer with the provider's error body."""

    status: int
    kind: str | None = None
    message: str = "no"
    retry_after: str | None = None


@dataclass(frozen=True, slots=True)
class BreakOff:
    """An Anthropic stream (status 200) that ends in an error event, or just ends when `kind` is None."""

    kind: str | None = "overloaded_error"
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Drip:
    """Status 200 and then one byte now and again until the client goes away."""


@dataclass(frozen=True, slots=True)
class HangUp:
    """The connection closes without an answer."""


@dataclass(frozen=True, slots=True)
class Raw:
    """Exactly these bytes."""

    body: bytes
    content_type: str = "application/json"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


Reply = Say | Status | BreakOff | Drip | HangUp | Raw

_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_DRIP_SECONDS = 0.01


def polite_answer(seen: Seen) -> Reply:
    """Repeat what the user said, or call the tool that is forced."""
    if seen.forced_tool is not None:
        return Say(tools=(Tool(seen.forced_tool, {"forced": True}),))
    return Say(f"You said: {seen.last_user_text}")


class StubProvider:
    """The server; `requests` holds everything it was asked, `gone` counts clients that left in mid-reply."""

    def __init__(self) -> None:
        self.requests: list[Seen] = []
        self.answer: Callable[[Seen], Reply] = polite_answer
        self.gone = 0
        self.in_flight = 0
        self.most_in_flight = 0
        self.hold: asyncio.Event | None = None
        self.arrived = asyncio.Condition()
        self._script: deque[Reply] = deque()
        self._closing = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self.url = ""

    @property
    def anthropic_url(self) -> str:
        return self.url

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"

    @property
    def groq_url(self) -> str:
        return self.url

    @property
    def bot_url(self) -> str:
        return f"{self.url}/chat"

    def script(self, *replies: Reply) -> None:
        """Answer the next requests with these, in order."""
        self._script.extend(replies)

    async def seen(self, count: int) -> None:
        """Wait until so many requests have come in (at most five seconds)."""
        async with asyncio.timeout(5), self.arrived:
            await self.arrived.wait_for(lambda: len(self.requests) >= count)

    async def left(self, count: int) -> None:
        """Wait until so many clients have gone away in the middle of a reply (at most five seconds)."""
        async with asyncio.timeout(5), self.arrived:
            await self.arrived.wait_for(lambda: self.gone >= count)

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=16 * 1024 * 1024)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5, handler_cancellation=True)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        if self.hold is not None:
            self.hold.set()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        seen = Seen(request.path, request.headers.copy(), json.loads(raw) if raw else None)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        async with self.arrived:
            self.requests.append(seen)
            self.arrived.notify_all()
        try:
            if self.hold is not None:
                await self.hold.wait()
            reply = self._script.popleft() if self._script else self.answer(seen)
            return await self._send(request, seen, reply)
        except (asyncio.CancelledError, ConnectionResetError):
            self.gone += 1
            async with self.arrived:
                self.arrived.notify_all()
            raise
        finally:
            self.in_flight -= 1

    async def _send(  # noqa: PLR0911 - one branch for each kind of reply
        self, request: web.Request, seen: Seen, reply: Reply
    ) -> web.StreamResponse:
        anthropic = seen.path.endswith("/messages")
        match reply:
            case Raw():
                return web.Response(
                    body=reply.body,
                    status=reply.status,
                    headers={"Content-Type": reply.content_type, **reply.headers},
                )
            case Status():
                return _status(reply)
            case HangUp():
                if request.transport is not None:
                    request.transport.abort()
                return web.Response()
            case Drip():
                return await self._drip(request)
            case BreakOff():
                return await _stream(request, _broken_events(reply))
            case Say() if anthropic and seen.body.get("stream"):
                return await _stream(request, _anthropic_events(seen, reply))
            case Say() if seen.path.endswith("/chat/completions"):
                return web.json_response(_chat_completion(seen, reply))
            case Say():
                tools = [{"name": one.name, "args": one.args} for one in reply.tools]
                return web.json_response({"answer": reply.text, "tools": tools, **reply.extra})

    async def _drip(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        while not self._closing.is_set():
            await response.write(b" ")
            try:
                await asyncio.wait_for(self._closing.wait(), _DRIP_SECONDS)
            except TimeoutError:
                continue
        return response


def _status(reply: Status) -> web.Response:
    kind = reply.kind or _KINDS.get(reply.status, "api_error")
    headers = {} if reply.retry_after is None else {"Retry-After": reply.retry_after}
    body = {"type": "error", "error": {"type": kind, "message": reply.message}}
    return web.json_response(body, status=reply.status, headers=headers)


def _chat_completion(seen: Seen, reply: Say) -> dict[str, Any]:
    calls = [
        {"id": f"call_{at}", "type": "function", "function": {"name": one.name, "arguments": one.arguments}}
        for at, one in enumerate(reply.tools, start=1)
    ]
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if calls:
        message["tool_calls"] = calls
    finish = reply.finish or ("tool_calls" if calls else "stop")
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": reply.model or seen.body["model"],
        "system_fingerprint": "fp_1",
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": reply.usage or {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        **reply.extra,
    }


def _anthropic_events(seen: Seen, reply: Say) -> list[dict[str, Any]]:
    usage = dict(reply.usage or {"input_tokens": 10, "output_tokens": 5})
    events: list[dict[str, Any]] = [_message_start(reply.model or seen.body["model"], usage)]
    at = 0
    if reply.text:
        half = len(reply.text) // 2
        events.append(
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        )
        events += [
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": part}}
            for part in (reply.text[:half], reply.text[half:])
        ]
        events.append({"type": "content_block_stop", "index": 0})
        at = 1
    for index, tool in enumerate(reply.tools, start=at):
        block = {"type": "tool_use", "id": f"toolu_{index}", "name": tool.name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": tool.arguments}
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    finish = reply.finish or ("tool_use" if reply.tools else "end_turn")
    ending = {"stop_reason": finish, "stop_sequence": None}
    events.append(
        {"type": "message_delta", "delta": ending, "usage": {"output_tokens": usage["output_tokens"]}}
    )
    events.append({"type": "message_stop"})
    return events


def _broken_events(reply: BreakOff) -> list[dict[str, Any]]:
    events = [_message_start("m", {"input_tokens": 100, "output_tokens": 1})]
    if reply.after:
        events.append(
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        )
    events += [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
        for text in reply.after
    ]
    if reply.kind is not None:
        events.append({"type": "error", "error": {"type": reply.kind, "message": "Overloaded"}})
    return events


def _message_start(model: str, usage: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**usage, "output_tokens": 1},
    }
    return {"type": "message_start", "message": message}


async def _stream(request: web.Request, events: list[dict[str, Any]]) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for event in events:
        await response.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
    await response.write_eof()
    return response
