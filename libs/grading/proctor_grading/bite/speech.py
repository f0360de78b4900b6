"""The languages that mutants are written in, and which of them a text is in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from proctor_grading.text import fold, nfc

__all__ = ["LANGUAGES", "Speech", "guess_language", "infinitive_near", "is_prose", "refuses", "sentences"]


@dataclass(frozen=True, slots=True)
class Speech:
    """What a wrong agent says in one language.

    `refused` and `affirmed` take `{words}`, `refused_verb` also `{verb}`, `denied` takes `{reply}`; `foreign`
    is what is said where another language was due, `courtesy` what an agent says that does nothing. `verb`
    finds an infinitive, `refusal` a reply that says no; `others` are the languages it is worth mistaking for.
    """

    name: str
    refused: str
    refused_verb: str
    affirmed: str
    denied: str
    foreign: str
    courtesy: str
    verb: re.Pattern[str]
    refusal: re.Pattern[str]
    others: tuple[str, ...]


LANGUAGES: Mapping[str, Speech] = {
    "uk": Speech(
        name="Ukrainian",
        refused="На жаль, це неможливо: {words}",
        refused_verb="{words} {verb} неможливо",
        affirmed="Так, звісно, це можливо: {words}",
        denied="Ні, це не так: «{reply}» Насправді все навпаки.",
        foreign="Вітаємо! Ми отримали ваш запит і вже працюємо над ним",
        courtesy="Вітаємо! Дякуємо за звернення, гарного вам дня.",
        verb=re.compile(
            r"(?:щоб|аби|можна|можете|можеш|можемо|може|потрібно|треба|варто|слід|хочете|хочу|як)\s+"
            r"([^\W\d_][\w'\u2019\u02bc]*(?:ти|тися|тись))\b"
        ),
        refusal=re.compile(
            r"\bне (?:можу|можемо|можна|маю права|маємо права|вдасться|вдалося|зможу|зможемо|буду|будемо)\b"
            r"|\bне [а-яіїєґ'\u2019\u02bc]{2,}(?:у|ю|мо)\b|\bнеможливо\b"
        ),
        others=("ru", "en"),
    ),
    "ru": Speech(
        name="Russian",
        refused="К сожалению, это невозможно: {words}",
        refused_verb="{words} {verb} невозможно",
        affirmed="Да, конечно, это возможно: {words}",
        denied="Нет, это не так: «{reply}» На самом деле всё наоборот.",
        foreign="Здравствуйте! Мы получили ваш запрос и уже занимаемся этим вопросом",
        courtesy="Здравствуйте! Спасибо за обращение, мы вам рады.",
        verb=re.compile(
            r"(?:чтобы|можно|можете|можешь|можем|может|нужно|надо|стоит|следует|хотите|хочу|как)\s+"
            r"([^\W\d_]\w*(?:ть|ться|ти|чь))\b"
        ),
        refusal=re.compile(
            r"\bне (?:могу|можем|имею права|имеем права|получится|удалось|удастся|смогу|сможем|буду|будем)\b"
            r"|\bне [а-яё]{2,}(?:у|ю|ем|ём|им)\b|\b(?:невозможно|нельзя)\b"
        ),
        others=("uk", "en"),
    ),
    "en": Speech(
        name="English",
        refused="Unfortunately, this is not possible: {words}",
        refused_verb="{words}: it is not possible to {verb} it",
        affirmed="Yes, of course, this is possible: {words}",
        denied='No, this is not true: "{reply}" In fact the opposite is the case.',
        foreign="Hello! We have received your request and are already working on it",
        courtesy="Hello! Thank you for your message, have a nice day.",
        verb=re.compile(
            r"\b(?:how to|in order to|(?:you|we|I) can|could|may)\s+(?!be\b|not\b|also\b|only\b)([a-z]{2,})\b"
        ),
        refusal=re.compile(
            r"\b(?:can['\u2019]t|cannot|can not|won['\u2019]t|will not|unable to)\b"
            r"|\bnot (?:able to|possible|allowed)\b"
        ),
        others=("uk",),
    ),
    "pt": Speech(
        name="Portuguese",
        refused="Infelizmente, isso não é possível: {words}",
        refused_verb="{words}: não é possível {verb}",
        affirmed="Sim, claro, isso é possível: {words}",
        denied='Não, isto não é verdade: "{reply}" Na verdade é o contrário.',
        foreign="Olá! Recebemos o seu pedido e já estamos a tratar dele",
        courtesy="Olá! Obrigado pela sua mensagem, tenha um bom dia.",
        verb=re.compile(r"\b(?:para|pode|podem|podemos|como|deve)\s+([^\W\d_]+(?:ar|er|ir|or))\b"),
        refusal=re.compile(
            r"\bnão (?:posso|podemos|é possível|consigo|conseguimos|vou|vamos)\b|\bimpossível\b"
        ),
        others=("en",),
    ),
}

_UKRAINIAN = re.compile("[іїєґ]")
_RUSSIAN = re.compile("[ыэёъ]")
_CYRILLIC = re.compile("[а-яіїєґё]")
_LATIN = re.compile("[a-zà-ÿ]")
_LATIN_WORD = re.compile(r"\b[a-zà-ÿ]{2,}\b")
_WORD = re.compile(r"[^\W\d_]+")
_PORTUGUESE = re.compile(r"\b(?:não|você|para|uma|seu|sua|pedido|obrigad[oa]|olá|com|está)\b")
_ENGLISH = re.compile(
    r"\b(?:the|you|your|is|are|we|to|of|and|in|it|this|for|not|have|has|can|will|i|please|hello|thanks?|yes|no|a|on"
    r"|at|with)\b"
)
_SENTENCE = re.compile(r"[^.!?…\n]+[.!?…]*")


def guess_language(texts: Iterable[str], *, before: Sequence[str] = ()) -> str | None:
    """Say which of the known languages a text is in, None for another or for none.

    Cyrillic without a letter that only one of the two has is what `before` is in, else Ukrainian; names and
    numbers alone are in the language of `before`.
    """
    written = nfc("\n".join(texts))
    text = written.lower()
    cyrillic, latin = len(_CYRILLIC.findall(text)), len(_LATIN.findall(text))
    if cyrillic >= latin and cyrillic:
        own, other = len(_UKRAINIAN.findall(text)), len(_RUSSIAN.findall(text))
        if own == other and before:
            earlier = guess_language(before)
            return earlier if earlier in {"uk", "ru"} else "uk"
        return "ru" if other > own else "uk"
    portuguese, english = len(_PORTUGUESE.findall(text)), len(_ENGLISH.findall(text))
    if not portuguese and not english:
        earlier = guess_language(before) if before else None
        return None if earlier in {"uk", "ru"} and _LATIN_WORD.search(written) else earlier
    return "pt" if portuguese > english else "en"


def is_prose(text: str) -> bool:
    """Whether a text is something said, rather than data."""
    return not text.lstrip().startswith(("{", "[")) and len(_WORD.findall(text)) > 1


def sentences(text: str) -> list[str]:
    """Cut a text into its sentences."""
    return [one.strip() for one in _SENTENCE.findall(text) if one.strip()]


def refuses(text: str, speech: Speech) -> bool:
    """Whether a reply says no."""
    return speech.refusal.search(fold(text, case_insensitive=True)) is not None


def infinitive_near(word: str, texts: Iterable[str], speech: Speech) -> str | None:
    """Find what is done with a word: the infinitive of the first sentence that has both."""
    wanted = fold(word, case_insensitive=True)
    for text in texts:
        for sentence in sentences(fold(text, case_insensitive=True)):
            if wanted in sentence and (found := speech.verb.search(sentence)):
                return found.group(1)
    return None
