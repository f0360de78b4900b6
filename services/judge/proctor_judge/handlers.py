"""What the judge does with a job: judges it."""

from __future__ import annotations

from proctor_contracts.messages import CaseJudged, JudgeRequested

from .judging import Judging

__all__ = ["Handlers"]


class Handlers:
    """Turns jobs into facts."""

    def __init__(self, *, judging: Judging) -> None:
        self._judging = judging

    async def judge_requested(self, job: JudgeRequested) -> CaseJudged:
        """Judge every criterion of an attempt."""
        return await self._judging.judge(job)
