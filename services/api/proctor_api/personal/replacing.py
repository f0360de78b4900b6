"""Replacing personal data: the same datum gets the same placeholder throughout one conversation."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import partial
from typing import Any

from proctor_grading.jsontext import JsonText, parse

from .names import name_pattern, names_in, plain_key
from .patterns import PATTERNS, Kind, Pattern, number_kind

__all__ = ["Replacing"]

_HINTS = {
    Kind.PHONE: "phone phonenumber tel telephone mobile mobilephone msisdn телефон номертелефону мобільний",
    Kind.EMAIL: "email emailaddress mail електроннапошта пошта имейл",
    Kind.CARD: "card cardnumber pan номеркартки картка",
    Kind.IPN: "ipn inn tin taxid rnokpp іпн інн рнокпп инн",
}
_HINTED = {key: kind for kind, keys in _HINTS.items() for key in keys.split()}
_MOST_DEEP = 100


class Replacing:
    """Replaces what it finds by `[kind-number]`, counted from 1 in the order of first meeting.

    Names are those that `metadata` gives the people of the conversation.
    """

    def __init__(self, metadata: dict[str, Any] | None) -> None:
        self._given: dict[tuple[Kind, str], str] = {}
        self._counts: Counter[Kind] = Counter()
        self._names = [(name, name_pattern(name)) for name in names_in(metadata or {})]

    @property
    def counts(self) -> dict[str, int]:
        """How many different data of each kind were replaced so far."""
        return {kind.value: count for kind, count in self._counts.items()}

    def text(self, text: str) -> str:
        """Replace what stands in a text."""
        if any(one.isdecimal() or one == "@" for one in text):
            for pattern in PATTERNS:
                text = pattern.regex.sub(partial(self._found, pattern), text)
        for name, spelled in self._names:
            if spelled.search(text):
                text = spelled.sub(self._placeholder(Kind.NAME, name.casefold()), text)
        return text

    def json(self, value: Any, *, key: str = "", depth: int = 0) -> Any:
        """Replace what stands in a JSON value, its keys included; `key` is what the value is called."""
        match value:
            case int() if not isinstance(value, bool):
                return self._number(value, key)
            case str():
                return self._called(self.text(value), value, key)
            case dict() | list() | tuple() if depth > _MOST_DEEP:
                return None
            case dict():
                return {
                    self.text(name): self.json(item, key=name, depth=depth + 1)
                    for name, item in value.items()
                }
            case list() | tuple():
                return [self.json(item, key=key, depth=depth + 1) for item in value]
            case _:
                return value

    def entry(self, entry: dict[str, Any]) -> dict[str, Any]:
        """Replace what was said and called in one transcript entry, in its wire form."""
        changed = {**entry, "content": self.text(entry["content"])}
        if calls := entry.get("toolCalls"):
            changed["toolCalls"] = [self._call(call) for call in calls]
        return changed

    def _call(self, call: dict[str, Any]) -> dict[str, Any]:
        changed = dict(call)
        for name in ("args", "result"):
            if name in call:
                changed[name] = self.json(call[name])
        if isinstance(call.get("argsRaw"), str):
            changed["argsRaw"] = self._written(call["argsRaw"])
        if isinstance(call.get("error"), str):
            changed["error"] = self.text(call["error"])
        return changed

    def _written(self, text: str) -> str:
        """Replace inside JSON as text: escapes would hide from a search what stands there."""
        try:
            value = parse(text)
        except JsonText:
            return self.text(text)
        changed = self.json(value)
        return text if changed == value else json.dumps(changed, ensure_ascii=False)

    def _number(self, value: int, key: str) -> Any:
        kind = _HINTED.get(plain_key(key)) or number_kind(value)
        if kind is None or kind is Kind.EMAIL:
            return value
        return self._placeholder(kind, _same(kind, str(value)))

    def _called(self, text: str, before: str, key: str) -> str:
        kind = _HINTED.get(plain_key(key))
        telling = any(one.isdecimal() or one == "@" for one in before)
        if kind is None or text != before or not telling:
            return text
        return self._placeholder(kind, _same(kind, before))

    def _found(self, by: Pattern, found: re.Match[str]) -> str:
        whole = found[0]
        datum = found["it"] if "it" in found.re.groupindex else whole
        if not by.proves(datum):
            return whole
        return whole.replace(datum, self._placeholder(by.kind, by.canonical(datum)))

    def _placeholder(self, kind: Kind, same: str) -> str:
        known = self._given.get((kind, same))
        if known is None:
            self._counts[kind] += 1
            known = self._given[kind, same] = f"[{kind}-{self._counts[kind]}]"
        return known


def _same(kind: Kind, text: str) -> str:
    """The form in which a datum that only its key gives away is equal to the one that a pattern finds."""
    canonical = next(pattern.canonical for pattern in PATTERNS if pattern.kind is kind)
    return canonical(text) or text
