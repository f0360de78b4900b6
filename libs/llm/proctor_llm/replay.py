"""Recorded replies instead of a live agent: found by what was asked, or not at all."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
from pathlib import Path
from typing import Any

import orjson

from proctor_contracts.base import Json
from proctor_contracts.enums import Blame

from .calls import Caller, Tally
from .client import LlmClient
from .errors import LlmError, LlmErrorCode
from .replies import clean
from .types import ChatRequest, Completion, Finish, ReportedCall, ToolUse, Usage

__all__ = ["RecordingClient", "ReplayClient", "request_digest"]


def request_digest(request: ChatRequest) -> str:
    """Name a request by its content: SHA-256 of its canonical JSON, in hex.

    Counted are `model`, `system`, `messages`, `tools` (names) and `forceTool`; ids of the conversation and
    the user, output limits and temperature are not, so that a recording serves every trial.
    """
    document = {
        "forceTool": request.force_tool,
        "messages": [
            {
                "content": one.content,
                "role": one.role,
                "toolResults": [
                    [result.name, result.content, result.is_error] for result in one.tool_results
                ],
                "toolUses": [[use.name, use.args_raw] for use in one.tool_uses],
            }
            for one in request.messages
        ],
        "model": request.model,
        "system": request.system,
        "tools": [tool.name for tool in request.tools],
    }
    return hashlib.sha256(orjson.dumps(document, option=orjson.OPT_SORT_KEYS)).hexdigest()


class ReplayClient:
    """Answers from the `*.jsonl` files of a folder; a request that is not there is an error, never a guess.

    One line is `{"digest": …, "request": {…}, "reply": {…}}`; `request` is for the reader. `reply` needs
    `text` alone; the other fields are those of Completion in camelCase. Of two lines with one digest the
    first counts, files in the order of their names.
    """

    def __init__(self, *, folder: Path, caller: Caller) -> None:
        self._folder = folder
        self._caller = caller
        self._replies: dict[str, Completion] | None = None
        self._loading = asyncio.Lock()

    async def complete(self, request: ChatRequest, *, deadline: float) -> Completion:
        """Find the recorded reply; see LlmClient."""
        async with self._loading:
            if self._replies is None:
                self._replies = await asyncio.to_thread(_load, self._folder)
        replies = self._replies

        async def attempt(_tally: Tally) -> Completion:
            digest = request_digest(request)
            reply = replies.get(digest)
            if reply is None:
                last = next((one.content for one in reversed(request.messages) if one.role == "user"), "")
                message = f"no reply is recorded in {self._folder} for {digest} (user said: {last[:120]!r})"
                raise LlmError(LlmErrorCode.REPLAY_MISS, message, blame=Blame.INFRASTRUCTURE)
            return reply if reply.model else dataclasses.replace(reply, model=request.model)

        return await self._caller.call(attempt, model=request.model, deadline=deadline)

    async def prepare(self) -> None:
        """Nothing is loaded late."""

    async def aclose(self) -> None:
        """Hold nothing."""


class RecordingClient:
    """Passes every call to another client and appends what came back to a file the replay client reads."""

    def __init__(self, *, inner: LlmClient, file: Path) -> None:
        self._inner = inner
        self._file = file
        self._writing = asyncio.Lock()

    async def complete(self, request: ChatRequest, *, deadline: float) -> Completion:
        """Call and record; see LlmClient. An error is not recorded."""
        completion = await self._inner.complete(request, deadline=deadline)
        line = orjson.dumps(
            {
                "digest": request_digest(request),
                "request": {
                    "model": request.model,
                    "system": request.system,
                    "messages": [{"role": one.role, "content": one.content} for one in request.messages],
                },
                "reply": _written(completion),
            },
            option=orjson.OPT_APPEND_NEWLINE,
        )
        async with self._writing:
            await asyncio.to_thread(_append, self._file, line)
        return completion

    async def prepare(self) -> None:
        """Prepare the client that is recorded."""
        await self._inner.prepare()

    async def aclose(self) -> None:
        """Close the client inside."""
        await self._inner.aclose()


def _append(file: Path, line: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab") as out:
        out.write(line)


def _load(folder: Path) -> dict[str, Completion]:
    replies: dict[str, Completion] = {}
    for file in sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(file.read_bytes().splitlines(), start=1):
            if not line.strip():
                continue
            try:
                entry = clean(orjson.loads(line))
                replies.setdefault(entry["digest"], _read(entry["reply"]))
            except (ValueError, KeyError, TypeError) as error:
                message = f"cannot read the recorded reply in {file.name}, line {number}: {error!r}"
                raise LlmError(LlmErrorCode.UNEXPECTED_SHAPE, message, blame=Blame.INFRASTRUCTURE) from error
    return replies


def _written(completion: Completion) -> dict[str, Json]:
    usage = completion.usage
    return {
        "text": completion.text,
        "bubbles": completion.bubbles,
        "finish": completion.finish,
        "model": completion.model,
        "fingerprint": completion.fingerprint,
        "latencyMs": completion.latency_ms,
        "ttftMs": completion.ttft_ms,
        "toolUses": [
            {"id": one.id, "name": one.name, "args": one.args, "argsRaw": one.args_raw}
            for one in completion.tool_uses
        ],
        "usage": None
        if usage is None
        else {
            "promptTokens": usage.prompt_tokens,
            "cachedPromptTokens": usage.cached_prompt_tokens,
            "cacheWriteTokens": usage.cache_write_tokens,
            "completionTokens": usage.completion_tokens,
        },
        "reportedCalls": [
            {
                "name": one.name,
                "args": one.args,
                "argsRaw": one.args_raw,
                "result": one.result,
                "durationMs": one.duration_ms,
                "error": one.error,
            }
            for one in completion.reported_calls
        ],
        "toolsReported": completion.tools_reported,
        "outcomes": completion.outcomes,
        "sessionId": completion.session_id,
    }


def _read(reply: dict[str, Any]) -> Completion:
    text = str(reply["text"])
    bubbles = reply.get("bubbles")
    usage = reply.get("usage")
    return Completion(
        text=text,
        bubbles=tuple(bubbles) if isinstance(bubbles, list) else (text,) if text else (),
        finish=Finish(reply.get("finish", Finish.STOP)),
        model=str(reply.get("model") or ""),
        fingerprint=reply.get("fingerprint"),
        latency_ms=int(reply.get("latencyMs", 0)),
        ttft_ms=reply.get("ttftMs"),
        tool_uses=tuple(
            ToolUse(one["id"], one["name"], one.get("args"), one.get("argsRaw", ""))
            for one in reply.get("toolUses", ())
        ),
        usage=None
        if usage is None
        else Usage(
            int(usage.get("promptTokens", 0)),
            int(usage.get("cachedPromptTokens", 0)),
            int(usage.get("cacheWriteTokens", 0)),
            int(usage.get("completionTokens", 0)),
        ),
        reported_calls=tuple(
            ReportedCall(
                one["name"],
                one.get("args"),
                one.get("argsRaw", ""),
                one.get("result"),
                one.get("durationMs"),
                one.get("error"),
            )
            for one in reply.get("reportedCalls", ())
        ),
        tools_reported=bool(reply.get("toolsReported", False)),
        outcomes=dict(reply.get("outcomes") or {}),
        session_id=reply.get("sessionId"),
    )
