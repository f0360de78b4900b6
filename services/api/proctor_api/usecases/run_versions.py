"""The version of a prompt that a run is started with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from uuid import UUID

from proctor_api.auth import Caller
from proctor_api.errors import ApiError, bad_request
from proctor_contracts.endpoint import placeholders
from proctor_contracts.enums import Provider
from proctor_contracts.schemas.common import FieldProblem, Warning_
from proctor_contracts.schemas.runs import RunCreate
from proctor_store.repositories import agents, versions
from proctor_store.repositories.agents import AgentRecord
from proctor_store.repositories.integrations import IntegrationRecord
from proctor_store.repositories.versions import VersionRecord
from proctor_store.session import Unit

__all__ = ["ChosenVersion", "chosen_version", "model_for", "prompt_warnings", "provider_for"]

_CARRIES_PROMPT = frozenset({"prompt", "messages"})


@dataclass(frozen=True, slots=True)
class ChosenVersion:
    """A version and the agent whose it is."""

    agent: AgentRecord
    version: VersionRecord


async def chosen_version(
    unit: Unit,
    caller: Caller,
    integration: IntegrationRecord,
    version_id: UUID | None,
    *,
    field: str = "promptVersionId",
) -> ChosenVersion | None:
    """Read the version that a run of this integration names; None when it names none.

    Raises:
        ApiError: 404 for an unknown version, 400 for one of another integration's agent; both name `field`.
    """
    if version_id is None:
        return None
    version = await versions.get(unit, caller.account_id, version_id)
    if version is None:
        problem = FieldProblem(path=field, message="there is no such version", code="no_such_version")
        raise ApiError(404, "not_found", "there is no such prompt version in this account", [problem])
    agent = await agents.of_integration(unit, caller.account_id, integration.id)
    if agent is None or agent.id != version.agent_id:
        message = f"is a version of another agent than that of integration {integration.name!r}"
        raise bad_request([FieldProblem(path=field, message=message, code="foreign_version")])
    return ChosenVersion(agent, version)


def provider_for(body: RunCreate, integration: IntegrationRecord, chosen: ChosenVersion | None) -> Provider:
    """The provider of a run: its own, else its agent's if it names a version, else the integration's."""
    default = None if chosen is None else chosen.agent.default_provider
    return body.provider or Provider(default or integration.provider)


def model_for(body: RunCreate, integration: IntegrationRecord, chosen: ChosenVersion | None) -> str | None:
    """The model of a run, found as its provider is; a default is no model of another provider."""
    if body.model is not None:
        return body.model
    if chosen is not None and chosen.agent.default_model is not None:
        own = chosen.agent.default_provider or integration.provider
        if provider_for(body, integration, chosen).value == own:
            return chosen.agent.default_model
    return integration.model


def prompt_warnings(
    integration: IntegrationRecord, provider: Provider, chosen: ChosenVersion | None
) -> list[Warning_]:
    """Warn of a version that never reaches the bot: its requests carry no prompt."""
    if chosen is None or provider is not Provider.HTTP:
        return []
    endpoint = integration.endpoint or {}
    template = json.dumps([endpoint.get("body"), endpoint.get("headers")], ensure_ascii=False)
    if not _CARRIES_PROMPT.isdisjoint(placeholders(template)):
        return []
    message = "changes nothing: endpoint.body sends neither {{prompt}} nor {{messages}} to the bot"
    return [Warning_(path="promptVersionId", message=message, code="prompt_not_sent")]
