"""Which language to answer in, and the two forms of every answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Language", "Text", "language_of"]


class Language(StrEnum):
    """The languages that the bot answers in."""

    UKRAINIAN = "uk"
    ENGLISH = "en"


@dataclass(frozen=True, slots=True)
class Text:
    """One answer in both languages."""

    uk: str
    en: str

    def in_(self, language: Language) -> str:
        """The form for this language."""
        return self.uk if language is Language.UKRAINIAN else self.en


def language_of(message: str, before: Language) -> Language:
    """Guess from the letters of a message; one without words keeps the conversation's language.

    This is the bot's second known fault (see README.md): brand names outvote a short Ukrainian sentence.
    """
    words = [word for word in message.lower().split() if not any(sign.isdigit() for sign in word)]
    letters = "".join(words)
    cyrillic = sum("а" <= letter <= "я" or letter in "іїєґё" for letter in letters)
    latin = sum("a" <= letter <= "z" for letter in letters)
    if cyrillic == latin:
        return before
    return Language.UKRAINIAN if cyrillic > latin else Language.ENGLISH
