"""From a stored run to what clients see of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from proctor_contracts.enums import RunMode, RunStatus, Trigger
from proctor_contracts.gate import GateDecision
from proctor_contracts.run_settings import RunSettings
from proctor_contracts.schemas.common import Warning_
from proctor_contracts.schemas.runs import RunProgress, RunView
from proctor_contracts.summary import RunSummary

__all__ = ["MICRO_PER_CENT", "cents", "run_progress", "run_view"]

MICRO_PER_CENT = 10_000


def cents(micro: int | None) -> float | None:
    """Show money: cents with two decimals, null when unknown."""
    return None if micro is None else round(micro / MICRO_PER_CENT, 2)


def run_progress(row: Mapping[Any, Any], *, now: datetime) -> RunProgress:
    """Count what is done; the ETA assumes that the rest goes as fast as what went before."""
    done = row["total"] - row["remaining"]
    started, eta = row["started_at"], None
    if started is not None and done and row["remaining"] and row["completed_at"] is None:
        eta = int((now - started).total_seconds() / done * row["remaining"])
    return RunProgress(
        total=row["total"],
        done=done,
        passed=row["passed"],
        failed=row["failed"],
        error=row["error"],
        cancelled=row["cancelled"],
        flaky=row["flaky"],
        in_flight=min(row["in_flight"], row["window"]),  # those that wait at hand are not being played
        cost_cents=None if row["unknown_costs"] else cents(row["cost_micro"]),
        eta_seconds=eta,
    )


def run_view(row: Mapping[Any, Any], *, now: datetime, case_ids: Sequence[UUID] | None = None) -> RunView:
    """Describe a run."""
    settings = RunSettings.model_validate(row["settings"])
    summary, decision = row["summary"], row["gate_decision"]
    return RunView(
        id=row["id"],
        integration_id=row["integration_id"],
        integration_name=row["integration_name"],
        status=RunStatus(row["status"]),
        trigger=Trigger(row["trigger"]),
        mode=RunMode(row["mode"]),
        runner=settings.runner,
        dry_run=settings.dry_run,
        agent_prompt_snapshot=row["agent_prompt_snapshot"],
        case_ids=None if case_ids is None else tuple(case_ids),
        score_threshold=settings.score_threshold,
        retries_on_failure=settings.retries_on_failure,
        repeats=settings.repeats,
        budget_cents=cents(row["budget_micro"]),
        budget_mode=settings.budget_mode,
        provider=row["provider"],
        model=row["model"],
        judge=settings.judge,
        judge_policy=settings.judge_policy,
        concurrency=settings.concurrency or row["window"],
        pool=settings.pool,
        on_tool_error=settings.on_tool_error,
        weather=settings.weather,
        tags=tuple(row["tags"]),
        agent_id=row["agent_id"],
        prompt_version_id=row["prompt_version_id"],
        compare_run_id=row["compare_run_id"],
        schedule_id=row["schedule_id"],
        rerun_of=row["rerun_of"],
        confirms_run_id=row["confirms_run_id"],
        prompt_overridden=row["prompt_overridden"],
        agent_models=tuple(row["agent_models"]),
        judge_models=tuple(row["judge_models"]),
        agent_fingerprints=tuple(row["agent_fingerprints"] or ()),
        judge_fingerprints=tuple(row["judge_fingerprints"] or ()),
        created_at=row["created_at"],
        started_at=row["started_at"],
        completed_at=row["completed_at"],
        progress=run_progress(row, now=now),
        summary=None if summary is None else RunSummary.model_validate(summary),
        gate=settings.gate,
        gate_decision=None if decision is None else GateDecision.model_validate(decision),
        warnings=tuple(Warning_.model_validate(warning) for warning in row["warnings"]),
    )
