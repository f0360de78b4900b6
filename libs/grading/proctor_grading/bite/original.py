"""The right conversation that mutants start from: the reference, else a sketch made from the checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from proctor_contracts.assertions import (
    Contains,
    ContainsAll,
    ContainsAny,
    Lang,
    Outcome,
    Regex,
    ToolArgs,
    ToolCall,
    ToolSequence,
)
from proctor_contracts.base import Json
from proctor_contracts.cases import CaseFields, Reference, ReferenceMessage, ScriptedMulti, ScriptedSingle
from proctor_contracts.tool_assertions import SequenceMode
from proctor_contracts.transcript import ToolCallRecord, TranscriptEntry
from proctor_grading.context import RegexEngine, RegexFound
from proctor_grading.reference import reference_transcript
from proctor_grading.text import fold

from .mutant import Original
from .speech import LANGUAGES, guess_language

__all__ = ["from_reference", "sketch"]

_MOST_WORDS = 50
_LONGEST_WORD = 200
_MOST_CALLS = 20
_ALLOWING = frozenset({SequenceMode.FORBIDDEN, SequenceMode.SUBSET})


def from_reference(case: CaseFields, reference: Reference, *, regex: RegexEngine, prompt: str) -> Original:
    """Take the conversation that the author calls right."""
    return _original(case, reference, regex=regex, prompt=prompt)


def sketch(case: CaseFields, *, regex: RegexEngine, prompt: str) -> Original:
    """Make the shortest conversation that holds what the checks ask for, as far as they say it in words.

    Whether it passes them is for the caller to find out.
    """
    words = list(dict.fromkeys(_asked(case)))
    calls = tuple(_calls(case))
    expected = next((one.expected for one in case.assertions if isinstance(one, Lang)), None)
    language = expected or guess_language(words, before=_user_texts(case)) or "en"
    polite = LANGUAGES[language].courtesy if language in LANGUAGES else "OK"
    message = ReferenceMessage(content=", ".join(words) or polite, tool_calls=calls)
    outcomes = {
        one.field: one.in_[0] if one.in_ else one.equals
        for one in case.assertions
        if isinstance(one, Outcome)
    }
    return _original(
        case, Reference(messages=(message,), outcomes=outcomes), regex=regex, prompt=prompt, sketched=True
    )


def _original(
    case: CaseFields, reference: Reference, *, regex: RegexEngine, prompt: str, sketched: bool = False
) -> Original:
    transcript = reference_transcript(case, reference)
    bare = Original(case, transcript, reference.outcomes)
    replies = [entry.content for entry in bare.replies]
    expected = next((one.expected for one in case.assertions if isinstance(one, Lang)), None)
    language = expected or guess_language(replies, before=bare.user_texts)
    return Original(
        case=case,
        transcript=transcript,
        outcomes=reference.outcomes,
        prompt=prompt,
        language=language if language in LANGUAGES else None,
        words=tuple(dict.fromkeys(_wanted(case, bare.replies, regex)))[:_MOST_WORDS],
        sketched=sketched,
    )


def _user_texts(case: CaseFields) -> tuple[str, ...]:
    """What the case says to the agent."""
    match case.input:
        case ScriptedSingle(message=message):
            return (message,)
        case ScriptedMulti(messages=messages):
            return tuple(line.content for line in messages if line.role == "user")


def _asked(case: CaseFields) -> Iterator[str]:
    for check in case.assertions:
        match check:
            case Contains(value=value):
                yield value
            case ContainsAll(values=values):
                yield from values
            case ContainsAny(values=values):
                yield values[0]
            case _:
                pass


def _wanted(case: CaseFields, replies: Sequence[TranscriptEntry], regex: RegexEngine) -> Iterator[str]:
    """Find the texts in the replies by which checks pass."""
    texts = [entry.content for entry in replies]
    folded = [fold(text, case_insensitive=True) for text in texts]
    for check in case.assertions:
        match check:
            case Contains(value=value):
                found: Sequence[str] = (value,)
            case ContainsAll(values=values) | ContainsAny(values=values):
                found = values
            case Regex(must_match=True):
                answers = (regex.search(check.pattern, check.flags, text) for text in texts)
                found = [one.text for one in answers if isinstance(one, RegexFound)]
            case _:
                continue
        for word in found:
            wanted = fold(word, case_insensitive=True)
            if word.strip() and len(word) <= _LONGEST_WORD and any(wanted in text for text in folded):
                yield word


def _calls(case: CaseFields) -> Iterator[ToolCallRecord]:
    """Make the calls that checks name, as many as they want."""
    wanted: dict[str, int] = {}
    args: dict[str, dict[str, Json]] = {}
    for check in case.assertions:
        match check:
            case ToolCall(must_not_match=False, tool_name=name):
                least = 1 if check.min_occurrence is None else check.min_occurrence
                wanted[name] = max(wanted.get(name, 0), least)
            case ToolArgs(tool_name=name, args=paths):
                wanted[name] = max(wanted.get(name, 0), 1)
                args[name] = args.get(name, {}) | _literals(paths)
            case ToolSequence(mode=mode, steps=steps) if mode not in _ALLOWING:
                for step in steps:
                    count = sum(other.tool_name == step.tool_name for other in steps)
                    wanted[step.tool_name] = max(wanted.get(step.tool_name, 0), count)
            case _:
                pass
    names = [name for name, count in wanted.items() for _ in range(min(count, _MOST_CALLS))]
    for name in names[:_MOST_CALLS]:
        yield ToolCallRecord(name=name, args=args.get(name, {}))


def _literals(paths: Mapping[str, Any]) -> dict[str, Json]:
    return {
        path: value
        for path, value in paths.items()
        if "." not in path and isinstance(value, str | int | float | bool)
    }
