"""Reading a judge model's answer: strict, never a default verdict, never truthiness."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from proctor_contracts.base import Json
from proctor_contracts.results import Evidence

from .jsontext import documents, finite
from .text import excerpt, storable

__all__ = ["Basis", "JudgeCode", "JudgeProblem", "JudgeReply", "JudgeWord", "parse_judge_reply"]

TEXT_LIMIT = 200_000


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
