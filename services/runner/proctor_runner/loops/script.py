"""What a case's script does, step by step; the same for every loop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from proctor_contracts.cases import CaseInput, ScriptedMulti, ScriptedSingle

__all__ = ["Put", "Say", "steps"]


@dataclass(frozen=True, slots=True)
class Say:
    """Send this as the user, and wait for the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Put:
    """Put this into the history as the agent's words."""

    text: str


def steps(given: CaseInput) -> Iterator[Say | Put]:
    """List what a script does, in order."""
    match given:
        case ScriptedSingle(message=text):
            yield Say(text)
        case ScriptedMulti(messages=messages):
            for message in messages:
                yield Say(message.content) if message.role == "user" else Put(message.content)
        case _:
            assert_never(given)
