"""What stops a job before its first call: pure checks that say what to set."""

from __future__ import annotations

from proctor_contracts.endpoint import endpoint_problem
from proctor_contracts.enums import Blame, Provider, Runner
from proctor_contracts.messages import CaseRequested
from proctor_contracts.results import CaseError

__all__ = ["problem"]

_NEEDS_MODEL = frozenset({Provider.ANTHROPIC, Provider.GROQ, Provider.OPENAI})


def problem(job: CaseRequested) -> CaseError | None:
    """Say why a job cannot be played at all, or None when it can."""
    agent = job.agent
    if job.runner is Runner.GATEWAY and not agent.provider.takes_tools:
        return CaseError(
            code="runner_mismatch",
            message=(
                f"runner gateway gives tools to a model, and integration {agent.integration_name!r} is a bot "
                "over http that has its own; use runner: scripted, or provider anthropic, groq or openai"
            ),
            blame=Blame.INFRASTRUCTURE,
        )
    if agent.provider in _NEEDS_MODEL and not (agent.model or "").strip():
        return CaseError(
            code="missing_model",
            message=(
                f"no model is set: provider {agent.provider} needs one; set `model` on integration "
                f"{agent.integration_name!r} or on the run"
            ),
            blame=Blame.INFRASTRUCTURE,
        )
    lack = endpoint_problem(agent.provider, agent.endpoint)
    if lack is not None:
        return CaseError(
            code="missing_endpoint",
            message=f"integration {agent.integration_name!r}: {lack}",
            blame=Blame.INFRASTRUCTURE,
        )
    return None
