"""A handler played by its recorded answers, by what was written here, and by its own example; no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import orjson

from proctor_contracts.agents import HandlerSnapshot
from proctor_contracts.base import Json
from proctor_contracts.effects import Action, HandlerEffect
from proctor_contracts.transcript import ToolCallRecord
from proctor_llm.replies import object_or_none

from .effects import effect_of, key_of
from .twin import DRY_RUN, Deleted, Memory, Stored, answer_write

__all__ = ["Recorded", "answer"]

_DEPTH = 12
_OF_TYPE: Mapping[str, Json] = {
    "string": "text",
    "integer": 1,
    "number": 1.0,
    "boolean": True,
    "array": [],
    "object": {},
}


@dataclass(frozen=True, slots=True)
class Recorded:
    """What handlers answered in earlier runs, by name and arguments."""

    answers: Mapping[tuple[str, bytes], Json]

    @classmethod
    def of(cls, calls: Iterable[ToolCallRecord]) -> Recorded:
        """Take the calls of transcripts; failed ones say nothing, real answers go before dry ones."""
        answers: dict[tuple[str, bytes], Json] = {}
        for call in sorted((one for one in calls if one.error is None), key=lambda one: one.dry_run):
            result = call.result
            if call.dry_run and isinstance(result, dict):
                result = {name: value for name, value in result.items() if name != DRY_RUN}
            answers.setdefault(_named(call.name, call.args), result)
        return cls(answers)

    def find(self, name: str, args: Mapping[str, Json]) -> Json:
        """Give a recorded answer, or None."""
        return self.answers.get(_named(name, args))


def answer(handler: HandlerSnapshot, args: Mapping[str, Json], memory: Memory, recorded: Recorded) -> Json:
    """Answer one call as the handler might; writes change the memory, which later reads are answered from.

    A recorded answer to the same call goes first, unless something was written to its record since.
    """
    effect = effect_of(handler)
    said = recorded.find(handler.name, args)
    if effect.action is not Action.READ:
        written = answer_write(effect, args, memory)
        if said is not None:
            return said
        return {"deleted": True, "id": written.key} if written.record is None else written.record
    known = memory.find(effect.entity, key_of(effect, args))
    if isinstance(known, Deleted):
        return {"found": False, "id": known.key}
    # What was recorded of a record says nothing any more once the record was made anew here.
    outdated = said is None or isinstance(known, Stored)
    below = _example(handler, effect, args) if outdated else said
    if known is None:
        return below
    return {**(below if isinstance(below, dict) else {}), **known.record}


def _example(handler: HandlerSnapshot, effect: HandlerEffect, args: Mapping[str, Json]) -> dict[str, Json]:
    """Make up a record from the example body, or else from the schema; the call's arguments go on top."""
    body = object_or_none(handler.body) if isinstance(handler.body, str) else handler.body
    shape = body if isinstance(body, dict) else _from_schema(handler.parameters_schema or {}, depth=0)
    made = {**(shape if isinstance(shape, dict) else {}), **args}
    key = key_of(effect, made)
    return {**made, "id": key} if key is not None and "id" not in made else made


def _from_schema(schema: Mapping[str, Json], *, depth: int) -> Json:
    for name in ("example", "default", "const"):
        if name in schema:
            return schema[name]
    for name in ("examples", "enum"):
        if isinstance(schema.get(name), list) and schema[name]:
            return schema[name][0]
    properties = schema.get("properties")
    if isinstance(properties, dict) and depth < _DEPTH:
        return {
            name: _from_schema(inner, depth=depth + 1)
            for name, inner in properties.items()
            if isinstance(inner, dict)
        }
    kind = schema.get("type")
    return _OF_TYPE.get(kind) if isinstance(kind, str) else None


def _named(name: str, args: Json) -> tuple[str, bytes]:
    return name, orjson.dumps(args or {}, option=orjson.OPT_SORT_KEYS)
