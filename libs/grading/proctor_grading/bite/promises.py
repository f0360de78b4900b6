"""Promises turned round: what is done, will be done or can be done is not, and the other way round."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

__all__ = ["reverse_promises"]

_UK_MODAL = (
    "можу|можемо|можете|можна|може|зможу|зможемо|зможете|вдалося|вдасться|"
    "допоможу|допоможемо|перевірю|перевіримо|зроблю|зробимо|зробив|зробила|зробили|зроблено"
)
_UK_STEM = (
    "поверн|створ|оформ|скас|надісл|надішл|відправ|перевір|перевед|перевел|переда|змін|онов|віднов|підтверд|"
    "зарахов|зараху|дода|видал|забронюв|заброню|запиш|записа|відшкод|компенс|доставл|отрима|опрацю|оброб|"
    "викона|розгля|активу|увімкн|вимкн|підключ|списа|приймаємо|прийн"
)
_UK_END = "у|ю|ємо|емо|имо|їмо|мо|в|ла|ли|но|на|то|ить|їть|ять|ють|уть|ете|єте|ите|ься"
_UK_NOUN = r"\w*(?:ння|нню|нням|ці[яїюй]\w*|к[уаиоі]|ок|увач\w*)\b"
_RU_MODAL = (
    "могу|можем|можете|можно|может|смогу|сможем|сможете|удалось|удастся|помогу|поможем|"
    "сделаю|сделаем|сделал|сделала|сделали|сделано"
)
_RU_STEM = (
    "верн|созда|оформ|отмен|отправ|провер|перевед|перевел|переда|измен|обнов|восстанов|подтверд|зачисл|спис|спиш|"
    "добав|удал|заброн|запиш|записа|достав|получ|обработ|выполн|рассмотр|включ|отключ|подключ|возмест|прин"
)
_RU_END = "у|ю|ем|ём|им|ет|ит|ут|ют|ят|л|ла|ли|но|на|ны|ено|ены|ете|ите|ся"
_RU_NOUN = r"\w*(?:ни[еяюй]\w*|ци[яию]\w*|к[уаиое]|ок)\b"
_PT = (
    "vamos|vou|iremos|irei|podemos|posso|pode|poderá|será|serão|foi|foram|conseguimos|consigo|devolvemos|"
    "devolveremos|enviamos|enviaremos|criamos|cancelamos|cancelaremos|verificamos|reembolsaremos|reembolsamos"
)


_WILL_BE = "буде|будемо|будуть|будет|будем|будут"


def _slavic(modal: str, stem: str, end: str, noun: str, impossible: Mapping[str, str]) -> re.Pattern[str]:
    done = rf"(?!{noun})(?:{stem})\w{{0,6}}?(?:{end})\b"
    verb = rf"(?:{_WILL_BE})\b(?:\s+{done})?|(?:{modal})\b|{done}"
    words = "|".join(impossible)
    return re.compile(rf"\b(?P<word>{words})\b|\b(?P<no>не\s+)?(?P<verb>\b(?:{verb}))", re.IGNORECASE)


_UK_WORDS = {"неможливо": "можливо"}
_RU_WORDS = {"невозможно": "возможно", "нельзя": "можно"}
_EN_WORDS = {
    "won't": "will",
    "can't": "can",
    "cannot": "can",
    "can not": "can",
    "unable to": "able to",
    "not possible": "possible",
    "impossible": "possible",
}
_EN_PARTICIPLE = (
    r"(?:\w{2,}ed|been|sent|made|done|paid|put|set|found|given|taken|written|shown|known|kept|begun)"
)
_EN_HELPS = (
    rf"will|'ll|can|could|(?:is|are|was|were)(?=(?:\s+(?:already|now|just))?\s+(?:not\s+)?{_EN_PARTICIPLE}\b)"
    rf"|(?:have|has|had|'ve)(?=(?:\s+(?:already|now|just))?\s+(?:not\s+)?{_EN_PARTICIPLE}\b)"
)
_PATTERNS: Mapping[str, tuple[re.Pattern[str], Mapping[str, str]]] = {
    "uk": (_slavic(_UK_MODAL, _UK_STEM, _UK_END, _UK_NOUN, _UK_WORDS), _UK_WORDS),
    "ru": (_slavic(_RU_MODAL, _RU_STEM, _RU_END, _RU_NOUN, _RU_WORDS), _RU_WORDS),
    "pt": (
        re.compile(rf"(?P<word>\bimpossível\b)|(?P<no>\bnão\s+)?(?P<verb>\b(?:{_PT})\b)", re.IGNORECASE),
        {"impossível": "possível"},
    ),
}
_NOT = {"uk": "не", "ru": "не", "pt": "não"}
_ENGLISH = re.compile(
    rf"\b(?P<word>{'|'.join(_EN_WORDS)})\b"
    r"|\b(?P<short>could|is|are|was|were|have|has|had|do|does|did)n't\b"
    rf"|(?P<helps>(?:\b|(?<=\w)(?='))(?:{_EN_HELPS})(?!\w))(?P<no>\s+not\b)?",
    re.IGNORECASE,
)
_LONG = {"'ll": " will", "'ve": " have"}


def reverse_promises(text: str, language: str) -> str | None:
    """Turn every promise and every refusal of a text round; None where none is recognised."""
    if language == "en":
        reversed_ = _ENGLISH.sub(_english, _straight(text))
        return None if reversed_ == _straight(text) else reversed_
    if language not in _PATTERNS:
        return None
    pattern, words = _PATTERNS[language]
    reversed_ = pattern.sub(_toggled(words, _NOT[language]), text)
    return None if reversed_ == text else reversed_


def _straight(text: str) -> str:
    return text.replace("\u2019", "'")


def _toggled(words: Mapping[str, str], no: str) -> Callable[[re.Match[str]], str]:
    def toggled(match: re.Match[str]) -> str:
        if word := match["word"]:
            return _cased(words[word.lower()], word)
        verb = match["verb"]
        if match["no"]:
            return _cased(verb, match["no"])
        return _cased(f"{no} {verb[0].lower()}{verb[1:]}", verb)

    return toggled


def _english(match: re.Match[str]) -> str:
    if word := match["word"]:
        return _cased(_EN_WORDS[word.lower()], word)
    if short := match["short"]:
        return short
    helps = match["helps"]
    if match["no"]:
        return _LONG.get(helps.lower(), helps)
    return f"{_LONG.get(helps.lower(), helps)} not"


def _cased(text: str, like: str) -> str:
    return text[0].upper() + text[1:] if like[0].isupper() else text
