"""One conversation of a transcript file: what the user said, and what was answered to each message."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from proctor_casefiles.documents import Path

__all__ = ["Chat", "Faulty", "Turn", "read_chat"]

_INSTRUCTIONS = {"system", "developer"}
_ANSWERS = {"tool", "function"}
_MESSAGE_KEYS = {
    "role", "content", "name", "tool_calls", "tool_call_id", "function_call", "refusal", "weight",
}  # fmt: skip


class Faulty(Exception):
    """The conversation cannot be a case; `path` says where."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.path = path
        self.message = message


@dataclass(slots=True)
class Turn:
    """One user message and what the assistant did until the next one."""

    user: str
    replies: list[str] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class Chat:
    """A conversation by turns; `left_out` counts what a case has no place for, by what it is."""

    turns: list[Turn] = field(default_factory=list)
    greeting: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def read_chat(messages: Any, path: Path) -> Chat:
    """Sort the messages of a conversation into turns.

    Raises:
        Faulty: when they are no messages, or none of them is a user's.
    """
    if not isinstance(messages, list):
        raise Faulty(path, "is a list of {role, content}")
    reading = _Reading(Chat())
    for index, message in enumerate(messages):
        reading.take(message, (*path, index))
    if not reading.chat.turns:
        raise Faulty(path, "holds no message of the user, so there is nothing to say to the bot")
    return reading.chat


class _Reading:
    def __init__(self, chat: Chat) -> None:
        self.chat = chat
        self.asked: dict[str, dict[str, Any]] = {}

    def take(self, message: Any, path: Path) -> None:
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise Faulty(path, "is an object {role, content}")
        for key in message.keys() - _MESSAGE_KEYS:
            self.chat.left_out[f"a message's {key}"] += 1
        match message["role"]:
            case "user":
                self.chat.turns.append(Turn(self.user_text(message, path)))
            case "assistant":
                self.answer(message, path)
            case role if role in _INSTRUCTIONS:
                self.chat.left_out[f"{role} messages (the integration's agentPrompt is used)"] += 1
            case role if role in _ANSWERS:
                self.result(message, path)
            case role:
                raise Faulty(
                    (*path, "role"), f"{role!r} is not one of user, assistant, system, developer, tool"
                )

    def user_text(self, message: Mapping[str, Any], path: Path) -> str:
        text = self.text(message, path)
        if not text.strip():
            raise Faulty(
                (*path, "content"), "the user's message holds no text, and a case can say nothing else"
            )
        return text

    def answer(self, message: Mapping[str, Any], path: Path) -> None:
        text = self.text(message, path)
        calls = list(self.calls(message, path))
        if not self.chat.turns:
            if calls:
                self.chat.left_out["tool calls before the user's first message"] += len(calls)
            if text.strip():
                self.chat.greeting.append(text)
            return
        turn = self.chat.turns[-1]
        turn.calls += calls
        if text.strip():
            turn.replies.append(text)

    def calls(self, message: Mapping[str, Any], path: Path) -> Iterator[dict[str, Any]]:
        given = message.get("tool_calls") or []
        if not isinstance(given, list):
            raise Faulty((*path, "tool_calls"), "is a list of {id, type, function: {name, arguments}}")
        old = message.get("function_call")
        for index, item in enumerate([*given, *([{"function": old}] if old else [])]):
            function = item.get("function") if isinstance(item, dict) else None
            name = function.get("name") if isinstance(function, dict) else None
            if not isinstance(function, dict) or not isinstance(name, str) or not name:
                raise Faulty(
                    (*path, "tool_calls", index), "is {id, type: function, function: {name, arguments}}"
                )
            call: dict[str, Any] = {"name": name, **_arguments(function.get("arguments"))}
            own_id = item.get("id")
            self.asked[own_id if isinstance(own_id, str) else name] = call
            yield call

    def result(self, message: Mapping[str, Any], path: Path) -> None:
        key = message.get("tool_call_id") or message.get("name")
        call = self.asked.get(key) if isinstance(key, str) else None
        if call is None:
            self.chat.left_out["tool results that answer no call"] += 1
            return
        call["result"] = _json_or_text(self.text(message, path))

    def text(self, message: Mapping[str, Any], path: Path) -> str:
        match message.get("content"):
            case None:
                refusal = message.get("refusal")
                return refusal if isinstance(refusal, str) else ""
            case str() as text:
                return text
            case list() as parts:
                return "\n".join(self.parts(parts, (*path, "content")))
            case _:
                raise Faulty((*path, "content"), "is text, or a list of parts")

    def parts(self, parts: Sequence[Any], path: Path) -> Iterator[str]:
        for index, part in enumerate(parts):
            kind = part.get("type") if isinstance(part, dict) else None
            text = part.get("text", part.get("refusal")) if isinstance(part, dict) else part
            if isinstance(text, str):
                yield text
            elif isinstance(kind, str):
                self.chat.left_out[f"parts of type {kind[:40]}"] += 1
            else:
                raise Faulty((*path, index), "is {type: text, text}")


def _arguments(given: Any) -> dict[str, Any]:
    """Read the arguments of a call, which are JSON in a string; what is none is kept as it was written."""
    if given is None or given == "":
        return {"args": {}}
    if not isinstance(given, str):
        return {"args": given}
    read = _json_or_text(given)
    return {"args": read, "argsRaw": given} if isinstance(read, dict) else {"argsRaw": given}


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
