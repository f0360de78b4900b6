"""The API's operations called in this process, with its refusals put as the command knows them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from proctor_api.local import LocalApi
from proctor_cli.client import ExportFormat
from proctor_contracts.diff import RunDiff
from proctor_contracts.enums import ResultStatus, RunStatus
from proctor_contracts.schemas.adversarial import SeedAdversarial, SeedOutcome
from proctor_contracts.schemas.cases import BulkCases, BulkOutcome
from proctor_contracts.schemas.imports import CaseFormat, ImportOutcome
from proctor_contracts.schemas.integrations import (
    HandlerCreate,
    HandlerView,
    IntegrationFields,
    IntegrationView,
)
from proctor_contracts.schemas.runs import Rerun, ResultsPage, RunCreate, RunDocument, RunEvent, RunView
from proctor_contracts.stability import StabilityReport
from proctor_llm.registry import Models

from .refusals import translated
from .versions import EmbeddedVersions

if TYPE_CHECKING:
    from proctor_cli.client import Platform

__all__ = ["EmbeddedPlatform"]


class EmbeddedPlatform(EmbeddedVersions):
    """A platform in this process."""

    outlives = False

    def __init__(self, api: LocalApi, *, models: Models) -> None:
        self._api = api
        self._models = models

    async def upsert_integration(self, integration: IntegrationFields) -> IntegrationView:
        """Create the integration or make the one of its name so."""
        with translated():
            return await self._api.upsert_integration(integration)

    async def replace_handlers(
        self, integration_id: UUID, handlers: Sequence[HandlerCreate]
    ) -> tuple[HandlerView, ...]:
        """Make the handlers exactly these."""
        with translated():
            return await self._api.replace_handlers(integration_id, handlers)

    async def bulk_upsert_cases(self, bulk: BulkCases) -> BulkOutcome:
        """Create or update cases."""
        with translated():
            return await self._api.bulk_upsert_cases(bulk)

    async def find_integration(self, name_or_id: str) -> IntegrationView:
        """Read an integration."""
        with translated():
            return await self._api.find_integration(name_or_id)

    async def seed_adversarial(self, wanted: SeedAdversarial) -> SeedOutcome:
        """Add a pack of attacks."""
        with translated():
            return await self._api.seed_adversarial(wanted)

    async def import_cases(
        self,
        integration_id: UUID,
        data: bytes,
        *,
        name: str,  # noqa: ARG002 - what a form calls the file; nothing is decided by it
        format_: CaseFormat | None = None,
        dry_run: bool = False,
        owner: str | None = None,
        sheet: str | None = None,
        categories: bytes | None = None,
    ) -> ImportOutcome:
        """Bring the cases of a file in."""
        with translated():
            return await self._api.import_cases(
                integration_id,
                data,
                format_=format_,
                dry_run=dry_run,
                owner=owner,
                sheet=sheet,
                categories=categories,
            )

    async def export_cases(
        self, integration_id: UUID, *, category: str | None = None, language: str = "uk"
    ) -> bytes:
        """Write cases as a workbook."""
        with translated():
            return await self._api.export_cases(integration_id, category=category, language=language)

    async def start_run(self, run: RunCreate) -> RunView:
        """Start a run, with its provider's SDK loaded: that takes seconds that are not the bot's."""
        with translated():
            bot = await self._api.find_integration(str(run.integration_id))
            await self._models.prepare(run.provider or bot.provider, bot.endpoint)
            return await self._api.start_run(run)

    async def get_run(self, run_id: UUID) -> RunView:
        """Read one run."""
        with translated():
            return await self._api.get_run(run_id)

    async def runs(
        self, *, integration_id: UUID | None = None, status: RunStatus | None = None, take: int = 20
    ) -> tuple[RunView, ...]:
        """List runs, newest first."""
        with translated():
            return await self._api.runs(integration_id=integration_id, status=status, take=take)

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
        """Read one page of results."""
        with translated():
            return await self._api.results(
                run_id,
                status=status,
                flaky=flaky,
                imperfect=imperfect,
                include_attempts=include_attempts,
                cursor=cursor,
                take=take,
            )

    async def events(self, run_id: UUID, *, after: int | None = None) -> AsyncIterator[RunEvent]:
        """Follow a run's events to the terminal one."""
        with translated():
            async for event in self._api.events(run_id, after=after):
                yield event

    async def cancel(self, run_id: UUID) -> RunView:
        """Cancel a run."""
        with translated():
            return await self._api.cancel(run_id)

    async def rerun(self, run_id: UUID, rerun: Rerun) -> RunView:
        """Play some results again."""
        with translated():
            return await self._api.rerun(run_id, rerun)

    async def export(self, run_id: UUID, format_: ExportFormat) -> str:
        """Render the whole run as text."""
        with translated():
            return await self._api.export(run_id, format_)

    async def document(self, run_id: UUID) -> RunDocument:
        """Read the whole run."""
        with translated():
            return await self._api.document(run_id)

    async def diff(self, run_id: UUID, other_id: UUID) -> RunDiff:
        """Compare two runs."""
        with translated():
            return await self._api.diff(run_id, other_id)

    async def stability(
        self, integration_id: UUID, *, like: UUID | None = None, runs: int = 50, take: int = 50
    ) -> StabilityReport:
        """Read how steady cases are."""
        with translated():
            return await self._api.stability(integration_id, like=like, runs=runs, take=take)


if TYPE_CHECKING:

    def _fits(embedded: EmbeddedPlatform) -> Platform:
        return embedded
