"""Whether a run may start, and what it is made of: pure decisions before anything is written."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from proctor_api.pipeline.trials import weather_of
from proctor_contracts.agents import AgentSnapshot, JudgeSettings
from proctor_contracts.cases import CaseSnapshot, effective_retry_policy
from proctor_contracts.endpoint import HttpEndpoint
from proctor_contracts.enums import Priority, RetryPolicy, Runner
from proctor_contracts.run_settings import RunSettings
from proctor_contracts.schemas.common import FieldProblem, Warning_
from proctor_contracts.schemas.runs import RunCreate
from proctor_store.repositories.cases import CaseRecord
from proctor_store.repositories.handlers import HandlerRecord
from proctor_store.repositories.integrations import IntegrationRecord

from .run_tools import handler_snapshot, tool_warnings
from .run_versions import ChosenVersion, model_for, prompt_warnings, provider_for

__all__ = [
    "DEFAULT_CASE_TIMEOUT_MS",
    "DEFAULT_THRESHOLD",
    "body_digest",
    "case_rows",
    "case_snapshot",
    "not_available",
    "quota_wait",
    "result_rows",
    "run_settings",
    "selection_problems",
]

DEFAULT_THRESHOLD = 70
DEFAULT_CASE_TIMEOUT_MS = 120_000


def not_available(body: RunCreate) -> list[FieldProblem]:
    """Name what a run asks for that does not work yet."""
    asked = {
        "personaIds": bool(body.persona_ids) and not body.case_ids and body.case_filter is None,
    }
    return [
        FieldProblem(path=path, message="is not available yet; leave it out", code="not_available_yet")
        for path, present in asked.items()
        if present
    ]


def selection_problems(body: RunCreate) -> list[FieldProblem]:
    """Say what is wrong with the choice of cases and of the prompt."""
    if body.prompt_version_id is not None and body.agent_prompt_override is not None:
        message = "give promptVersionId or agentPromptOverride, not both"
        return [FieldProblem(path="agentPromptOverride", message=message)]
    if body.case_ids and body.case_filter is not None:
        return [FieldProblem(path="caseFilter", message="give caseIds or caseFilter, not both")]
    if not body.case_ids and body.case_filter is None:
        return [
            FieldProblem(
                path="caseIds",
                message="name the cases to run, or give caseFilter ({} takes all active cases)",
            )
        ]
    return []


def quota_wait(started: Sequence[datetime], per_minute: int | None, now: datetime) -> int | None:
    """Seconds until the account may start another run; None when it may now."""
    if per_minute is None or len(started) < per_minute:
        return None
    if per_minute == 0:
        return 60
    free_at = started[-per_minute] + timedelta(minutes=1)
    return max(1, int((free_at - now).total_seconds() + 0.999))


def body_digest(body: RunCreate) -> str:
    """Tell two bodies apart under one idempotency key."""
    return hashlib.sha256(body.model_dump_json(exclude_unset=True).encode()).hexdigest()


def run_settings(
    body: RunCreate,
    integration: IntegrationRecord,
    *,
    judge: JudgeSettings | None,
    handlers: Sequence[HandlerRecord] = (),
    chosen: ChosenVersion | None = None,
) -> tuple[RunSettings, list[Warning_]]:
    """Snapshot everything the run was started with, and warn of what it ignores or will lack.

    `handlers` are those of the integration; only a run that calls them takes them along. `chosen` is the
    version that the body names.
    """
    endpoint = integration.endpoint
    provider = provider_for(body, integration, chosen)
    gateway = body.runner is Runner.GATEWAY
    override = body.agent_prompt_override if chosen is None else chosen.version.prompt
    agent = AgentSnapshot(
        integration_id=integration.id,
        integration_name=integration.name,
        provider=provider,
        model=model_for(body, integration, chosen),
        prompt=integration.agent_prompt if override is None else override,
        endpoint=None if endpoint is None else HttpEndpoint.model_validate(endpoint),
        handlers=tuple(map(handler_snapshot, handlers)) if gateway else (),
    )
    warnings = tool_warnings(body, [handler.name for handler in handlers]) if gateway else []
    warnings += prompt_warnings(integration, provider, chosen)
    if body.persona_ids:
        warnings.append(
            Warning_(
                path="personaIds", message="is ignored: a run with cases is in case mode", code="ignored"
            )
        )
    settings = RunSettings(
        agent=agent,
        runner=body.runner,
        dry_run=body.dry_run,
        score_threshold=body.score_threshold,
        retries_on_failure=body.retries_on_failure,
        repeats=body.repeats,
        budget_mode=body.budget_mode,
        concurrency=body.concurrency,
        judge=body.judge or judge,
        judge_policy=body.judge_policy,
        gate=body.gate,
        pool=body.pool,
        case_timeout_ms=body.case_timeout_ms or DEFAULT_CASE_TIMEOUT_MS,
        on_tool_error=body.on_tool_error,
        weather=body.weather,
    )
    return settings, warnings


def case_snapshot(case: CaseRecord, *, score_threshold: int | None) -> CaseSnapshot:
    """Take a case as it is now; its own threshold wins over the run's, and the default over none."""
    own = case.threshold
    threshold = (
        own if own is not None else score_threshold if score_threshold is not None else DEFAULT_THRESHOLD
    )
    tags = tuple(case.tags)
    stated = case.retry_policy
    # The stored parts were validated when they were saved; this reads them back into their types.
    return CaseSnapshot(
        id=case.id,
        revision=case.revision,
        ref=case.ref,
        name=case.name,
        category=case.category,
        priority=Priority(case.priority),
        input=case.input,
        assertions=case.assertions,
        rubric=case.rubric,
        weight=case.weight,
        threshold=threshold,
        tags=tags,
        critical=case.critical,
        retry_policy=effective_retry_policy(
            None if stated is None else RetryPolicy(stated),
            category=case.category,
            critical=case.critical,
            tags=tags,
            threshold=threshold,
        ),
        budget=case.budget,
    )


def case_rows(run_id: UUID, parcel: Sequence[tuple[CaseSnapshot, str]]) -> list[dict[str, Any]]:
    """Lay out the rows of a run's cases, each given with its search text."""
    return [
        {
            "run_id": run_id,
            "case_id": case.id,
            "ref": case.ref,
            "name": case.name,
            "category": case.category,
            "priority": case.priority.value,
            "weight": case.weight,
            "critical": case.critical,
            "tags": list(case.tags),
            "snapshot": case.model_dump_json(exclude_none=True),
            "search_text": search,
        }
        for case, search in parcel
    ]


def result_rows(
    run_id: UUID,
    account_id: UUID,
    parcel: Sequence[CaseSnapshot],
    *,
    ids: Sequence[UUID],
    place: int,
    count: int,
    settings: RunSettings,
) -> list[dict[str, Any]]:
    """Lay out the waiting results of some of a run's cases: every case once, then every case again.

    `ids` holds one id for each result of the run in order, `count` is the run's number of cases, and `place`
    that of the parcel's first case. Each trial has its weather.
    """
    return [
        {
            "id": ids[ordinal],
            "account_id": account_id,
            "run_id": run_id,
            "case_id": case.id,
            "trial": trial + 1,
            "ordinal": ordinal,
            "weather": weather,
            "status": "pending",
            "stage": "waiting",
            "history": [],
        }
        for trial in range(len(ids) // count)
        for weather in (weather_of(settings, trial + 1),)
        for at, case in enumerate(parcel, place)
        for ordinal in (trial * count + at,)
    ]
