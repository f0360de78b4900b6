"""Judges one executed attempt from job to fact: every criterion gets a result, whatever the judge does."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable
from typing import Protocol

from proctor_chassis.clock import Clock
from proctor_contracts.endpoint import HttpEndpoint
from proctor_contracts.enums import Provider
from proctor_contracts.messages import CaseJudged, JudgeCriterion, JudgeRequested
from proctor_contracts.results import AssertionResult, JudgeVote
from proctor_grading.conversation import Conversation
from proctor_grading.engine import graded
from proctor_grading.findings import no_agent_message
from proctor_grading.judge import combine_votes, judge_result
from proctor_llm.client import LlmClient
from proctor_llm.errors import LlmError
from proctor_llm.prices import Prices
from proctor_llm.spending import Spending

from .asking import Manners, Voter, error_vote
from .families import kinship_note
from .fitting import fitted
from .panel import Panel, votes_of
from .purse import Purse

__all__ = ["Judging", "ModelSource"]


class ModelSource(Protocol):
    """Gives the client of a provider; shared by every judging of the process."""

    @property
    def prices(self) -> Prices:
        """What tokens cost."""
        ...

    def client(self, provider: Provider, endpoint: HttpEndpoint | None = None) -> LlmClient:
        """Give a client; raises LlmError when something has to be set first."""
        ...


class Redaction(Protocol):
    """Replaces known secret values."""

    def text(self, text: str) -> str:
        """Replace them in a text."""
        ...


class Judging:
    """Judges attempts; keeps nothing between them but what models were found not to accept."""

    def __init__(
        self,
        *,
        models: ModelSource,
        redactor: Redaction,
        clock: Clock,
        worker_id: str,
        rng: random.Random,
        calls_at_once: int = 8,
        guard_seconds: float = 1.0,
    ) -> None:
        """Wire it; `calls_at_once` bounds the model calls of one attempt."""
        self._models = models
        self._redactor = redactor
        self._clock = clock
        self._worker_id = worker_id
        self._rng = rng
        self._calls_at_once = calls_at_once
        self._guard_seconds = guard_seconds
        self._manners: dict[tuple[str, str], Manners] = {}

    async def judge(self, job: JudgeRequested) -> CaseJudged:
        """Judge every criterion; a judge that cannot be reached or read leaves its criterion unresolved."""
        began = self._clock.monotonic()
        spending = Spending()
        if Conversation(job.transcript).silent:
            # Whatever a criterion asks for or forbids, an agent that did nothing has not met it.
            return self._fact(job, [_silence(criterion) for criterion in job.criteria], spending, began)
        logs: tuple[str, ...] = ()
        voter: Voter | None = None
        try:
            voter = self._voter(job, spending)
        except LlmError as error:
            refused = error_vote(error.code, error.message)
            polls = [[refused] * votes_of(job, criterion) for criterion in job.criteria]
        else:
            panel = Panel(
                job=job,
                voter=voter,
                spending=spending,
                calls_at_once=self._calls_at_once,
                guard_seconds=self._guard_seconds,
            )
            polls = await asyncio.gather(*map(panel.poll, job.criteria))
            logs = (
                f"judge temperature: {'0' if voter.manners.temperature else 'the default of the provider'}",
            )
        results = (
            self._result(job, criterion, votes) for criterion, votes in zip(job.criteria, polls, strict=True)
        )
        return self._fact(job, results, spending, began, voter=voter, logs=logs)

    def _fact(
        self,
        job: JudgeRequested,
        results: Iterable[AssertionResult],
        spending: Spending,
        began: float,
        *,
        voter: Voter | None = None,
        logs: tuple[str, ...] = (),
    ) -> CaseJudged:
        return fitted(
            CaseJudged(
                run_id=job.run_id,
                result_id=job.result_id,
                case_id=job.case_id,
                trial=job.trial,
                attempt=job.attempt,
                assertion_results=tuple(results),
                usage=spending.usage,
                cost_micro_usd=spending.cost_micro_usd,
                duration_ms=round((self._clock.monotonic() - began) * 1000),
                finished_at=self._clock.now(),
                logs=logs,
                worker_id=self._worker_id,
                judge_model=None if voter is None else self._hidden(voter.model),
                judge_fingerprint=None if voter is None else self._hidden(voter.fingerprint),
                model_calls=spending.calls,
            )
        )

    def _voter(self, job: JudgeRequested, spending: Spending) -> Voter:
        return Voter(
            settings=job.judge,
            client=self._models.client(job.judge.provider),
            prices=self._models.prices,
            manners=self._manners.setdefault((job.judge.provider, job.judge.model), Manners()),
            spending=spending,
            purse=Purse(job.budget_micro_usd),
            rng=self._rng,
            conversation_id=job.id(),
            deadline=asyncio.get_running_loop().time() + job.timeout_ms / 1000,
        )

    def _result(
        self, job: JudgeRequested, criterion: JudgeCriterion, votes: list[JudgeVote]
    ) -> AssertionResult:
        wanted = votes_of(job, criterion)
        # A judge's endpoint may echo its own key, in an error as in an answer.
        votes = [self._redacted(vote) for vote in votes]
        result = judge_result(criterion.assertion, criterion.index, votes, wanted)
        notes, message = result.notes, result.message
        kin = kinship_note(
            judge=(job.judge.provider, job.judge.model), agent=(job.agent_provider, job.agent_model)
        )
        if kin is not None:
            notes = (*notes, kin)
        why = next((vote.reasoning for vote in votes if vote.error), "")
        if combine_votes(votes, wanted) is None and why:
            message = f"{message}: {why}"
        return result.model_copy(update={"notes": notes, "message": message})

    def _hidden(self, text: str | None) -> str | None:
        return text and self._redactor.text(text)

    def _redacted(self, vote: JudgeVote) -> JudgeVote:
        hide = self._redactor.text
        return vote.model_copy(
            update={
                "reasoning": hide(vote.reasoning),
                "raw": vote.raw and hide(vote.raw),
                "model": vote.model and hide(vote.model),
                "evidence": tuple(one.model_copy(update={"quote": hide(one.quote)}) for one in vote.evidence),
            }
        )


def _silence(criterion: JudgeCriterion) -> AssertionResult:
    return graded(
        criterion.index,
        criterion.assertion,
        no_agent_message(f"an agent that meets: {criterion.assertion.rubric}"),
    )
