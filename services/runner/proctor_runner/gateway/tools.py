"""A handler as the model sees it: a name, a description and a JSON Schema of its arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from proctor_contracts.agents import HandlerSnapshot
from proctor_contracts.base import Json
from proctor_contracts.effects import Action, HandlerEffect
from proctor_llm.replies import object_or_none
from proctor_llm.types import ToolSpec
from proctor_llm.worst_case import tokens_at_most

from .effects import counts_as_side_effect, effect_of

__all__ = ["Tool", "Toolbox", "parameters_of"]

_DEPTH = 12
_SHOWN = 120


@dataclass(frozen=True, slots=True)
class Tool:
    """A handler with what follows from it; `guarded` handlers are never called in a dry run."""

    handler: HandlerSnapshot
    spec: ToolSpec
    effect: HandlerEffect
    guarded: bool

    @classmethod
    def of(cls, handler: HandlerSnapshot) -> Tool:
        """Work out a handler."""
        return cls(
            handler=handler,
            spec=ToolSpec(
                name=handler.name,
                description=(handler.description or "").strip() or f"Calls {handler.name}.",
                schema=parameters_of(handler),
            ),
            effect=effect_of(handler),
            guarded=counts_as_side_effect(handler),
        )

    @property
    def writes(self) -> bool:
        """Whether its calls belong into the ledger."""
        return self.effect.action is not Action.READ


class Toolbox:
    """The tools of one conversation, by the handlers' own names; of two with one name the first counts.

    `tokens` bounds what describing them adds to every prompt.
    """

    def __init__(self, handlers: Iterable[HandlerSnapshot]) -> None:
        self._tools: dict[str, Tool] = {}
        for handler in handlers:
            if handler.name not in self._tools:
                self._tools[handler.name] = Tool.of(handler)
        self.specs = tuple(tool.spec for tool in self._tools.values())

    def find(self, name: str) -> Tool | None:
        """Give a tool, or None for a name that the model made up."""
        return self._tools.get(name)

    @property
    def names(self) -> tuple[str, ...]:
        """Every tool's name."""
        return tuple(self._tools)

    @property
    def tokens(self) -> int:
        """The most tokens that their descriptions can take; the alias is never longer than 64."""
        return sum(
            tokens_at_most(spec.name)
            + tokens_at_most(spec.description)
            + tokens_at_most(orjson.dumps(spec.schema).decode())
            + 64
            for spec in self.specs
        )


def parameters_of(handler: HandlerSnapshot) -> dict[str, Any]:
    """Give the schema of a handler's arguments: its own, else one that its example body suggests.

    It always describes an object with `properties`: one tool that does not makes providers refuse them all.
    """
    given = handler.parameters_schema
    if given is not None:
        return {"properties": {}, **given, "type": "object"}
    body = object_or_none(handler.body) if isinstance(handler.body, str) else handler.body
    return {"type": "object", "properties": _properties(body, depth=0) if isinstance(body, dict) else {}}


def _properties(example: Mapping[str, Json], *, depth: int) -> dict[str, Any]:
    return {name: _schema(value, depth=depth) for name, value in example.items()}


def _schema(example: Json, *, depth: int) -> dict[str, Any]:  # noqa: PLR0911 - one branch a kind
    """Describe a value by its kind; an example helps a model more than a type does."""
    if depth >= _DEPTH:
        return {}
    match example:
        case bool():
            return {"type": "boolean"}
        case int():
            return {"type": "integer", "description": f"e.g. {example}"}
        case float():
            return {"type": "number", "description": f"e.g. {example}"}
        case str() if example.strip() and "{{" not in example:
            return {"type": "string", "description": f"e.g. {example[:_SHOWN]}"}
        case str():
            return {"type": "string"}
        case dict():
            return {"type": "object", "properties": _properties(example, depth=depth + 1)}
        case [first, *_]:
            return {"type": "array", "items": _schema(first, depth=depth + 1)}
        case list():
            return {"type": "array", "items": {}}
        case _:
            return {}
