"""What a tool call came to: a result, or a failure that model and reader are each told in their own words."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import orjson

from proctor_contracts.base import Json
from proctor_llm.replies import clean

__all__ = ["Failure", "Outcome"]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call gave no usable result.

    `code` is stable. `message` is for whoever reads the transcript; `said` is what the model is told, which
    holds neither addresses nor how to configure them, and is None when the model sees the result itself.
    """

    code: str
    message: str
    said: str | None
    unreachable: bool = False

    @property
    def recorded(self) -> str:
        """The error as a transcript holds it."""
        return f"{self.code}: {self.message}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended; `called` says whether the handler itself was asked."""

    result: Json = None
    failure: Failure | None = None
    called: bool = False
    dry_run: bool = False

    def but(self, **changes: Any) -> Outcome:
        """Give the same with changes."""
        return dataclasses.replace(self, **changes)

    @property
    def failed(self) -> bool:
        """Whether the tool did not do what it was asked; a garbled answer does not undo a deed."""
        return self.failure is not None and self.failure.said is not None

    @property
    def content(self) -> str:
        """The text that the model gets; never empty for a failure."""
        failure = self.failure
        if failure is not None and failure.said is not None:
            told = {"error": failure.code, "message": failure.said}
            return _text(told if self.result is None else {**told, "answer": self.result})
        return self.result if isinstance(self.result, str) else _text(self.result)


def _text(value: Json) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        # A lone surrogate, which recorded replies may bring into a twin's records.
        return orjson.dumps(clean(value)).decode()
