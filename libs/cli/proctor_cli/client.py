"""What the command needs of the platform, wherever it runs: in this process or behind a URL."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Literal, Protocol
from uuid import UUID

from .prompt_versions import PromptVersions

if TYPE_CHECKING:  # the schemas cost more to import than most commands take
    from proctor_contracts.diff import RunDiff
    from proctor_contracts.enums import ResultStatus, RunStatus
    from proctor_contracts.schemas.adversarial import SeedAdversarial, SeedOutcome
    from proctor_contracts.schemas.cases import BulkCases, BulkOutcome
    from proctor_contracts.schemas.common import Problem
    from proctor_contracts.schemas.imports import CaseFormat, ImportOutcome
    from proctor_contracts.schemas.integrations import (
        HandlerCreate,
        HandlerView,
        IntegrationFields,
        IntegrationView,
    )
    from proctor_contracts.schemas.runs import Rerun, ResultsPage, RunCreate, RunDocument, RunEvent, RunView
    from proctor_contracts.stability import StabilityReport

__all__ = ["ExportFormat", "Platform", "PlatformRefused", "PlatformUnavailable"]

ExportFormat = Literal["json", "junit", "markdown", "csv"]


class PlatformRefused(Exception):
    """The platform said no; `problem` says why, with the fields concerned."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.code}: {problem.detail}")
        self.problem = problem


class PlatformUnavailable(Exception):
    """The platform could not be reached, or stopped answering; the message says what to do."""


class Platform(PromptVersions, Protocol):
    """The platform's operations, of one account.

    Every method may raise PlatformRefused or PlatformUnavailable. `outlives` says whether its runs go on when
    this command ends.
    """

    outlives: bool

    async def upsert_integration(self, integration: IntegrationFields) -> IntegrationView:
        """Create the integration, or make the one of this name exactly so (unset fields are cleared)."""
        ...

    async def replace_handlers(
        self, integration_id: UUID, handlers: Sequence[HandlerCreate]
    ) -> tuple[HandlerView, ...]:
        """Make the integration's handlers exactly these, matched by name."""
        ...

    async def bulk_upsert_cases(self, bulk: BulkCases) -> BulkOutcome:
        """Create or update cases by ref, all or none; ids come back in the order given."""
        ...

    async def find_integration(self, name_or_id: str) -> IntegrationView:
        """Read the integration of this id, or of exactly this name."""
        ...

    async def seed_adversarial(self, wanted: SeedAdversarial) -> SeedOutcome:
        """Add a pack of attacks to an integration; those that are there already are skipped."""
        ...

    async def import_cases(
        self,
        integration_id: UUID,
        data: bytes,
        *,
        name: str,
        format_: CaseFormat | None = None,
        dry_run: bool = False,
        owner: str | None = None,
        sheet: str | None = None,
        categories: bytes | None = None,
    ) -> ImportOutcome:
        """Bring the cases of a file in, a workbook unless `format_` says otherwise.

        `name` is what the file is called, `owner` the account.
        """
        ...

    async def export_cases(
        self, integration_id: UUID, *, category: str | None = None, language: str = "uk"
    ) -> bytes:
        """Write the integration's cases as a workbook that can be imported again."""
        ...

    async def start_run(self, run: RunCreate) -> RunView:
        """Start a run."""
        ...

    async def get_run(self, run_id: UUID) -> RunView:
        """Read one run with its live counters."""
        ...

    async def runs(
        self, *, integration_id: UUID | None = None, status: RunStatus | None = None, take: int = 20
    ) -> tuple[RunView, ...]:
        """List runs, newest first."""
        ...

    async def results(
        self,
        run_id: UUID,
        *,
        status: ResultStatus | None = None,
        flaky: bool | None = None,
        imperfect: bool | None = None,
        include_attempts: bool = False,
        cursor: str | None = None,
        take: int = 200,
    ) -> ResultsPage:
        """Read one page of results, on request with every attempt; `meta.next_cursor` leads to the next."""
        ...

    def events(self, run_id: UUID, *, after: int | None = None) -> AsyncIterator[RunEvent]:
        """Follow a run's events after number `after` (None: from the first) up to the terminal one.

        Numbered events come exactly once and in order, over as many reconnections as it takes;
        transient ones (`seq` null) may be lost. Ends by itself after `run.completed`.
        """
        ...

    async def cancel(self, run_id: UUID) -> RunView:
        """Cancel a run; a second cancel changes nothing."""
        ...

    async def rerun(self, run_id: UUID, rerun: Rerun) -> RunView:
        """Play some results of an old run again, from its snapshots, as a new run."""
        ...

    async def export(self, run_id: UUID, format_: ExportFormat) -> str:
        """Render the whole run as text in one of the formats."""
        ...

    async def document(self, run_id: UUID) -> RunDocument:
        """Read the whole run as one document."""
        ...

    async def diff(self, run_id: UUID, other_id: UUID) -> RunDiff:
        """Compare two runs case by case; `run_id` is the baseline."""
        ...

    async def stability(
        self, integration_id: UUID, *, like: UUID | None = None, runs: int = 50, take: int = 50
    ) -> StabilityReport:
        """Read how steady the integration's cases are, the most unstable first.

        Counted are the last `runs` runs with the provider, model and prompt of run `like` (None: the newest).
        """
        ...
