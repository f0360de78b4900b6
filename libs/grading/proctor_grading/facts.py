"""The `grounded_facts` check: what the agent states must stand in what it was told."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import assert_never

from proctor_contracts.assertions import GroundedFacts
from proctor_contracts.base import Json
from proctor_contracts.enums import Role

from .canonical import js_number
from .conversation import SCOPE_NAMES, Conversation, Message
from .extraction import Fact, FactKind, facts_in
from .findings import Finding, failed, no_agent_message, not_applicable, passed
from .text import excerpt, quoted

__all__ = ["check_grounded_facts", "ungrounded"]

_PHONE_DIGITS = 9
_DAY_LENGTH = len("05-13")
_DAY_MONTH = re.compile(r"(0[1-9]|[12]\d|3[01])\.(0[1-9]|1[0-2])")
_SHOWN = 8


def check_grounded_facts(check: GroundedFacts, conversation: Conversation) -> Finding:
    """Enough facts of the scope stand in user messages, tool results, scripted history or `facts`."""
    share_wanted = "all" if check.threshold == 1 else f"at least {check.threshold * 100:g} %"
    expected = f"{share_wanted} of the facts in {SCOPE_NAMES[check.scope]} grounded"
    messages = conversation.messages(check.scope)
    if not messages:
        return no_agent_message(expected)
    stated, loose = ungrounded(messages, conversation, given=check.facts)
    if not stated:
        return not_applicable("no_facts", "the answers state no number, date, link or id")
    share = Fraction(len(stated) - len(loose), len(stated))
    if share >= Fraction(str(check.threshold)):
        return passed(score=float(share), details=_details(stated, loose))
    message, fact = loose[0]
    named = ", ".join(dict.fromkeys(quoted(fact.text, 40) for _, fact in loose[:_SHOWN]))
    return failed(
        "ungrounded_facts",
        f"{len(loose)} of {len(stated)} facts come from nowhere: {named}",
        expected=expected,
        seen=excerpt(message.text, fact.start),
        at=message.entry,
        score=float(share),
        details=_details(stated, loose),
    )


def ungrounded(
    messages: Sequence[Message], conversation: Conversation, *, given: Sequence[str] = ()
) -> tuple[list[tuple[Message, Fact]], list[tuple[Message, Fact]]]:
    """Return the facts that messages state, and those of them that the agent was never told."""
    stated = [(message, fact) for message in messages for fact in facts_in(message.text)]
    if not stated:
        return [], []
    evidence = _Evidence()
    for text in _sources(given, conversation):
        evidence.add(text)
    return stated, [(message, fact) for message, fact in stated if not evidence.supports(fact)]


def _details(stated: list[tuple[Message, Fact]], loose: list[tuple[Message, Fact]]) -> dict[str, Json]:
    return {"facts": len(stated), "ungrounded": [excerpt(fact.text, limit=80) for _, fact in loose[:50]]}


def _sources(given: Sequence[str], conversation: Conversation) -> Iterator[str]:
    yield from given
    for entry in conversation.entries:
        if entry.role is Role.TESTER or (entry.role is Role.AGENT and not entry.graded):
            yield entry.content
    for call in conversation.calls:
        yield from _leaves(call.record.result)


def _leaves(value: Json) -> Iterator[str]:
    """The texts and numbers of a tool result; keys say nothing."""
    match value:
        case None | bool():
            return
        case str():
            yield value
        case int():
            yield str(value)
        case float():
            yield js_number(value)
        case dict():
            for item in value.values():
                yield from _leaves(item)
        case list():
            for item in value:
                yield from _leaves(item)
        case _:
            yield str(value)


@dataclass(slots=True)
class _Evidence:
    """Normalised values of everything the agent was told."""

    values: dict[FactKind, set[str]] = field(default_factory=lambda: {kind: set() for kind in FactKind})
    money: set[tuple[str, str | None]] = field(default_factory=set)
    days: set[str] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)

    def add(self, text: str) -> None:
        numbers = self.values[FactKind.NUMBER]
        for fact in facts_in(text, small=True):
            self.values[fact.kind].update(fact.values)
            match fact.kind:
                case FactKind.MONEY:
                    self.money.update((value, fact.currency) for value in fact.values)
                case FactKind.DATE:
                    self.days.update(value[-5:] for value in fact.values)
                    numbers.update(value[:-6] for value in fact.values if len(value) > _DAY_LENGTH)
                case FactKind.NUMBER:
                    self.days.update(_day(fact.text))
                case FactKind.TIME:
                    # Who was told 09:00-18:00 may say "from 9 to 18".
                    numbers.update(str(int(value[:2])) for value in fact.values if value.endswith(":00"))
                case FactKind.URL:
                    self.hosts.update(value.partition("/")[0] for value in fact.values)
                case FactKind.EMAIL:
                    self.hosts.update(value.partition("@")[2] for value in fact.values)
                case _:
                    pass

    def supports(self, fact: Fact) -> bool:
        return any(self._supports(fact, value) for value in fact.values)

    def _supports(self, fact: Fact, value: str) -> bool:  # noqa: PLR0911 - one line per kind
        values = self.values
        match fact.kind:
            case FactKind.URL if value in self.hosts:
                return True
            case FactKind.URL | FactKind.EMAIL | FactKind.TIME:
                return value in values[fact.kind]
            case FactKind.DATE:
                # A date said without its year is supported by that day of any year, and the other way round.
                short = value[-5:]
                dates = values[FactKind.DATE]
                return value in dates or short in (self.days if value == short else dates)
            case FactKind.PHONE:
                told = values[FactKind.PHONE] | values[FactKind.NUMBER]
                return any(_same_phone(value, other) for other in told)
            case FactKind.ID:
                return value in values[FactKind.ID] or value in values[FactKind.NUMBER]
            case FactKind.MONEY:
                return (value, fact.currency) in self.money or value in values[FactKind.NUMBER]
            case FactKind.PERCENT:
                return value in values[FactKind.PERCENT] or value in values[FactKind.NUMBER]
            case FactKind.NUMBER:
                kinds = (FactKind.NUMBER, FactKind.MONEY, FactKind.PERCENT, FactKind.ID)
                told = values[FactKind.PHONE]
                return (
                    any(value in values[kind] for kind in kinds)
                    or any(_same_phone(value, other) for other in told)
                    or not self.days.isdisjoint(_day(fact.text))
                )
            case _:
                assert_never(fact.kind)


def _day(text: str) -> tuple[str, ...]:
    """Read 13.05 as a day as well as a number; nothing when it cannot be one."""
    found = _DAY_MONTH.fullmatch(text)
    return () if found is None else (f"{found[2]}-{found[1]}",)


def _same_phone(one: str, other: str) -> bool:
    """Compare by the last nine digits, so that a country code may be left out."""
    return len(one) >= _PHONE_DIGITS and one[-_PHONE_DIGITS:] == other[-_PHONE_DIGITS:]
