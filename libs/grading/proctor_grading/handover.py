"""How a bot hands a conversation over to people: by a tool's name, or in Ukrainian, Russian or English."""

from __future__ import annotations

import re
from itertools import pairwise

from .text import fold

__all__ = ["hands_over", "is_handover_tool"]

_TOKENS = re.compile(r"[^\W\d_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_READS = frozenset({"get", "list", "find", "search", "lookup", "fetch", "check", "read", "show", "status"})
_PEOPLE = re.compile(
    r"(?:human|operator|manager|supervisor|handoff|handover)s?|escalat.*"
    r"|(?:оператор|менеджер|людин|человек|ескалац|эскалац).*"
)
_PAIRS = frozenset({"hand off", "hand over", "live agent", "live chat", "to agent", "to support"})


def is_handover_tool(name: str) -> bool:
    """Whether a tool's name says that it brings in people; one that only reads does not."""
    tokens = [token.casefold() for token in _TOKENS.findall(_CAMEL.sub(" ", name))]
    if not tokens or tokens[0] in _READS:
        return False
    pairs = {" ".join(pair) for pair in pairwise(tokens)}
    return any(map(_PEOPLE.fullmatch, tokens)) or not _PAIRS.isdisjoint(pairs)


_WHO = (
    r"менеджер|оператор|спеціаліст|фахівц|фахівец|консультант|адміністратор|колег|людин|підтримк|відділ"
    r"|специалист|администратор|коллег|человек|поддержк|отдел"
    r"|manager|operator|specialist|representative|colleague|supervisor|human|support|agent\b|team\b|person\b"
)
_GIVES = (
    r"переда[юємтсвли]|переведу|переводж|перевести|переключ|перемика|з'єдна|підключ|поклич|залуч|скеров"
    r"|скеру|спрям|перенаправ|ескал|направля|направлю"
    r"|перевожу|соедин|подключ|позов|эскал"
    r"|transfer(?:red|ring)?\b|connect(?:ed|ing)?\b|escalat|forward(?:ed|ing)?\b|rout(?:e|ed|ing)\b"
    r"|hand(?:ed|ing)?\b.{0,30}\bo(?:ver|ff)\b|put(?:ting)?\b.{0,15}\bthrough|referr?(?:ed|ing)?\b"
    r"|pass(?:ed|ing)? (?:you|it|this|your|the)\b|(?:bring(?:ing)?|loop(?:ed|ing)?)\b.{0,10}\bin\b"
)
_COMES = (
    r"зв'яж|передзвон|зателефону|відповість|напише|підключи|долучи|допоможе|розгляне|перевірить"
    r"|свяж|перезвон|позвон|ответит|напишет|подключит|поможет|рассмотрит"
    r"|will (?:contact|call|reach|reply|respond|join|help|get back|be with|take over|look into|assist)"
    r"|is (?:joining|going to)"
)
_NOT = r"(?<!не )(?<!not )(?<!n't )(?<!cannot )(?<!can't )(?<!unable to )"
_GAP = r"[^.!?\n]{0,60}"
_HANDS_OVER = re.compile(rf"{_NOT}\b(?:{_GIVES}){_GAP}\b(?:{_WHO})|\b(?:{_WHO}){_GAP}{_NOT}\b(?:{_COMES})")
_REFUSES = re.compile(
    r"не (?:можу|можемо|маю|вмію|вдаст|вдалос|зможу|могу|можем|получ|смог|удал|буду)[^.!?\n]{0,25}$"
    r"|(?:can't|cannot|can not|unable to|couldn't|won't|not able to)[^.!?\n]{0,25}$"
)


def hands_over(text: str) -> bool:
    """Whether a message hands over to people, now or by an offer; one that says it cannot does not."""
    folded = fold(text, case_insensitive=True).replace("\u2019", "'").replace("\u02bc", "'")
    return any(
        _REFUSES.search(folded[max(0, hit.start() - 60) : hit.start()]) is None
        for hit in _HANDS_OVER.finditer(folded)
    )
