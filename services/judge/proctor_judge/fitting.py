"""Keeps a judge's answers small enough to travel: what explains least goes first, a verdict never."""

from __future__ import annotations

from proctor_contracts.messages import CaseJudged
from proctor_contracts.results import JudgeVote
from proctor_contracts.topology import MAX_BODY_BYTES

__all__ = ["fitted"]

_MAX_FACT_BYTES = MAX_BODY_BYTES - 16 * 1024
_STEPS = ((2_000, 200), (400, 0), (0, 0))
"""Characters of reasoning and of a raw answer that are kept, step by step, until all fits."""


def fitted(fact: CaseJudged) -> CaseJudged:
    """Return the fact as it is when it fits, else with shorter votes."""
    for reasoning, raw in _STEPS:
        if len(fact.model_dump_json().encode()) <= _MAX_FACT_BYTES:
            return fact
        fact = _shortened(fact, reasoning, raw)
    return fact


def _shortened(fact: CaseJudged, reasoning: int, raw: int) -> CaseJudged:
    def vote(cast: JudgeVote) -> JudgeVote:
        return cast.model_copy(
            update={
                "reasoning": cast.reasoning[:reasoning],
                "raw": (cast.raw or "")[:raw] or None,
                "evidence": cast.evidence[:3] if reasoning else (),
            }
        )

    return fact.model_copy(
        update={
            "assertion_results": tuple(
                result.model_copy(update={"votes": tuple(map(vote, result.votes))})
                for result in fact.assertion_results
            ),
            "logs": (
                *fact.logs,
                f"judge: votes cut to {reasoning} characters of reasoning, to fit a message",
            ),
        }
    )
