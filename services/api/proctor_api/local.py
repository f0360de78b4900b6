"""The API inside a process that owns database and bus alone: the same use cases, called, not served."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from proctor_chassis.bus.port import Bus, DeadSubscription, Listener, Subscription
from proctor_chassis.metrics import Meters
from proctor_contracts.agents import JudgeSettings
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
from proctor_grading.context import LanguageDetector, RegexEngine
from proctor_llm.prices import Prices
from proctor_store.engine import create_engine
from proctor_store.migrate import upgrade_database
from proctor_store.paging import Page, read_cursor
from proctor_store.repositories.cases import CaseQuery
from proctor_store.session import Database

from .auth import Caller
from .consuming import Consumers
from .errors import ApiError, not_found
from .pipeline.assembly import Pipeline
from .usecases.accounts import AccountLimits
from .usecases.exports import ExportFormat
from .wiring import Foundations, Services

if TYPE_CHECKING:  # read only where somebody imports cases
    from proctor_casefiles.categories import CategoryTable

    from .usecases.meta import MetaModel

__all__ = ["LOCAL_ACCOUNT", "LocalApi", "open_local", "problem_of"]

LOCAL_ACCOUNT = "local"
LOCAL_POOLS = ("default", "high")


def problem_of(error: ApiError) -> Problem:
    """Describe a refusal as the REST API would."""
    return Problem(
        title=error.code.replace("_", " "),
        status=error.status,
        detail=error.detail,
        code=error.code,
        errors=error.errors,
    )


class LocalApi:
    """The platform's operations for the local account; a refusal raises `ApiError`.

    Its subscriptions and listeners belong on the bus that the workers share with it.
    """

    def __init__(
        self, *, services: Services, pipeline: Pipeline, consumers: Consumers, caller: Caller
    ) -> None:
        self.services = services
        self.caller = caller
        self.pipeline = pipeline
        self._consumers = consumers

    def subscriptions(self) -> tuple[Subscription | DeadSubscription, ...]:
        """The work queues that the API consumes."""
        return (*self.pipeline.subscriptions(), *self._consumers.subscriptions())

    def listeners(self) -> tuple[Listener, ...]:
        """What the API hears in passing."""
        return self.pipeline.listeners()

    async def resume(self) -> int:
        """Send again what was outstanding when the last owner ended; returns how many jobs."""
        await self.services.firings.resend()
        await self.services.confirmations.resend()
        return await self.pipeline.sweeper.resume()

    async def end_interrupted(self) -> Sequence[UUID]:
        """Cancel the runs that the last owner left unfinished; they can be resumed from what they have."""
        left = await self.services.runs.unfinished(self.caller)
        for run in left:
            await self.services.runs.cancel(self.caller, run)
        return left

    async def upsert_integration(self, integration: IntegrationFields) -> IntegrationView:
        """Create the integration, or make the one of this name exactly so."""
        return await self.services.integrations.upsert(self.caller, integration)

    async def replace_handlers(
        self, integration_id: UUID, handlers: Sequence[HandlerCreate]
    ) -> tuple[HandlerView, ...]:
        """Make the integration's handlers exactly these, matched by name."""
        return await self.services.handlers.replace(self.caller, integration_id, handlers)

    async def bulk_upsert_cases(self, bulk: BulkCases) -> BulkOutcome:
        """Create or update cases by ref, all or none."""
        return await self.services.bulk.upsert(self.caller, bulk)

    async def find_integration(self, name_or_id: str) -> IntegrationView:
        """Read the integration of this id, or of exactly this name."""
        try:
            return await self.services.integrations.get(self.caller, UUID(name_or_id))
        except ValueError:
            listing = await self.services.integrations.list(self.caller, Page(take=1), name=name_or_id)
        if not listing.data:
            raise not_found(f"integration as {name_or_id!r}")
        return listing.data[0]

    async def seed_adversarial(self, wanted: SeedAdversarial) -> SeedOutcome:
        """Add a pack of attacks."""
        return await self.services.packs.seed(self.caller, wanted)

    async def import_cases(
        self,
        integration_id: UUID,
        data: bytes,
        *,
        format_: CaseFormat | None = None,
        dry_run: bool = False,
        owner: str | None = None,
        sheet: str | None = None,
        categories: bytes | None = None,
    ) -> ImportOutcome:
        """Bring the cases of a file in, a workbook unless `format_` says otherwise."""
        await self.services.accounts.owning(self.caller.account_id, owner)
        if format_ is not None and format_ is not CaseFormat.XLSX:
            return await self.services.text_imports.file(
                self.caller, integration_id, data, format_=format_, dry_run=dry_run
            )
        return await self.services.imports.workbook(
            self.caller, integration_id, data, dry_run=dry_run, sheet=sheet, categories=categories
        )

    async def export_cases(
        self, integration_id: UUID, *, category: str | None = None, language: str = "uk"
    ) -> bytes:
        """Write the integration's cases as a workbook."""
        query = CaseQuery(integration_id=integration_id, category=category)
        file = await self.services.case_files.workbook(
            self.caller, query, integration_id=integration_id, language=language
        )
        return file.body

    async def start_run(self, run: RunCreate) -> RunView:
        """Start a run."""
        return (await self.services.runs.start(self.caller, run))[0]

    async def get_run(self, run_id: UUID) -> RunView:
        """Read one run with its live counters."""
        return await self.services.runs.get(self.caller, run_id)

    async def runs(
        self, *, integration_id: UUID | None = None, status: RunStatus | None = None, take: int = 20
    ) -> tuple[RunView, ...]:
        """List runs, newest first."""
        page = Page(take=take)
        listing = await self.services.runs.list(
            self.caller, page=page, integration_id=integration_id, status=status
        )
        return listing.data

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
        page = Page(take=take, cursor=None if cursor is None else read_cursor(cursor))
        return await self.services.results.page(
            self.caller,
            run_id,
            page=page,
            status=status,
            flaky=flaky,
            imperfect=imperfect,
            include_attempts=include_attempts,
        )

    def events(self, run_id: UUID, *, after: int | None = None) -> AsyncIterator[RunEvent]:
        """Follow a run's events up to the terminal one."""
        return self.services.feed.events(self.caller, run_id, after=after)

    async def cancel(self, run_id: UUID) -> RunView:
        """Cancel a run; a second cancel changes nothing."""
        return await self.services.runs.cancel(self.caller, run_id)

    async def rerun(self, run_id: UUID, rerun: Rerun) -> RunView:
        """Play some results of an old run again as a new run."""
        return await self.services.runs.rerun(self.caller, run_id, rerun)

    async def export(self, run_id: UUID, format_: str) -> str:
        """Render the whole run as text."""
        return (await self.services.exports.export(self.caller, run_id, ExportFormat(format_))).body

    async def document(self, run_id: UUID) -> RunDocument:
        """Read the whole run as one document."""
        return await self.services.results.document(self.caller, run_id)

    async def stability(
        self, integration_id: UUID, *, like: UUID | None = None, runs: int = 50, take: int = 50
    ) -> StabilityReport:
        """Read how steady the integration's cases are."""
        return await self.services.histories.report(
            self.caller, integration_id, like=like, most_runs=runs, take=take
        )

    async def diff(self, run_id: UUID, other_id: UUID) -> RunDiff:
        """Compare two runs case by case; `run_id` is the baseline."""
        return await self.services.results.diff(self.caller, run_id, other_id)


@asynccontextmanager
async def open_local(
    *,
    database_url: str,
    bus: Bus,
    prices: Prices,
    judge: JudgeSettings | None,
    regex: RegexEngine,
    executor: Executor,
    clock: Callable[[], datetime],
    languages: LanguageDetector | None = None,
    categories: CategoryTable | None = None,
    meta: MetaModel | None = None,
    meters: Meters | None = None,
) -> AsyncIterator[LocalApi]:
    """Open the database, bring it up to date and put the API together.

    The bus is the caller's to start and stop; `executor` is the one thread on which `regex` may be used.
    """
    database = Database(create_engine(database_url))
    meters = meters or Meters()
    consumers = Consumers(services=lambda: services, meters=meters)
    pipeline = Pipeline(
        database=database,
        bus=bus,
        prices=prices,
        clock=clock,
        meters=meters,
        pools=LOCAL_POOLS,
        owner="local",
        alone=True,
        given_up=consumers.given_up,
    )
    services = Services(
        Foundations(
            database=database,
            clock=clock,
            monotonic=time.monotonic,
            settler=pipeline.settler,
            hub=pipeline.hub,
            announce=pipeline.announce,
            prices=prices,
            judge=judge,
            pools=LOCAL_POOLS,
            regex=regex,
            executor=executor,
            languages=languages,
            categories=categories,
            meta=meta,
        )
    )
    try:
        await upgrade_database(database)
        caller = await _local_caller(services)
        pipeline.start()
        yield LocalApi(services=services, pipeline=pipeline, consumers=consumers, caller=caller)
    finally:
        await pipeline.stop()
        await database.close()


async def _local_caller(services: Services) -> Caller:
    known = {account.name: account.id for account in await services.accounts.list()}
    if LOCAL_ACCOUNT not in known:
        return Caller((await services.accounts.create(LOCAL_ACCOUNT, AccountLimits())).id)
    return Caller(known[LOCAL_ACCOUNT])
