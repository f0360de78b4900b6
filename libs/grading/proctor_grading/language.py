"""The `lang` check: Ukrainian, Russian and English by their letters, other languages by a detector."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from proctor_contracts.assertions import Lang, LangMode
from proctor_contracts.enums import Scope

from .context import GradingContext, LanguageDetector
from .conversation import SCOPE_NAMES, Conversation, Message
from .findings import Finding, failed, no_agent_message, passed, unresolved
from .text import excerpt, nfc, quoted

__all__ = ["LETTER_LANGUAGES", "Reading", "check_lang", "read_letters"]

LETTER_LANGUAGES = ("uk", "ru", "en")

_ALPHABET = {
    "uk": frozenset("абвгґдеєжзиіїйклмнопрстуфхцчшщьюя"),
    "ru": frozenset("абвгдеёжзийклмнопрстуфхцчшщъыьэюя"),
    "en": frozenset[str](),
}
_SEED_FORBIDDEN = {"uk": frozenset("ёъыэ"), "ru": frozenset("іїєґ")}
_UNIQUE = {"uk": frozenset("іїєґ"), "ru": frozenset("ёъыэ"), "en": frozenset[str]()}
_ENOUGH_CYRILLIC = 80
_SURE = 0.8
_ENOUGH_LETTERS = 6

_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
# Runs of letters are entered at their start only and never given back, and quotes are bounded: an agent that
# repeats itself for a megabyte must not take quadratic time.
_LINK = re.compile(r"\b(?:https?://|www\.)\S+|(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)+", re.IGNORECASE)
_QUOTES = re.compile('«[^»]{0,1000}»|„[^“”]{0,1000}[“”]|“[^”]{0,1000}”|"[^"]{0,1000}"')
_WORD = re.compile("[^\\W\\d_]+(?:['\u2019][^\\W\\d_]+)*")
_CYRILLIC = re.compile("[\u0400-\u0481\u048a-\u052f\u1c80-\u1c8f\ua640-\ua66e\ua680-\ua69d]")
_LATIN = re.compile(
    "[A-Za-z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff\uff21-\uff3a\uff41-\uff5a]"
)


@dataclass(frozen=True, slots=True)
class Reading:
    """What the letters of one message say: True, False with a code, or None when there is nothing to say."""

    fits: bool | None
    code: str | None = None
    reason: str = ""
    strong: bool = False
    letter: str | None = None
    mixed: tuple[str, ...] = ()
    letters: int = 0
    text: str = ""


def check_lang(check: Lang, conversation: Conversation, context: GradingContext) -> Finding:
    """The messages of the scope are in the expected language; messages without letters are left out."""
    expected = f"language {check.expected} in {SCOPE_NAMES[check.scope]}"
    messages = conversation.messages(check.scope)
    if not messages:
        return no_agent_message(expected)
    detector = context.languages
    if check.expected not in LETTER_LANGUAGES and (detector is None or not detector.supports(check.expected)):
        return unresolved(
            "language_unsupported",
            f"{check.expected} cannot be told by its letters and no detector for it is installed",
            expected=expected,
        )
    readings = [(message, _read(check, message.text, detector)) for message in messages]
    told = [(message, reading) for message, reading in readings if reading.fits is not None]
    if not told:
        return failed(
            "no_text",
            "no message holds text whose language can be told",
            expected=expected,
            seen=excerpt(messages[-1].text),
            at=messages[-1].entry,
        )
    wrong = [(message, reading) for message, reading in told if not reading.fits]
    if wrong and (check.scope is not Scope.ANY or len(wrong) == len(told)):
        return _wrong(*wrong[0], expected)
    return _right([pair for pair in told if pair[1].fits])


def read_letters(
    text: str,
    expected: str,
    *,
    mode: LangMode = LangMode.LETTERS,
    ignore: Sequence[str] = (),
    ignore_quotes: bool = False,
    homoglyphs: str = "report",
) -> Reading:
    """Judge one text by its letters; `expected` is one of uk, ru, en.

    Letters are those of the Cyrillic and Latin scripts after NFC. Code, links, e-mail addresses and ignored
    terms are left out first; quoted spans too, if asked.
    """
    text = _cleaned(text, tuple(ignore), ignore_quotes=ignore_quotes)
    words = _WORD.findall(text)
    cyrillic = _CYRILLIC.findall(text)
    latin = len(_LATIN.findall(text))
    if not cyrillic and not latin:
        return Reading(None, text=text)
    reading = Reading(
        fits=True,
        strong=not {letter.lower() for letter in cyrillic}.isdisjoint(_UNIQUE[expected]),
        mixed=tuple(word for word in words if _mixed(word)) if cyrillic and latin else (),
        letters=len(cyrillic) + latin,
        text=text,
    )
    if (letter := _forbidden(expected, cyrillic, mode)) is not None:
        word = next(word for word in words if letter in word)
        reason = f'the letter "{letter}" in {quoted(word)} is not {expected}'
        return replace(reading, fits=False, code="forbidden_letter", reason=reason, letter=letter)
    if mode is LangMode.SEED:
        return reading
    if reading.mixed and homoglyphs == "fail":
        reason = f"{quoted(reading.mixed[0])} mixes Latin and Cyrillic letters"
        return replace(reading, fits=False, code="mixed_script", reason=reason, letter=reading.mixed[0])
    return reading if expected == "en" else _prose(reading, expected, words, len(cyrillic))


def _prose(reading: Reading, expected: str, words: Sequence[str], cyrillic: int) -> Reading:
    """Look for Latin prose, and for long Ukrainian without one Ukrainian letter."""
    small_latin = [word for word in words if _small_latin(word)]
    if not cyrillic:
        if not small_latin:
            return replace(reading, fits=None)
        reason = f"no Cyrillic letter, but the word {quoted(small_latin[0])}"
        return replace(reading, fits=False, code="no_cyrillic", reason=reason, letter=small_latin[0])
    if len(small_latin) > sum(1 for word in words if _CYRILLIC.search(word)):
        reason = f"more Latin than Cyrillic words, such as {quoted(small_latin[0])}"
        return replace(reading, fits=False, code="latin_prose", reason=reason, letter=small_latin[0])
    if expected == "uk" and not reading.strong and cyrillic >= _ENOUGH_CYRILLIC:
        reason = f"{cyrillic} Cyrillic letters and none of {', '.join(sorted(_UNIQUE['uk']))}"
        return replace(reading, fits=False, code="no_unique_letters", reason=reason)
    return reading


def _read(check: Lang, text: str, detector: LanguageDetector | None) -> Reading:
    if check.expected not in LETTER_LANGUAGES:
        assert detector is not None  # noqa: S101 - the caller looked
        return _detected(
            check.expected, _cleaned(text, check.ignore, ignore_quotes=check.ignore_quotes), detector
        )
    reading = read_letters(
        text,
        check.expected,
        mode=check.mode,
        ignore=check.ignore,
        ignore_quotes=check.ignore_quotes,
        homoglyphs=check.homoglyphs,
    )
    unsure = reading.fits and (check.expected == "en" or not reading.strong)
    if check.mode is not LangMode.AUTO or detector is None or not unsure:
        return reading
    guess = _detected(check.expected, reading.text, detector)
    return guess if guess.fits is False else reading


def _detected(expected: str, text: str, detector: LanguageDetector) -> Reading:
    """Ask the detector; it only contradicts when it is sure and the text is long enough."""
    letters = sum(1 for char in text if char.isalpha())
    if letters < _ENOUGH_LETTERS:
        return Reading(None, letters=letters, text=text)
    top, confidence = detector.guess(text)
    if top == expected:
        return Reading(fits=True, strong=confidence >= _SURE, letters=letters, text=text)
    if top is None or confidence < _SURE:
        return Reading(None, letters=letters, text=text)
    reason = f"detected as {top} with confidence {confidence:.2f}"
    return Reading(fits=False, code="other_language", reason=reason, letters=letters, text=text)


def _forbidden(expected: str, cyrillic: Sequence[str], mode: LangMode) -> str | None:
    if mode is LangMode.SEED and expected in _SEED_FORBIDDEN:
        banned = _SEED_FORBIDDEN[expected]
        return next((letter for letter in cyrillic if letter.lower() in banned), None)
    alphabet = _ALPHABET[expected]
    return next((letter for letter in cyrillic if letter.lower() not in alphabet), None)


def _mixed(word: str) -> bool:
    return bool(_CYRILLIC.search(word) and _LATIN.search(word))


def _small_latin(word: str) -> bool:
    """Whether a word is all lower case and Latin, two letters or more: prose, not a brand."""
    return len(word) > 1 and word == word.lower() and not _CYRILLIC.search(word) and bool(_LATIN.search(word))


def _cleaned(text: str, ignore: tuple[str, ...], *, ignore_quotes: bool) -> str:
    text = nfc(text)
    if "`" in text:
        text = _CODE.sub(" ", text)
    text = _LINK.sub(" ", text)
    if ignore:
        text = _ignored(ignore).sub(" ", text)
    return _QUOTES.sub(" ", text) if ignore_quotes else text


@lru_cache(maxsize=256)
def _ignored(terms: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted((nfc(term) for term in terms), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE)


def _wrong(message: Message, reading: Reading, expected: str) -> Finding:
    text = nfc(message.text)
    at = max(0, text.find(reading.letter)) if reading.letter else 0
    return failed(
        reading.code or "other_language",
        reading.reason,
        expected=expected,
        seen=excerpt(text, at),
        at=message.entry,
        notes=_notes(reading.mixed),
        details={"evidence": "strong" if reading.strong else "weak"},
    )


def _right(fitting: Sequence[tuple[Message, Reading]]) -> Finding:
    strong = all(reading.strong for _, reading in fitting)
    mixed = tuple(word for _, reading in fitting for word in reading.mixed)
    return passed(
        at=fitting[0][0].entry, notes=_notes(mixed), details={"evidence": "strong" if strong else "weak"}
    )


def _notes(mixed: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"mixed_script: {excerpt(word, limit=40)}" for word in dict.fromkeys(mixed))[:10]
