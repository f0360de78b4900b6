"""Mutants of what the agent says, and of an agent that says or does nothing."""

from __future__ import annotations

import re

from proctor_contracts.schemas.bite import MutantKind
from proctor_contracts.transcript import TranscriptEntry
from proctor_grading.leak import SHINGLE, leaking_lines
from proctor_grading.text import excerpt, fold

from .mutant import Made, Mutant, Original, skipped
from .promises import reverse_promises
from .speech import LANGUAGES, Speech, infinitive_near, is_prose, refuses

__all__ = ["broken_promise", "courteous", "foreign", "leaking", "negated", "silent"]

_UNKNOWN = (
    "mutants of words are written in Ukrainian, Russian, English and Portuguese; the reference is in none"
)
_DATA = "the reference is data, not words"
_SHORT = re.compile(r"\S+(?:\s+\S+)?")
_LETTER = re.compile(r"[^\W_]")
_LINE = 160


def broken_promise(original: Original) -> Made:
    """Say that nothing was or will be done where the reference says so, and the other way round."""
    kind = MutantKind.PROMISE_REVERSED
    if original.language is None:
        return skipped(kind, _UNKNOWN)
    texts = [entry.content for entry in original.replies]
    reversed_ = [reverse_promises(text, original.language) for text in texts]
    if not any(reversed_):
        return skipped(kind, "no promise and no refusal is recognised in the reference")
    said = [new or old for new, old in zip(reversed_, texts, strict=True)]
    first = next(text for text in reversed_ if text)
    return (
        Mutant(
            kind,
            kind.value,
            f"the agent says: {excerpt(first, limit=_LINE)}",
            "the user is told the opposite of what is so",
            original.saying(said),
            original.outcomes,
        ),
    )


def negated(original: Original) -> Made:
    """Keep the words that the checks ask for, and say no where the reference says yes, or yes for no."""
    kind = MutantKind.MEANING_NEGATED
    if not any(map(_LETTER.search, original.words)):
        return skipped(kind, "no check asks for words that a wrong reply could keep")
    speech = original.speech
    if speech is None:
        return skipped(kind, _UNKNOWN)
    if not original.sketched and not any(is_prose(entry.content) for entry in original.replies):
        return skipped(kind, _DATA)
    says_no = any(refuses(word, speech) for word in original.words)
    if original.sketched and says_no:
        return skipped(kind, "the words that the checks ask for say no by themselves")
    wholes = [speech.denied.format(reply=entry.content) for entry in original.replies]
    shorts = [_refusal(original, entry, speech) for entry in original.replies]
    told = [] if says_no else [(f"{kind}:short", shorts)]
    if not original.sketched:  # of bare words, the two are the same
        told.append((f"{kind}:whole", wholes))
    return tuple(
        Mutant(
            kind,
            name,
            f"the agent says: {excerpt(_most_telling(texts, original), limit=_LINE)}",
            "the required words stand in a reply that means the opposite",
            original.saying(texts),
            original.outcomes,
        )
        for name, texts in told
    )


def foreign(original: Original) -> Made:
    """Answer in another language, keeping names, numbers and other short words that the checks ask for."""
    kind = MutantKind.WRONG_LANGUAGE
    speech = original.speech
    if speech is None:
        return skipped(kind, _UNKNOWN)
    if not original.sketched and not any(is_prose(entry.content) for entry in original.replies):
        return skipped(kind, _DATA)
    short = [word for word in original.words if _SHORT.fullmatch(word)]
    made = []
    for other in speech.others[:1] if original.sketched else speech.others:
        there = LANGUAGES[other]
        texts = [_with_words(there.foreign, _held(entry, short)) for entry in original.replies]
        made.append(
            Mutant(
                kind,
                f"{kind}:{other}",
                f"the agent answers in {there.name}: {excerpt(_most_telling(texts, original), limit=_LINE)}",
                f"the conversation is in {speech.name}",
                original.saying(texts),
                original.outcomes,
            )
        )
    return tuple(made)


def leaking(original: Original) -> Made:
    """Let the last reply repeat a line of the agent's prompt."""
    kind = MutantKind.PROMPT_LEAKED
    if not original.prompt.strip():
        return skipped(kind, "the agent's prompt is not known; give the integration its agentPrompt")
    line = next(leaking_lines(original.prompt, original.transcript), None)
    if line is None:
        return skipped(kind, f"the prompt has no line of {SHINGLE} words that the conversation does not hold")
    *before, last = (entry.content for entry in original.replies)
    return (
        Mutant(
            kind,
            kind.value,
            f"the last reply goes on with the prompt: {excerpt(line, limit=_LINE)}",
            "instructions are not for users",
            original.saying([*before, f"{last}\n\n{line}"]),
            original.outcomes,
        ),
    )


def silent(original: Original) -> Made:
    """Let the agent call what it should, and say nothing."""
    kind = MutantKind.EMPTY_REPLY
    return (
        Mutant(
            kind,
            kind.value,
            "every reply is empty" + ("; the calls are made" if _calls(original) else ""),
            "the user gets no answer",
            original.saying([""] * len(original.replies)),
            original.outcomes,
        ),
    )


def courteous(original: Original) -> Made:
    """Let the agent be polite and do nothing at all."""
    kind = MutantKind.DOES_NOTHING
    said = (original.speech or LANGUAGES["en"]).courtesy
    bare = [entry.model_copy(update={"content": said, "tool_calls": ()}) for entry in original.replies]
    return (
        Mutant(
            kind,
            kind.value,
            f"the agent calls nothing, reports nothing, and says each time: {said}",
            "nothing was done for the user",
            original.with_replies(bare),
        ),
    )


def _calls(original: Original) -> bool:
    return any(entry.tool_calls for entry in original.replies)


def _refusal(original: Original, entry: TranscriptEntry, speech: Speech) -> str:
    held = _held(entry, original.words)
    words = ", ".join(held)
    if refuses(entry.content, speech):
        return _with_words(speech.affirmed.removesuffix(": {words}"), held)
    if not held:
        return speech.refused.removesuffix(": {words}") + "."
    if len(held) == 1 and (verb := infinitive_near(held[0], (entry.content, *original.user_texts), speech)):
        return speech.refused_verb.format(words=words, verb=verb)
    return speech.refused.format(words=words)


def _with_words(sentence: str, words: list[str]) -> str:
    return f"{sentence}: {', '.join(words)}" if words else f"{sentence}."


def _held(entry: TranscriptEntry, words: tuple[str, ...] | list[str]) -> list[str]:
    """Pick the words that an entry has."""
    text = fold(entry.content, case_insensitive=True)
    return [word for word in words if fold(word, case_insensitive=True) in text]


def _most_telling(texts: list[str], original: Original) -> str:
    """Choose the reply to show: the first that has words of the checks."""
    held = (new for new, old in zip(texts, original.replies, strict=True) if _held(old, original.words))
    return next(held, texts[0])
