"""From a judge's answers to the result of a judge assertion: evidence, votes, verdict."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from proctor_contracts.assertions import Judge
from proctor_contracts.results import AssertionResult, JudgeVote
from proctor_contracts.transcript import TranscriptEntry

from .canonical import canonical_json
from .engine import graded
from .findings import failed, passed, unresolved
from .reply import Basis, JudgeCode, JudgeProblem, JudgeReply, JudgeWord, parse_judge_reply
from .text import excerpt, storable, white_folded

__all__ = [
    "ERROR_VOTE",
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

ERROR_VOTE = "error"


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
