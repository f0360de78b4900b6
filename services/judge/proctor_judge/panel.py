"""How many votes a criterion takes, and how they are collected."""

from __future__ import annotations

import asyncio
import logging

from proctor_contracts.messages import JudgeCriterion, JudgeRequested
from proctor_contracts.results import JudgeVote
from proctor_llm.spending import Spending

from .asking import Question, Voter, error_vote
from .prompts import transcript_lines

__all__ = ["Panel", "votes_of"]

_log = logging.getLogger(__name__)
CRITICAL_VOTES = 3


def votes_of(job: JudgeRequested, criterion: JudgeCriterion) -> int:
    """Choose how many votes a criterion takes: its own number, else the run's, at least 3 if critical."""
    stated = criterion.assertion.votes
    if stated is not None:
        return stated
    return max(job.judge.votes, CRITICAL_VOTES) if job.critical else job.judge.votes


class Panel:
    """Collects the votes on every criterion of one job, a bounded number of calls at a time."""

    def __init__(
        self,
        *,
        job: JudgeRequested,
        voter: Voter,
        spending: Spending,
        calls_at_once: int,
        guard_seconds: float,
    ) -> None:
        self._job = job
        self._voter = voter
        self._spending = spending
        self._places = asyncio.Semaphore(calls_at_once)
        self._guard_seconds = guard_seconds
        self._lines = transcript_lines(job.transcript)

    async def poll(self, criterion: JudgeCriterion) -> list[JudgeVote]:
        """Collect votes: first as many as can decide, then the rest only where they did not."""
        question = Question(criterion.assertion.rubric, self._job.context, self._job.transcript, self._lines)
        wanted = votes_of(self._job, criterion)
        votes = await self._cast(question, wanted // 2 + 1)
        if len({vote.verdict for vote in votes}) > 1:
            votes += await self._cast(question, wanted - len(votes))
        return votes

    async def _cast(self, question: Question, count: int) -> list[JudgeVote]:
        return list(await asyncio.gather(*(self._one(question) for _ in range(count))))

    async def _one(self, question: Question) -> JudgeVote:
        async with self._places:
            try:
                async with asyncio.timeout_at(self._voter.deadline + self._guard_seconds):
                    return await self._voter.vote(question)
            except TimeoutError:
                self._spending.lost()
                return error_vote("judge_timeout", f"the judge took longer than {self._job.timeout_ms} ms")
            except Exception as error:  # noqa: BLE001 - it would fail on every redelivery, so the vote ends
                _log.exception("judge.vote_crashed", extra={"job": self._job.id()})
                message = f"judging failed ({type(error).__name__}); the judge's log says more"
                return error_vote("judge_crashed", message)
