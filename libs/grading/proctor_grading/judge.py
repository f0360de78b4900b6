"""Reading a judge model's answer: strict, never a default verdict, never truthiness."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from proctor_contracts.assertions import Judge
from proctor_contracts.base import Json
from proctor_contracts.results import AssertionResult, Evidence, JudgeVote
from proctor_contracts.transcript import TranscriptEntry

from .canonical import canonical_json
from .engine import graded
from .findings import failed, passed, unresolved
from .jsontext import documents, finite
from .text import excerpt, storable, white_folded

__all__ = [
    "Basis",
    "JudgeCode",
    "JudgeProblem",
    "JudgeReply",
    "JudgeWord",
    "combine_votes",
    "judge_result",
    "parse_judge_reply",
    "supported_verdict",
    "verify_evidence",
    "vote",
]

TEXT_LIMIT = 200_000
ERROR_VOTE = "error"


class JudgeWord(StrEnum):
    """The three verdicts a judge may give."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    FAIL = "fail"
    UNSURE = "unsure"


class Basis(StrEnum):
    """Why a judge fails a reply: something forbidden was said, or something required is missing."""

    SAID = "said"
    MISSING = "missing"


class JudgeCode(StrEnum):
    """Why no verdict could be read."""

    UNPARSEABLE = "judge_unparseable"
    TRUNCATED = "judge_truncated"
    CONFLICT = "judge_conflict"
    WRONG_NONCE = "judge_wrong_nonce"


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """A verdict that could be read."""

    verdict: JudgeWord
    reasoning: str
    basis: Basis | None = None
    evidence: tuple[Evidence, ...] = ()
    injection_attempt: bool = False


@dataclass(frozen=True, slots=True)
class JudgeProblem:
    """An answer without a verdict that may be counted."""

    code: JudgeCode
    message: str


def parse_judge_reply(
    tool_args: Mapping[str, Json] | None, text: str, nonce: str, *, truncated: bool = False
) -> JudgeReply | JudgeProblem:
    """Read the forced tool call, or else every JSON object of the text.

    An object counts when its verdict is one of the three words (or its `passed` a boolean), its reasoning is
    text and its nonce is ours; all that count must agree. A cut answer is refused even where a verdict can
    be seen.
    """
    if truncated:
        return JudgeProblem(JudgeCode.TRUNCATED, "the answer was cut off by the token limit")
    if tool_args is not None:
        candidates: list[Json] = [dict(tool_args)] if finite(dict(tool_args)) else []
    else:
        candidates = documents(text[:TEXT_LIMIT])
        if not candidates and text.rstrip().count("{") > text.count("}"):
            return JudgeProblem(JudgeCode.TRUNCATED, "the answer stops inside its JSON object")
    readable = [reply for value in candidates if (reply := _reply(value)) is not None]
    ours = [reply for given, reply in readable if given == nonce]
    if not ours:
        if readable:
            return JudgeProblem(JudgeCode.WRONG_NONCE, "no verdict carries this call's nonce")
        return JudgeProblem(
            JudgeCode.UNPARSEABLE, f"no verdict object in the answer: {excerpt(text, limit=120)}"
        )
    if len({reply.verdict for reply in ours}) > 1:
        return JudgeProblem(JudgeCode.CONFLICT, "the answer holds different verdicts")
    return ours[-1]


def verify_evidence(reply: JudgeReply, transcript: Sequence[TranscriptEntry]) -> JudgeReply:
    """Mark which quotes stand in the transcript, compared in NFC with white space folded."""
    if not reply.evidence:
        return reply
    haystack = _haystack(transcript)
    checked = tuple(
        evidence.model_copy(update={"verified": _stands_in(evidence.quote, haystack)})
        for evidence in reply.evidence
    )
    return replace(reply, evidence=checked)


def supported_verdict(reply: JudgeReply) -> JudgeWord:
    """Turn a fail for something said, without one verified quote, into unsure; all else stays."""
    unproven = reply.basis is Basis.SAID and not any(evidence.verified for evidence in reply.evidence)
    return JudgeWord.UNSURE if reply.verdict is JudgeWord.FAIL and unproven else reply.verdict


def vote(
    reply: JudgeReply | JudgeProblem,
    transcript: Sequence[TranscriptEntry],
    *,
    model: str | None = None,
    raw: str | None = None,
) -> JudgeVote:
    """Turn one parsed answer into a vote: evidence checked, an unproven fail weakened to unsure."""
    raw = None if raw is None else storable(raw).replace("\x00", "\ufffd")
    if isinstance(reply, JudgeProblem):
        return JudgeVote(verdict=ERROR_VOTE, error=reply.code, reasoning=reply.message, model=model, raw=raw)
    checked = verify_evidence(reply, transcript)
    return JudgeVote(
        verdict=supported_verdict(checked),
        basis=checked.basis,
        reasoning=checked.reasoning,
        evidence=checked.evidence,
        injection_attempt=checked.injection_attempt,
        model=model,
        raw=raw,
    )


def combine_votes(votes: Sequence[JudgeVote], k: int) -> JudgeWord | None:
    """Return the verdict of more than half of k votes, else unsure; None when that many could not be read.

    Votes that are missing count as unreadable.
    """
    needed = k // 2 + 1
    counts = Counter(vote.verdict for vote in votes)
    for word in JudgeWord:
        if counts[word] >= needed:
            return word
    unreadable = k - sum(counts[word] for word in JudgeWord)
    return None if unreadable >= needed else JudgeWord.UNSURE


def judge_result(assertion: Judge, index: int, votes: Sequence[JudgeVote], k: int) -> AssertionResult:
    """Decide a judge assertion from its votes; `judge_error` and `judge_unsure` leave it unresolved."""
    word = combine_votes(votes, k)
    speaker = next((vote for vote in votes if vote.verdict == word), None)
    reason = speaker.reasoning if speaker else ""
    expected = excerpt(assertion.rubric)
    proven = [evidence for evidence in speaker.evidence if evidence.verified] if speaker else []
    quotes = "; ".join(evidence.quote for evidence in proven) or None
    notes = _notes(votes)
    match word:
        case JudgeWord.PASS:
            finding = replace(passed(notes=notes), message=excerpt(reason) or "ok")
        case JudgeWord.FAIL:
            finding = failed(
                "judge_fail",
                excerpt(reason) or "the judge says no",
                expected=expected,
                seen=quotes,
                at=proven[0].turn if proven else None,
                notes=notes,
            )
        case JudgeWord.UNSURE:
            said = ", ".join(vote.verdict for vote in votes)
            message = f"the judge could not tell ({said}): {excerpt(reason, limit=200)}"
            finding = unresolved("judge_unsure", message, expected=expected, seen=quotes, notes=notes)
        case None:
            codes = ", ".join(dict.fromkeys(vote.error or ERROR_VOTE for vote in votes)) or "no answer"
            message = f"the judge gave no verdict: {codes}"
            finding = unresolved("judge_error", message, expected=expected, notes=notes)
    return graded(index, assertion, finding).model_copy(update={"votes": tuple(votes)})


def _notes(votes: Sequence[JudgeVote]) -> tuple[str, ...]:
    notes = list(dict.fromkeys(vote.error for vote in votes if vote.error))
    if any(vote.injection_attempt for vote in votes):
        notes.append("injection_attempt")
    if any(not evidence.verified for vote in votes for evidence in vote.evidence):
        notes.append("evidence_unverified")
    return tuple(notes)


def _reply(value: Json) -> tuple[str | None, JudgeReply] | None:
    if not isinstance(value, dict):
        return None
    verdict = _verdict(value)
    reasoning = _reasoning(value.get("reasoning", value.get("reason")))
    if verdict is None or reasoning is None:
        return None
    nonce = value.get("nonce")
    basis = value.get("basis")
    reply = JudgeReply(
        verdict=verdict,
        reasoning=reasoning,
        basis=Basis(basis) if isinstance(basis, str) and basis in set(Basis) else None,
        evidence=_evidence(value.get("evidence")),
        injection_attempt=value.get("injection_attempt") is True,
    )
    return (nonce if isinstance(nonce, str) else None), reply


def _verdict(value: Mapping[str, Any]) -> JudgeWord | None:
    """Read one of the three words, or the older boolean `passed`; nothing is coerced, and both must agree."""
    words: set[JudgeWord] = set()
    if "verdict" in value:
        word = value["verdict"]
        folded = word.strip().casefold() if isinstance(word, str) else None
        if folded not in set(JudgeWord):
            return None
        words.add(JudgeWord(folded))
    if "passed" in value:
        match value["passed"]:
            case True:
                words.add(JudgeWord.PASS)
            case False:
                words.add(JudgeWord.FAIL)
            case _:
                return None
    return words.pop() if len(words) == 1 else None


def _reasoning(value: Json) -> str | None:
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        value = "\n".join(value)
    return storable(value).replace("\x00", "\ufffd") if isinstance(value, str) else None


def _evidence(value: Json) -> tuple[Evidence, ...]:
    if not isinstance(value, list):
        return ()
    found = []
    for item in value[:50]:
        match item:
            case {"quote": str() as quote}:
                turn = item.get("turn")
                found.append(
                    Evidence(turn=turn if type(turn) is int else None, quote=_reasoning(quote) or "")
                )
            case str():
                found.append(Evidence(quote=_reasoning(item) or ""))
            case _:
                pass
    return tuple(found)


def _haystack(transcript: Sequence[TranscriptEntry]) -> str:
    parts: list[str] = []
    for entry in transcript:
        parts.append(entry.content)
        for call in entry.tool_calls:
            values = (canonical_json(call.args), canonical_json(call.result))
            parts.extend((call.name, call.args_raw or "", *values))
    return white_folded("\n".join(parts))


def _stands_in(quote: str, haystack: str) -> bool:
    """Look for a quote; one that still carries JSON escapes, as the judge saw them, is unescaped first."""
    folded = white_folded(quote)
    if not folded:
        return False
    if folded in haystack:
        return True
    if "\\" not in quote:
        return False
    try:
        plain = json.loads(f'"{quote}"')
    except ValueError:
        return False
    return bool(plain) and white_folded(str(plain)) in haystack
