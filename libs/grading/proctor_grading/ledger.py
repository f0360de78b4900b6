"""The `state` check: what the conversation wrote, whatever the way to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from proctor_contracts.base import Json
from proctor_contracts.effects import Action, Effect
from proctor_contracts.matchers import MatcherForm, read_matcher
from proctor_contracts.tool_assertions import ArgsMatch, State, WrittenEntity

from .calls import times
from .canonical import canonical_json
from .context import GradingContext, RegexEngine
from .conversation import Conversation
from .findings import Finding, failed, no_agent_message, passed, unresolved
from .matching import Answer, Undecided, all_of, any_of, described, meets, mismatches, settled
from .text import excerpt, nfc

__all__ = ["check_state"]

_SHOWN = 8
_LISTED = 50
_MESSAGES = 4


def check_state(check: State, conversation: Conversation, context: GradingContext) -> Finding:
    """Every expectation counts as many writes as it should, and where asked no write is left over.

    Writes that failed changed nothing and do not count; one write may answer several expectations.
    """
    wanted = tuple(_Wanted(item) for item in check.expect)
    expected = _expectation(check, wanted)
    if context.effects is None:
        reason = "this run keeps no ledger of writes; only the gateway runner does"
        return unresolved("no_effect_ledger", reason, expected=expected)
    if conversation.silent:
        return no_agent_message(expected)
    writes = [one for one in context.effects if not one.failed and one.action is not Action.READ]
    fits = [[item.fits(one, context.regex) for one in writes] for item in wanted]
    counted = [item.counts(row, context.regex) for item, row in zip(wanted, fits, strict=True)]
    claimed: list[Answer] = [any_of(row[index] for row in fits) for index in range(len(writes))]
    answers = [*counted, *claimed] if check.no_other_writes else counted
    match all_of(answers):
        case True:
            return passed(details=_details(writes, fits))
        case Undecided(code=code, reason=reason):
            return unresolved(code, f"where: {reason}", expected=expected, seen=_shown(writes))
        case _:
            pass
    missed = [index for index, answer in enumerate(counted) if answer is False]
    others = [one for one, answer in zip(writes, claimed, strict=True) if answer is False]
    messages = [wanted[index].told(writes, fits[index], context.regex) for index in missed]
    if check.no_other_writes and others:
        messages.append(f"not expected: {_shown(others)}")
    guilty = others if not missed else [one for one, fit in zip(writes, fits[missed[0]], strict=True) if fit]
    return failed(
        "state_differs" if missed else "unexpected_write",
        "; ".join(messages[:_MESSAGES]),
        expected=expected,
        seen=_shown(writes),
        at=_entry(conversation, guilty[-1]) if guilty else None,
        details=_details(writes, fits),
    )


@dataclass(frozen=True)
class _Wanted:
    """One expectation with its matchers read."""

    item: WrittenEntity

    @cached_property
    def where(self) -> Mapping[str, MatcherForm]:
        return {path: read_matcher(matcher) for path, matcher in self.item.where.items()}

    @cached_property
    def count(self) -> MatcherForm:
        return read_matcher(self.item.count)

    @property
    def name(self) -> str:
        verb = "write" if self.item.action is None else self.item.action.value
        fields = ", ".join(f"{path}: {described(matcher)}" for path, matcher in self.where.items())
        return f"{verb} of {self.item.entity}" + (f" with {fields}" if fields else "")

    def same_entity(self, effect: Effect) -> bool:
        same = nfc(effect.entity).casefold() == nfc(self.item.entity).casefold()
        return same and self.item.action in {None, effect.action}

    def fits(self, effect: Effect, regex: RegexEngine) -> Answer:
        if not self.same_entity(effect):
            return False
        return settled(mismatches(self.where, _record(effect), match=ArgsMatch.CONTAINS, regex=regex))

    def counts(self, fits: Sequence[Answer], regex: RegexEngine) -> Answer:
        sure = sum(fit is True for fit in fits)
        most = sum(fit is not False for fit in fits)
        answers = {meets(self.count, number, regex) for number in range(sure, most + 1)}
        if len(answers) == 1:
            return answers.pop()
        return next(fit for fit in fits if isinstance(fit, Undecided))

    def told(self, writes: Sequence[Effect], fits: Sequence[Answer], regex: RegexEngine) -> str:
        """Say how often it was written, and if never, what the nearest write lacks."""
        count = sum(fit is True for fit in fits)
        made = f"made {times(count)}" if count else "never made"
        text = f"{self.name}: {made}, expected {described(self.count)}"
        near = [
            (one, list(mismatches(self.where, _record(one), match=ArgsMatch.CONTAINS, regex=regex)))
            for one in writes
            if self.same_entity(one)
        ]
        if count or not near:
            return text
        nearest, lacks = min(near, key=lambda one: len(one[1]))
        return f"{text} (call {nearest.call}: {'; '.join(one.told for one in lacks[:3])})"


def _record(effect: Effect) -> dict[str, Json]:
    """What `where` reads: the key, the call's arguments, and over them the record after the write."""
    record = effect.record if isinstance(effect.record, dict) else {}
    key = {} if effect.key is None else {"key": effect.key}
    return {**key, **effect.data, **record}


def _entry(conversation: Conversation, effect: Effect) -> int | None:
    """Find the entry whose call made a write; calls count from 1."""
    entries = [
        index for index, entry in enumerate(conversation.entries) if entry.graded for _ in entry.tool_calls
    ]
    return entries[effect.call - 1] if 0 < effect.call <= len(entries) else None


def _told(effect: Effect) -> str:
    key = "" if effect.key is None else f" {effect.key}"
    data = excerpt(canonical_json(effect.data), limit=80)
    return f"{effect.action} {effect.entity}{key} {data} (call {effect.call})"


def _shown(writes: Sequence[Effect]) -> str:
    if not writes:
        return "no writes"
    told = "; ".join(map(_told, writes[:_SHOWN]))
    return f"{told}; and {len(writes) - _SHOWN} more" if len(writes) > _SHOWN else told


def _details(writes: Sequence[Effect], fits: Sequence[Sequence[Answer]]) -> dict[str, Json]:
    return {
        "writes": [excerpt(_told(one), limit=160) for one in writes[:_LISTED]],
        "counts": [sum(fit is True for fit in row) for row in fits],
    }


def _expectation(check: State, wanted: Sequence[_Wanted]) -> str:
    parts = [f"{item.name}: {described(item.count)}" for item in wanted]
    if check.no_other_writes:
        parts.append("no other writes" if parts else "no writes")
    return "; ".join(parts)
