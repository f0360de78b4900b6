"""Whether a run may start, and what it is made of: pure decisions before anything is written."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any
from uuid import UUID

from proctor_api.pipeline.trials import weather_of
from proctor_contracts.agents import AgentSnapshot, HandlerSnapshot, JudgeSettings
from proctor_contracts.cases import CaseSnapshot, effective_retry_policy
from proctor_contracts.effects import HandlerEffect
from proctor_contracts.endpoint import HttpEndpoint
from proctor_contracts.enums import Priority, Provider, RetryPolicy, Runner
from proctor_contracts.run_settings import RunSettings
from proctor_contracts.schemas.common import FieldProblem, Warning_
from proctor_contracts.schemas.runs import RunCreate
from proctor_contracts.tool_assertions import Precedes
from proctor_contracts.weather import parse_weather
from proctor_store.repositories.cases import CaseRecord
from proctor_store.repositories.handlers import HandlerRecord
from proctor_store.repositories.integrations import IntegrationRecord

__all__ = [
    "DEFAULT_CASE_TIMEOUT_MS",
    "DEFAULT_THRESHOLD",
    "blind_warning",
    "body_digest",
    "case_rows",
    "case_snapshot",
    "is_blind",
    "not_available",
    "quota_wait",
    "result_rows",
    "run_settings",
    "runner_problems",
    "selection_problems",
]

DEFAULT_THRESHOLD = 70
DEFAULT_CASE_TIMEOUT_MS = 120_000


def not_available(body: RunCreate) -> list[FieldProblem]:
    """Name what a run asks for that does not work yet."""
    asked = {
        "promptVersionId": body.prompt_version_id is not None,
        "personaIds": bool(body.persona_ids) and not body.case_ids and body.case_filter is None,
    }
    return [
        FieldProblem(path=path, message="is not available yet; leave it out", code="not_available_yet")
        for path, present in asked.items()
        if present
    ]


def runner_problems(body: RunCreate, provider: Provider) -> list[FieldProblem]:
    """Say what the run's runner cannot do: give this provider tools, or break tools that it never calls."""
    found = []
    if body.runner is Runner.GATEWAY and not provider.takes_tools:
        known = ", ".join(sorted(one for one in Provider if one.takes_tools))
        message = f"gateway gives a model the handlers as tools, which {provider} has no way to; use {known}"
        found.append(FieldProblem(path="runner", message=message, code="runner_needs_model"))
    if body.runner is Runner.SCRIPTED:
        asked = {"weather": bool(body.weather), "onToolError": body.on_tool_error != "continue"}
        found += [
            FieldProblem(
                path=path,
                message="has no meaning with runner scripted, which calls no tools; use runner: gateway",
                code="runner_calls_no_tools",
            )
            for path, present in asked.items()
            if present
        ]
    return found


def is_blind(case: CaseSnapshot, settings: RunSettings) -> bool:
    """Whether a case asks for what this run cannot see: tool calls, or the ledger of writes."""
    if settings.runner is Runner.GATEWAY:
        return False
    endpoint = settings.agent.endpoint
    captures = endpoint is not None and endpoint.tool_calls_path is not None
    return any(
        check.needs_effects
        or (not captures and (check.needs_tools or (isinstance(check, Precedes) and check.reads_tools)))
        for check in case.assertions
    )


def blind_warning(cases: int) -> Warning_:
    """Say of how many cases a check will stay undecided."""
    some = "a case asserts" if cases == 1 else f"{cases} cases assert"
    message = (
        f"{some} tool calls or writes that this run does not see, so these checks stay undecided; "
        "use runner: gateway, or set endpoint.toolCallsPath if the bot reports its calls"
    )
    return Warning_(path="runner", message=message, code="no_tool_capture")


def selection_problems(body: RunCreate) -> list[FieldProblem]:
    """Say what is wrong with the choice of cases."""
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
) -> tuple[RunSettings, list[Warning_]]:
    """Snapshot everything the run was started with, and warn of what it ignores or will lack.

    `handlers` are those of the integration; only a run that calls them takes them along.
    """
    endpoint = integration.endpoint
    provider = body.provider or Provider(integration.provider)
    gateway = body.runner is Runner.GATEWAY
    override = body.agent_prompt_override
    agent = AgentSnapshot(
        integration_id=integration.id,
        integration_name=integration.name,
        provider=provider,
        model=body.model or integration.model,
        prompt=integration.agent_prompt if override is None else override,
        endpoint=None if endpoint is None else HttpEndpoint.model_validate(endpoint),
        handlers=tuple(map(_handler_snapshot, handlers)) if gateway else (),
    )
    warnings = _tool_warnings(body, [handler.name for handler in handlers]) if gateway else []
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


def _handler_snapshot(record: HandlerRecord) -> HandlerSnapshot:
    return HandlerSnapshot(
        id=record.id,
        name=record.name,
        description=record.description,
        url=record.url,
        method=record.method,
        headers=record.headers,
        body=record.body,
        parameters_schema=record.parameters_schema,
        is_side_effect=record.is_side_effect,
        effect=None if record.effect is None else HandlerEffect.model_validate(record.effect),
    )


def _tool_warnings(body: RunCreate, names: Sequence[str]) -> list[Warning_]:
    if not names:
        message = "the integration has no handlers, so there is no tool that the model could call"
        return [Warning_(path="runner", message=message, code="no_handlers")]
    known = ", ".join(sorted(names)[:20])
    return [
        Warning_(
            path=f"weather.{place}",
            message=f"strikes nothing: no handler is called {glob}; there are {known}",
            code="no_such_handler",
        )
        for place, glob in enumerate(parse_weather(text).tool for text in body.weather)
        if not any(fnmatchcase(name, glob) for name in names)
    ]


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
