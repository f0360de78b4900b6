"""The platform behind a URL: its REST API and event streams."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import aiohttp

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

from .client import ExportFormat, PlatformRefused, PlatformUnavailable
from .remote_versions import RemoteVersions
from .sse import ServerEvent
from .transport import RETRIES, Form, Sleep, Transport, backoff, decoded, parsed

if TYPE_CHECKING:
    from .client import Platform

__all__ = ["RemotePlatform", "open_remote"]

_BODY_BYTES = 1_500_000  # the API takes 2 MB; cases are sent in parcels below that
_MOST_CASES = 2_000
_PAGE = 200
_TERMINAL = "run.completed"
_RESYNC = "run.resync"


@contextlib.asynccontextmanager
async def open_remote(*, url: str, key: str, sleep: Sleep = asyncio.sleep) -> AsyncIterator[RemotePlatform]:
    """Open a session with a server."""
    headers = {"Authorization": f"Bearer {key}", "User-Agent": "proctor-cli"}
    timeout = aiohttp.ClientTimeout(total=120, connect=10)
    async with aiohttp.ClientSession(headers=headers, timeout=timeout) as session:
        yield RemotePlatform(Transport(session=session, url=url, sleep=sleep))


class RemotePlatform(RemoteVersions):
    """Speaks to the API with a key; waits out short outages, and resumes event streams without loss."""

    outlives = True

    def __init__(self, transport: Transport) -> None:
        self._http = transport

    async def healthy(self) -> bool:
        """Whether something that calls itself alive answers at the URL."""
        return await self._http.healthy()

    async def upsert_integration(self, integration: IntegrationFields) -> IntegrationView:
        """Create the integration or make the one of its name so."""
        body = integration.model_dump(mode="json")
        async for view in self._http.listed("/integrations"):
            if view["name"] == integration.name:
                return await self._http.one(IntegrationView, "PATCH", f"/integrations/{view['id']}", body)
        return await self._http.one(IntegrationView, "POST", "/integrations", body)

    async def replace_handlers(
        self, integration_id: UUID, handlers: Sequence[HandlerCreate]
    ) -> tuple[HandlerView, ...]:
        """Make the handlers exactly these."""
        path = f"/integrations/{integration_id}/handlers"
        old = {view["name"]: view["id"] async for view in self._http.listed(path)}
        views = []
        for handler in handlers:
            body = handler.model_dump(mode="json")
            known = old.pop(handler.name, None)
            where = path if known is None else f"{path}/{known}"
            views.append(await self._http.one(HandlerView, "POST" if known is None else "PATCH", where, body))
        for left in old.values():
            await self._http.text("DELETE", f"{path}/{left}")
        return tuple(views)

    async def bulk_upsert_cases(self, bulk: BulkCases) -> BulkOutcome:
        """Create or update cases, in as many parcels as the API's body limit asks for."""
        outcomes = []
        # Only what was given is sent: of "exactly one of two" fields, a null is not nothing.
        cases = [case.model_dump(mode="json", exclude_unset=True) for case in bulk.cases]
        for first, parcel in _parcels(cases):
            body = {"integrationId": str(bulk.integration_id), "cases": parcel}
            try:
                outcomes.append(await self._http.one(BulkOutcome, "POST", "/testing/cases/bulk", body))
            except PlatformRefused as refused:
                raise PlatformRefused(_renumbered(refused.problem, first)) from refused
        return BulkOutcome(
            created=sum(one.created for one in outcomes),
            updated=sum(one.updated for one in outcomes),
            unchanged=sum(one.unchanged for one in outcomes),
            ids=tuple(found for one in outcomes for found in one.ids),
            warnings=tuple(warning for one in outcomes for warning in one.warnings),
        )

    async def find_integration(self, name_or_id: str) -> IntegrationView:
        """Read an integration."""
        with contextlib.suppress(ValueError):
            return await self._http.one(IntegrationView, "GET", f"/integrations/{UUID(name_or_id)}")
        found = await self._http.send("GET", "/integrations", query={"name": name_or_id, "take": 1})
        if not found["data"]:
            detail = f"there is no such integration as {name_or_id!r} in this account"
            raise PlatformRefused(Problem(title="Not Found", status=404, detail=detail, code="not_found"))
        return parsed(IntegrationView, found["data"][0])

    async def seed_adversarial(self, wanted: SeedAdversarial) -> SeedOutcome:
        """Add a pack of attacks; sent twice, after a lost answer, it changes nothing more."""
        body = wanted.model_dump(mode="json", exclude_unset=True)
        return await self._http.one(SeedOutcome, "POST", "/testing/cases/seed-adversarial", body)

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
        """Send a file; one that was sent twice, after a lost answer, changes nothing more."""
        form = Form(
            texts={
                "integrationId": str(integration_id),
                "dryRun": str(dry_run).lower(),
                **({} if format_ is None else {"format": format_}),
                **({} if owner is None else {"owner": owner}),
                **({} if sheet is None else {"sheet": sheet}),
            },
            files={
                "file": (name, data),
                **({} if categories is None else {"categories": ("categories", categories)}),
            },
        )
        return await self._http.one(ImportOutcome, "POST", "/testing/cases/import", form)

    async def export_cases(
        self, integration_id: UUID, *, category: str | None = None, language: str = "uk"
    ) -> bytes:
        """Read the integration's cases as a workbook."""
        query = {"integrationId": integration_id, "category": category, "language": language}
        return await self._http.bytes("GET", "/testing/cases/export.xlsx", query=query)

    async def start_run(self, run: RunCreate) -> RunView:
        """Start a run; a request that is repeated after a lost answer does not start a second one."""
        body = run.model_dump(mode="json", exclude_unset=True)
        return await self._http.one(RunView, "POST", "/testing/runs", body, key=str(uuid4()))

    async def get_run(self, run_id: UUID) -> RunView:
        """Read one run."""
        return await self._http.one(RunView, "GET", f"/testing/runs/{run_id}")

    async def runs(
        self, *, integration_id: UUID | None = None, status: RunStatus | None = None, take: int = 20
    ) -> tuple[RunView, ...]:
        """List runs, newest first."""
        query = {"integrationId": integration_id, "status": status and status.value, "take": take}
        answer = await self._http.send("GET", "/testing/runs", query=query)
        return tuple(parsed(RunView, item) for item in answer["data"])

    async def results(
        self,
        run_id: UUID,
        *,
        status: ResultStatus | None = None,
        flaky: bool | None = None,
        imperfect: bool | None = None,
        include_attempts: bool = False,
        cursor: str | None = None,
        take: int = _PAGE,
    ) -> ResultsPage:
        """Read one page of results."""
        query = {
            "status": status and status.value,
            "flaky": None if flaky is None else str(flaky).lower(),
            "imperfect": None if imperfect is None else str(imperfect).lower(),
            "includeAttempts": "true" if include_attempts else None,
            "cursor": cursor,
            "take": take,
        }
        path = f"/testing/runs/{run_id}/results"
        return parsed(ResultsPage, await self._http.send("GET", path, query=query))

    async def cancel(self, run_id: UUID) -> RunView:
        """Cancel a run."""
        return await self._http.one(RunView, "POST", f"/testing/runs/{run_id}/cancel")

    async def rerun(self, run_id: UUID, rerun: Rerun) -> RunView:
        """Play some results again."""
        body = rerun.model_dump(mode="json")
        return await self._http.one(RunView, "POST", f"/testing/runs/{run_id}/rerun", body)

    async def export(self, run_id: UUID, format_: ExportFormat) -> str:
        """Render the run on the server."""
        return await self._http.text("GET", f"/testing/runs/{run_id}/export", query={"format": format_})

    async def document(self, run_id: UUID) -> RunDocument:
        """Read the whole run."""
        value = decoded(await self.export(run_id, "json"))
        # The document comes bare as an export, or in the envelope of other answers.
        return parsed(RunDocument, value.get("data", value) if isinstance(value, dict) else value)

    async def diff(self, run_id: UUID, other_id: UUID) -> RunDiff:
        """Compare two runs."""
        return await self._http.one(RunDiff, "GET", f"/testing/runs/{run_id}/diff/{other_id}")

    async def stability(
        self, integration_id: UUID, *, like: UUID | None = None, runs: int = 50, take: int = 50
    ) -> StabilityReport:
        """Read how steady cases are."""
        query = {"integrationId": integration_id, "likeRunId": like, "runs": runs, "take": take}
        found = await self._http.send("GET", "/testing/cases/flaky", query=query)
        return parsed(StabilityReport, found["data"])

    async def events(self, run_id: UUID, *, after: int | None = None) -> AsyncIterator[RunEvent]:
        """Follow a run's events, reconnecting where the last numbered one left off."""
        failures = 0
        while True:
            try:
                async for found in self._http.stream(f"/testing/runs/{run_id}/events", _resuming(after)):
                    event = _event(found)
                    failures = 0
                    if event.seq is not None:
                        # A resync says where the run really stands, which may be before what was asked for.
                        if after is not None and event.seq <= after and event.event != _RESYNC:
                            continue
                        after = event.seq
                    yield event
                    if event.event == _TERMINAL:
                        return
                if (await self.get_run(run_id)).status.final:
                    return
            except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
                failures += 1
                if failures > RETRIES:
                    raise PlatformUnavailable(
                        f"the event stream of run {run_id} keeps breaking: {error}"
                    ) from error
            await self._http.sleep(backoff(failures))


def _resuming(after: int | None) -> dict[str, str]:
    accept = {"Accept": "text/event-stream"}
    return accept if after is None else accept | {"Last-Event-ID": str(after)}


def _event(found: ServerEvent) -> RunEvent:
    data = json.loads(found.data)
    if not isinstance(data, dict):
        raise ValueError("an event's data is not an object")  # noqa: TRY004 - a broken stream, not a wrong call
    if {"event", "data"} <= data.keys():
        return RunEvent.model_validate({"at": datetime.now(UTC), "seq": None, **data})
    seq = int(found.own_id) if found.own_id and found.own_id.isdecimal() else None
    return RunEvent(seq=seq, event=found.event, data=data, at=data.get("at") or datetime.now(UTC))


def _parcels(cases: Sequence[dict[str, Any]]) -> list[tuple[int, list[dict[str, Any]]]]:
    parcels: list[tuple[int, list[dict[str, Any]]]] = []
    size = 0
    for index, case in enumerate(cases):
        weight = len(json.dumps(case, ensure_ascii=False).encode())
        if not parcels or size + weight > _BODY_BYTES or len(parcels[-1][1]) == _MOST_CASES:
            parcels.append((index, []))
            size = 0
        parcels[-1][1].append(case)
        size += weight
    return parcels


def _renumbered(problem: Problem, first: int) -> Problem:
    """Make `cases.3.name` of a later parcel count from the first case again."""
    if not first:
        return problem
    errors = []
    for fault in problem.errors:
        head, _, rest = fault.path.partition(".")
        index, _, tail = rest.partition(".")
        if head == "cases" and index.isdecimal():
            path = f"cases.{int(index) + first}" + (f".{tail}" if tail else "")
            errors.append(fault.model_copy(update={"path": path}))
        else:
            errors.append(fault)
    return problem.model_copy(update={"errors": tuple(errors)})


if TYPE_CHECKING:

    def _fits(remote: RemotePlatform) -> Platform:
        return remote
