"""What the bot is told in a test: a prompt of the configuration, filled in, or the test's own variable."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .notes import Unportable
from .templates import filled, only_placeholder

__all__ = ["Prompt", "read_prompts"]

_FILE = re.compile(r"file://.*|\S+\.(?:txt|json|jsonl|md|j2|py|js|cjs|mjs|ts|ya?ml|csv)(?::\w+)?", re.DOTALL)
_SAID = ("message", "input", "question", "query", "prompt", "user_message", "user_input", "text")
_ROLES = {"user", "assistant"}


@dataclass(frozen=True, slots=True)
class Prompt:
    """The template that says what the bot is told: one text, messages, or None to take a variable."""

    text: str | None = None
    messages: Sequence[Mapping[str, Any]] | None = None

    def script(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Make a case's input.

        Raises:
            Unportable: when a test does not say enough.
        """
        if self.messages is not None:
            return _scripted([self._filled(message, values) for message in self.messages])
        template = self.text if self.text is not None else "{{" + _variable(values) + "}}"
        return _single(filled(template, values))

    def _filled(self, message: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, str]:
        return {"role": str(message["role"]), "content": filled(str(message["content"]), values)}


def read_prompts(value: Any) -> tuple[Prompt, list[str]]:
    """Choose the prompt, and say what of the others, and around its variables, should be known."""
    given = value if isinstance(value, list) else [] if value is None else [value]
    notes: list[str] = []
    prompts = [prompt for item in given if (prompt := _read(item, notes)) is not None]
    if not prompts:
        return Prompt(), notes
    first = prompts[0]
    if len(prompts) > 1:
        notes.append(f"{len(prompts)} prompts: a case has one way to ask, so the first is taken")
    if first.text is not None and only_placeholder(first.text) is None:
        notes.append(
            "the prompt has words around its variables: the bot is told all of it as the user's message; "
            "put instructions into the integration's agentPrompt instead"
        )
    return first, notes


def _read(item: Any, notes: list[str]) -> Prompt | None:
    text = item.get("raw", item.get("id")) if isinstance(item, dict) else item
    if not isinstance(text, str) or not text.strip():
        notes.append("a prompt that is no text")
        return None
    if _FILE.fullmatch(text.strip()):
        notes.append(
            f"the prompt in the file {text.strip()}, which is not read: the tests' variables are taken"
        )
        return None
    if not text.lstrip().startswith("["):
        return Prompt(text=text)
    try:
        messages = json.loads(text)
    except ValueError:
        return Prompt(text=text)
    if not isinstance(messages, list) or not all(_is_message(message) for message in messages):
        return Prompt(text=text)
    if any(message["role"] not in _ROLES for message in messages):
        notes.append("the prompt's system messages: the integration's agentPrompt is used")
    return Prompt(messages=[message for message in messages if message["role"] in _ROLES])


def _is_message(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("role"), str)
        and isinstance(value.get("content"), str)
    )


def _variable(values: Mapping[str, Any]) -> str:
    """Find the variable that the user says: the one that there is, or the one with a usual name."""
    texts = [name for name, value in values.items() if isinstance(value, str | int | float)]
    if len(texts) == 1:
        return texts[0]
    if usual := next((name for name in _SAID if name in texts), None):
        return usual
    raise Unportable(
        "does not show what the user says: there is no prompt to fill in, and none of its variables is "
        + ", ".join(_SAID)
    )


def _scripted(messages: list[dict[str, str]]) -> dict[str, Any]:
    if not messages or messages[-1]["role"] != "user":
        raise Unportable("ends with words of the assistant, so there is nothing that the bot would answer")
    if len(messages) == 1:
        return _single(messages[0]["content"])
    return {"kind": "scripted_multi", "messages": messages}


def _single(message: str) -> dict[str, Any]:
    if not message.strip():
        raise Unportable("says nothing to the bot: the user's message is empty")
    return {"kind": "scripted_single", "message": message}
