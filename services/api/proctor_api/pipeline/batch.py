"""Applying workers' reports to the results they belong to, in memory, under the runs' locks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, assert_never
from uuid import UUID

from proctor_contracts.enums import Role, Runner
from proctor_contracts.messages import CaseExecuted, CaseJudged, JudgeCriterion, JudgeRequested
from proctor_contracts.results import AssertionResult, Verdict
from proctor_contracts.transcript import TranscriptEntry
from proctor_llm.prices import Prices

from .budget import shares
from .endings import end_result, release
from .steps import AskJudge, Final, Retry, Step, after_execution, after_judging
from .work import ResultWork, RunWork

__all__ = ["Applier", "Report", "judge_requested", "turn_latencies"]

Report = CaseExecuted | CaseJudged


def turn_latencies(transcript: Sequence[TranscriptEntry]) -> list[int]:
    """The agent's time for each turn in milliseconds, turns that were not timed left out."""
    return [e.latency_ms for e in transcript if e.role is Role.AGENT and e.latency_ms is not None]


@dataclass(slots=True)
class Applier:
    """One batch: locked runs, their results, and what earlier phases recorded."""

    runs: Mapping[UUID, RunWork]
    results: Mapping[UUID, ResultWork]
    executed: Mapping[tuple[UUID, int], Mapping[str, Any]]
    prices: Prices
    now: datetime

    def awaited(self, report: Report) -> bool:
        """Whether the report is the one its result waits for; a duplicate or late one changes nothing."""
        run, result = self.runs.get(report.run_id), self.results.get(report.result_id)
        if run is None or result is None or not run.live:
            return False
        stage = "executing" if isinstance(report, CaseExecuted) else "judging"
        return result.expects(report.attempt, stage)

    def apply(self, report: Report) -> None:
        """Change the result and its run by one awaited report."""
        run, result = self.runs[report.run_id], self.results[report.result_id]
        run.spend(report.cost_micro_usd)
        match report:
            case CaseExecuted():
                self._executed(run, result, report)
            case CaseJudged():
                self._judged(run, result, report)
            case _:
                assert_never(report)

    def _executed(self, run: RunWork, result: ResultWork, report: CaseExecuted) -> None:
        run.add["in_flight"] -= 1
        run.saw_model("agent_models", report.agent_model)
        run.saw_model("agent_fingerprints", report.agent_fingerprint)
        result.spend("usage", report.usage, report.cost_micro_usd)
        result.change["duration_ms"] = (result.now("duration_ms") or 0) + report.duration_ms
        if report.error is None or not result.now("latencies"):
            # An error on a retry leaves the times of the attempt that was graded.
            result.change["latencies"] = turn_latencies(report.transcript)
        if run.settings.runner is Runner.GATEWAY:
            calls = sum(len(entry.tool_calls) for entry in report.transcript)
            result.played = {"toolCalls": calls, "effects": len(report.effects)}
        if result.now("started_at") is None:
            result.change["started_at"] = report.started_at
        step = after_execution(result.case, report, result.history, run.plan)
        self._take(run, result, step, report.transcript, "case.executed")

    def _judged(self, run: RunWork, result: ResultWork, report: CaseJudged) -> None:
        run.add["judging"] -= 1
        run.saw_model("judge_models", report.judge_model)
        run.saw_model("judge_fingerprints", report.judge_fingerprint)
        result.spend("judge_usage", report.usage, report.cost_micro_usd)
        result.change["duration_ms"] = (result.now("duration_ms") or 0) + report.duration_ms
        payload = self.executed[(result.row.id, report.attempt)]
        seen = tuple(AssertionResult.model_validate(entry) for entry in payload.get("assertionResults", ()))
        step = after_judging(result.case, seen, report.assertion_results, result.history, run.plan)
        self._take(run, result, step, (), "case.judged")

    def _take(
        self,
        run: RunWork,
        result: ResultWork,
        step: Step,
        transcript: tuple[TranscriptEntry, ...],
        event: str,
    ) -> None:
        match step:
            case AskJudge():
                self._ask_judge(run, result, step, transcript)
            case Retry():
                self._retry(run, result, step)
            case Final():
                history = result.history_with(step.outcome)
                end_result(run, result, step, history, event=event, now=self.now)
            case _:
                assert_never(step)

    def _ask_judge(
        self, run: RunWork, result: ResultWork, step: AskJudge, transcript: tuple[TranscriptEntry, ...]
    ) -> None:
        reserve = shares(result.case, run.settings, self.prices) if result.now("reserved_micro") else None
        release(run, result, keep=0 if reserve is None else reserve.judge)
        run.add["judging"] += 1
        result.change |= {"stage": "judging", "dispatched_at": self.now, "losses": 0}
        run.send(
            judge_requested(
                run,
                result,
                results=step.pending,
                transcript=transcript,
                share=None if reserve is None else reserve.judge,
            )
        )
        run.event("case.executed", {**result.label(), "status": "judging"})

    def _retry(self, run: RunWork, result: ResultWork, step: Retry) -> None:
        """Put the result back in line, before those that were never out; the dispatcher lets it go."""
        release(run, result)
        history = result.history_with(step.outcome)
        result.change |= {"history": history, "stage": "waiting", "losses": 0, "first_status": history[0][0]}
        run.put["next_ordinal"] = min(run.next_ordinal, result.row.ordinal)
        run.event(
            "case.retried",
            {
                **result.label(),
                "attempt": result.now("attempt") + 1,
                "status": step.outcome.status.value,
                "score": step.outcome.score,
            },
        )


def judge_requested(
    run: RunWork,
    result: ResultWork,
    *,
    results: Sequence[AssertionResult],
    transcript: tuple[TranscriptEntry, ...],
    share: int | None,
) -> JudgeRequested:
    """Write the judge's job for the criteria that are still pending among an attempt's results."""
    agent, case, judge = run.settings.agent, result.case, run.settings.judge
    if judge is None:
        raise AssertionError("a run without a judge has nothing pending for it")
    criteria = tuple(
        JudgeCriterion(index=pending.index, assertion=assertion)
        for pending in results
        if pending.verdict is Verdict.PENDING
        and (assertion := case.assertions[pending.index]).kind == "judge"
    )
    return JudgeRequested.model_construct(
        v=1,
        run_id=run.row.id,
        account_id=run.row.account_id,
        result_id=result.row.id,
        case_id=result.row.case_id,
        trial=result.row.trial,
        attempt=result.now("attempt"),
        case_name=case.name,
        context=case.rubric,
        critical=case.critical,
        criteria=criteria,
        transcript=transcript,
        judge=judge,
        agent_provider=agent.provider.value,
        agent_model=agent.model,
        timeout_ms=run.settings.case_timeout_ms,
        budget_micro_usd=share,
    )
