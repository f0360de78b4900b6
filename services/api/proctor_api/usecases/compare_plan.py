"""What a comparison is made of: its cells resolved, its budget split, its refusals named by cell."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from proctor_api.errors import ApiError, bad_request
from proctor_contracts.enums import Provider
from proctor_contracts.schemas.common import FieldProblem
from proctor_contracts.schemas.compare import CompareCell, CompareCreate
from proctor_contracts.schemas.runs import CaseFilter, RunCreate
from proctor_contracts.topology import DEFAULT_POOL
from proctor_store.repositories.integrations import IntegrationRecord

from .run_versions import ChosenVersion, model_for, provider_for
from .run_view import MICRO_PER_CENT

__all__ = [
    "PlannedCell",
    "budget_shares",
    "cell_body",
    "compare_digest",
    "in_cell",
    "planned",
    "refuse_duplicates",
    "trials_problems",
]

_OF_A_CELL = frozenset({"promptVersionId", "provider", "model", "pool"})
_OF_A_RUN = frozenset(
    {
        "budget_mode", "score_threshold", "runner", "dry_run", "retries_on_failure", "repeats", "concurrency",
        "judge", "judge_policy", "on_tool_error", "weather", "case_timeout_ms", "tags",
    }
)  # fmt: skip
_NEEDS_NO_MODEL = frozenset({Provider.HTTP, Provider.REPLAY})


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """A cell as it will be played."""

    chosen: ChosenVersion
    provider: Provider
    model: str | None
    pool: str
    budget_micro: int | None

    def stored(self) -> dict[str, Any]:
        """The cell as a comparison keeps it."""
        return {
            "promptVersionId": str(self.chosen.version.id),
            "versionNumber": self.chosen.version.version_number,
            "provider": self.provider.value,
            "model": self.model,
            "pool": self.pool,
            "budgetMicro": self.budget_micro,
        }


def budget_shares(cents: int | None, cells: int) -> list[int | None]:
    """Split a budget into micro-USD a cell: equally, and of what is left one cent each to the first cells.

    Raises:
        ApiError: 400 when a cell would have nothing.
    """
    if cents is None:
        return [None] * cells
    each, left = divmod(cents, cells)
    if not each:
        message = f"{cents} cents cannot be split among {cells} cells; give at least one cent for each"
        raise bad_request([FieldProblem(path="budgetCents", message=message)])
    return [(each + (place < left)) * MICRO_PER_CENT for place in range(cells)]


def cell_body(body: CompareCreate, integration_id: UUID, cell: CompareCell) -> RunCreate:
    """Say what the run of a cell is asked for; its budget and its place are the comparison's to say."""
    shared = {name: getattr(body, name) for name in body.model_fields_set & _OF_A_RUN}
    everything = body.case_ids is None and body.case_filter is None
    return RunCreate(
        integration_id=integration_id,
        case_ids=body.case_ids,
        case_filter=CaseFilter() if everything else body.case_filter,
        provider=cell.provider,
        model=cell.model,
        prompt_version_id=cell.prompt_version_id,
        **shared,
    )


def planned(
    body: RunCreate,
    cell: CompareCell,
    *,
    integration: IntegrationRecord,
    chosen: ChosenVersion,
    pools: Mapping[Provider, str],
    budget_micro: int | None,
) -> PlannedCell:
    """Resolve what a cell leaves open.

    Raises:
        ApiError: 400 when there is no model for it anywhere.
    """
    provider, model = provider_for(body, integration, chosen), model_for(body, integration, chosen)
    missing = model is None or not (cell.model or _belongs(provider, integration, chosen))
    if missing and provider not in _NEEDS_NO_MODEL:
        message = f"{provider} needs a model, and neither the agent nor the integration has one"
        raise bad_request([FieldProblem(path="model", message=message, code="model_missing")])
    pool = cell.pool or pools.get(provider, DEFAULT_POOL)
    return PlannedCell(chosen, provider, model, pool, budget_micro)


def _belongs(provider: Provider, integration: IntegrationRecord, chosen: ChosenVersion) -> bool:
    """Whether there is a default model of this very provider."""
    agent = chosen.agent
    by_agent = (
        agent.default_provider or integration.provider
    ) == provider and agent.default_model is not None
    return by_agent or integration.provider == provider


def trials_problems(body: CompareCreate) -> list[FieldProblem]:
    """Say what may not be asked of a comparison that chooses its trials itself."""
    if body.until_decided is None:
        return []
    message = "cannot be combined with untilDecided, which decides how often cases are played"
    asked = {"repeats": body.repeats != 1, "weather": bool(body.weather)}
    return [FieldProblem(path=path, message=message) for path, given in asked.items() if given]


def refuse_duplicates(cells: Sequence[PlannedCell]) -> None:
    """Refuse a matrix that would play the same thing twice.

    Raises:
        ApiError: 400 naming the second of two equal cells.
    """
    seen: dict[tuple[UUID, Provider, str | None], int] = {}
    problems = []
    for place, cell in enumerate(cells):
        first = seen.setdefault((cell.chosen.version.id, cell.provider, cell.model), place)
        if first != place:
            message = (
                f"plays the same version, provider and model as cell {first}; use repeats for more trials"
            )
            problems.append(FieldProblem(path=f"matrix.{place}", message=message, code="duplicate_cell"))
    if problems:
        raise bad_request(problems, code="duplicate_cell")


@contextmanager
def in_cell(place: int) -> Iterator[None]:
    """Name the cell in what is refused inside the block."""
    try:
        yield
    except ApiError as error:
        problems = [_of_cell(problem, place) for problem in error.errors]
        detail = f"cell {place} of the matrix: {error.detail}"
        raise ApiError(error.status, error.code, detail, problems, error.retry_after) from error


def compare_digest(agent_id: UUID, body: CompareCreate) -> str:
    """Tell two bodies apart under one idempotency key."""
    return hashlib.sha256(f"{agent_id} {body.model_dump_json(exclude_unset=True)}".encode()).hexdigest()


def _of_cell(problem: FieldProblem, place: int) -> FieldProblem:
    if problem.path in _OF_A_CELL:
        return problem.model_copy(update={"path": f"matrix.{place}.{problem.path}"})
    message = f"{problem.path}: {problem.message}"
    return problem.model_copy(update={"path": f"matrix.{place}", "message": message})
