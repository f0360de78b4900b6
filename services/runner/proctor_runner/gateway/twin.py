"""The webhook twin: answers in a handler's place and remembers what was written; no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from proctor_contracts.base import Json
from proctor_contracts.effects import Action, HandlerEffect

from .effects import key_of

__all__ = ["DRY_RUN", "Deleted", "Memory", "Patched", "Stored", "Written", "answer_read", "answer_write"]

DRY_RUN = "dryRun"
_ANY = ""
"""The key of what was written without naming a record."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A record that was created here, so all of it is known."""

    key: str
    record: dict[str, Json]


@dataclass(frozen=True, slots=True)
class Patched:
    """A record that was changed here and exists elsewhere: only the changes are known."""

    key: str
    record: dict[str, Json]


@dataclass(frozen=True, slots=True)
class Deleted:
    """A record that was deleted here; elsewhere it may still exist."""

    key: str


Known = Stored | Patched | Deleted


class Memory:
    """What one conversation wrote, by entity and key, oldest change first."""

    def __init__(self) -> None:
        self._records: dict[str, dict[str, Known]] = {}
        self._created: dict[str, int] = {}

    def find(self, entity: str, key: str | None) -> Known | None:
        """Give what is known of a record; without a key, of the one that was changed last."""
        records = self._records.get(entity)
        if not records:
            return None
        return records[next(reversed(records))] if key is None else records.get(key)

    def keep(self, entity: str, known: Known) -> None:
        """Remember a record as the latest of its entity."""
        records = self._records.setdefault(entity, {})
        records.pop(known.key, None)
        records[known.key] = known

    def new_key(self, entity: str) -> str:
        """Name a record that came without a key."""
        self._created[entity] = number = self._created.get(entity, 0) + 1
        return f"dry-{entity}-{number}"


@dataclass(frozen=True, slots=True)
class Written:
    """A write that was only remembered: what the caller is told, and the record after it (None: gone)."""

    key: str | None
    record: dict[str, Json] | None
    answer: dict[str, Json]


def answer_write(effect: HandlerEffect, args: Mapping[str, Json], memory: Memory) -> Written:
    """Remember a write and answer it as a handler would, marked `dryRun`."""
    key = key_of(effect, args)
    entity = effect.entity
    known = memory.find(entity, key)
    match effect.action:
        case Action.CREATE:
            key = key or memory.new_key(entity)
            record = {**args, "id": key if args.get("id") is None else args["id"]}
            memory.keep(entity, Stored(key, record))
        case Action.UPDATE:
            key = key or (known.key if known is not None else _ANY)
            before = {} if known is None or isinstance(known, Deleted) else known.record
            record = {**before, **args}
            if key and record.get("id") is None:
                record["id"] = key
            memory.keep(entity, Stored(key, record) if isinstance(known, Stored) else Patched(key, record))
        case Action.DELETE:
            key = key or (known.key if known is not None else _ANY)
            memory.keep(entity, Deleted(key))
            return Written(key or None, None, _marked({**args, "deleted": True}))
        case Action.READ:
            raise ValueError(f"{entity}: a read writes nothing")
        case _:
            assert_never(effect.action)
    return Written(key or None, record, _marked(record))


def answer_read(known: Known, *, real: Json = None) -> dict[str, Json]:
    """Answer a read of a record that this conversation wrote; changes are laid over what is really there."""
    match known:
        case Stored(record=record):
            return _marked(record)
        case Patched(record=record):
            return _marked({**real, **record} if isinstance(real, dict) else record)
        case Deleted(key=key):
            return _marked({"found": False, "deleted": True, **({"id": key} if key else {})})
        case _:
            assert_never(known)


def _marked(record: Mapping[str, Json]) -> dict[str, Json]:
    """Say first that this is a dry run, whatever an argument of that name says."""
    return {DRY_RUN: True, **record} | {DRY_RUN: True}
