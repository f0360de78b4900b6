"""What a run has to do with tools: whether its runner can call them, with which handlers, and who sees it."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from proctor_contracts.agents import HandlerSnapshot
from proctor_contracts.cases import CaseSnapshot
from proctor_contracts.effects import HandlerEffect
from proctor_contracts.enums import Provider, Runner
from proctor_contracts.run_settings import RunSettings
from proctor_contracts.schemas.common import FieldProblem, Warning_
from proctor_contracts.schemas.runs import RunCreate
from proctor_contracts.tool_assertions import Precedes
from proctor_contracts.weather import parse_weather
from proctor_store.repositories.handlers import HandlerRecord

__all__ = ["blind_warning", "handler_snapshot", "is_blind", "runner_problems", "tool_warnings"]


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


def handler_snapshot(record: HandlerRecord) -> HandlerSnapshot:
    """Take a handler as it is now; its secrets stay references."""
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


def tool_warnings(body: RunCreate, names: Sequence[str]) -> list[Warning_]:
    """Say what a run that calls tools will lack: all of them, or those that its weather should strike."""
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
