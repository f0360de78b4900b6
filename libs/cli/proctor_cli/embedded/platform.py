"""The API's operations called in this process, with its refusals put as the command knows them."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from proctor_api.errors import ApiError
from proctor_api.local import LocalApi, problem_of
from proctor_cli.client import ExportFormat, PlatformRefused, PlatformUnavailable
from proctor_contracts.diff import RunDiff
from proctor_contracts.enums import ResultStatus, RunStatus
from proctor_contracts.schemas.adversarial import SeedAdversarial, SeedOutcome
from proctor_contracts.schemas.cases import BulkCases, BulkOutcome
from proctor_contracts.schemas.imports import CaseFormat, ImportOutcome
from proctor_contracts.schemas.integrations import (
    HandlerCreate,
    HandlerView,
    IntegrationCreate,
    IntegrationView,
)
from proctor_contracts.schemas.runs import Rerun, ResultsPage, RunCreate, RunDocument, RunEvent, RunView
from proctor_store.session import StoreUnavailable

if TYPE_CHECKING:
    from proctor_cli.client import Platform

__all__ = ["EmbeddedPlatform"]


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except ApiError as error:
        raise PlatformRefused(problem_of(error)) from error
    except StoreUnavailable as error:
        raise PlatformUnavailable(f"the database in the state folder cannot be used: {error}") from error


class EmbeddedPlatform:
    """A platform in this process."""

    outlives = False

    def __init__(self, api: LocalApi) -> None:
        self._api = api

    async def upsert_integration(self, integration: IntegrationCreate) -> IntegrationView:
        """Create the integration or make the one of its name so."""
        with _translated():
            return await self._api.upsert_integration(integration)

    async def replace_handlers(
        self, integration_id: UUID, handlers: Sequence[HandlerCreate]
    ) -> tuple[HandlerView, ...]:
        """Make the handlers exactly these."""
        with _translated():
            return await self._api.replace_handlers(integration_id, handlers)

    async def bulk_upsert_cases(self, bulk: BulkCases) -> BulkOutcome:
        """Create or update cases."""
        with _translated():
            return await self._api.bulk_upsert_cases(bulk)

    async def find_integration(self, name_or_id: str) -> IntegrationView:
        """Read an integration."""
        with _translated():
            return await self._api.find_integration(name_or_id)

    async def seed_adversarial(self, wanted: SeedAdversarial) -> SeedOutcome:
        """Add a pack of attacks."""
        with _translated():
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
        with _translated():
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
        with _translated():
            return await self._api.export_cases(integration_id, category=category, language=language)

    async def start_run(self, run: RunCreate) -> RunView:
        """Start a run."""
        with _translated():
            return await self._api.start_run(run)

    async def get_run(self, run_id: UUID) -> RunView:
        """Read one run."""
        with _translated():
            return await self._api.get_run(run_id)

    async def runs(
        self, *, integration_id: UUID | None = None, status: RunStatus | None = None, take: int = 20
    ) -> tuple[RunView, ...]:
        """List runs, newest first."""
        with _translated():
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
        with _translated():
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
        with _translated():
            async for event in self._api.events(run_id, after=after):
                yield event

    async def cancel(self, run_id: UUID) -> RunView:
        """Cancel a run."""
        with _translated():
            return await self._api.cancel(run_id)

    async def rerun(self, run_id: UUID, rerun: Rerun) -> RunView:
        """Play some results again."""
        with _translated():
            return await self._api.rerun(run_id, rerun)

    async def export(self, run_id: UUID, format_: ExportFormat) -> str:
        """Render the whole run as text."""
        with _translated():
            return await self._api.export(run_id, format_)

    async def document(self, run_id: UUID) -> RunDocument:
        """Read the whole run."""
        with _translated():
            return await self._api.document(run_id)

    async def diff(self, run_id: UUID, other_id: UUID) -> RunDiff:
        """Compare two runs."""
        with _translated():
            return await self._api.diff(run_id, other_id)


if TYPE_CHECKING:

    def _fits(embedded: EmbeddedPlatform) -> Platform:
        return embedded
