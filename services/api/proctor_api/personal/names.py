"""Names of people: told by the metadata of a conversation, found in its text in every grammatical case."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

__all__ = ["name_pattern", "names_in", "plain_key"]

_MOST_NAMES = 40
_LONGEST_VALUE = 200
_KEYS = frozenset(
    {
        "firstname", "lastname", "fullname", "middlename", "surname", "patronymic", "displayname", "username",
        "customername", "clientname", "contactname", "patientname", "guestname", "givenname", "familyname",
        "імя", "прізвище", "піб", "побатькові", "імяклієнта", "фіо", "имя", "фамилия", "отчество", "фио",
        "имяклиента",
    }
)  # fmt: skip
_PEOPLE = frozenset(
    {
        "user", "customer", "client", "contact", "person", "profile", "buyer", "guest", "patient", "caller",
        "sender", "recipient", "користувач", "клієнт", "контакт", "покупець", "отримувач", "пользователь",
        "клиент",
    }
)  # fmt: skip
_NOBODY = frozenset(
    {
        "user", "client", "customer", "guest", "anonymous", "unknown", "test", "tester", "admin", "operator",
        "manager", "none", "null", "користувач", "клієнт", "гість", "анонім", "невідомо", "невідомий", "тест",
        "адмін", "оператор", "менеджер", "пользователь", "клиент", "гость", "аноним", "неизвестно",
    }
)  # fmt: skip
_WORD = re.compile(r"[^\W\d_]+(?:['’ʼ`][^\W\d_]+)*")
_APOSTROPHE = re.compile("['’ʼ`]")
_CYRILLIC = re.compile(r"[\u0400-\u04ff'’ʼ`]+")
_ENDINGS = (
    "ового|єві|еві|ові|ого|ому|ими|ами|ями|ій|ий|ый|ой|ей|ою|ею|єю|ем|єм|ом|им|ым|ім|ої|их|ых|ам|ям|ах|ях"
    "|а|я|у|ю|і|ї|и|ы|е|є|о|й|ь"
)
_FALLS_AWAY = "аяоеєіїийьуюыё"
_CHANGES = {"г": "[гз]", "к": "[кц]", "х": "[хс]"}


def plain_key(key: str) -> str:
    """A JSON key without case, underscores and punctuation."""
    return re.sub(r"[\W_]", "", key).casefold()


def names_in(metadata: dict[str, Any]) -> tuple[str, ...]:
    """The words of people's names in a metadata document, in their order; each once."""
    found: dict[str, None] = {}
    for value in _values(metadata):
        for word in _WORD.findall(value):
            if len(word) > 1 and word.casefold() not in _NOBODY:
                found.setdefault(word, None)
    return tuple(found)[:_MOST_NAMES]


def name_pattern(name: str) -> re.Pattern[str]:
    """Find a name as it is in any letter case, and inflected where it begins with a capital letter."""
    exact = f"(?i:{_spelled(name)})"
    inflected = _inflected(name) if _CYRILLIC.fullmatch(name) else None
    either = exact if inflected is None else f"(?:{exact}|{inflected})"
    return re.compile(rf"(?<![^\W\d_]){either}(?![^\W\d_])")


def _values(metadata: dict[str, Any]) -> Iterator[str]:
    waiting: list[tuple[str | None, Any]] = [(None, metadata)]
    while waiting:
        parent, value = waiting.pop(0)
        if isinstance(value, list):
            waiting.extend((parent, item) for item in value)
        if not isinstance(value, dict):
            continue
        for key, item in value.items():
            plain = plain_key(key)
            named = plain in _KEYS or (plain == "name" and (parent is None or parent in _PEOPLE))
            # A user who is only a text is an id as often as a name; ids are kept.
            if named and isinstance(item, str) and len(item) <= _LONGEST_VALUE:
                yield item
            waiting.append((plain, item))


def _inflected(name: str) -> str | None:
    stems = {name}
    if name[-1].casefold() in _FALLS_AWAY:
        stems = {name[:-1]}
        if name[-2].casefold() in _FALLS_AWAY and name[-1].casefold() in "йя":
            stems.add(name[:-2])
    stems = {stem for stem in stems if len(stem) > 1}
    if not stems:
        return None
    longest_first = sorted(stems, key=lambda stem: (-len(stem), stem))
    return f"(?:{'|'.join(map(_stem, longest_first))})(?i:{_ENDINGS})?"


def _stem(stem: str) -> str:
    last = _CHANGES.get(stem[-1].casefold())
    rest = _spelled(stem[1:]) if last is None else _spelled(stem[1:-1]) + last
    return f"{re.escape(stem[0].upper())}(?i:{rest})"


def _spelled(text: str) -> str:
    return _APOSTROPHE.sub("['’ʼ`]", re.escape(text))
