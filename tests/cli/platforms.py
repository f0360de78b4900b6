"""A platform in memory that plays runs as a test says: good, failing, slow, refusing, away."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from proctor_cli.client import ExportFormat, PlatformRefused
from proctor_cli.context import Context
from proctor_cli.history import rows
from proctor_cli.main import run as run_command
from proctor_cli.screen import Screen
from proctor_cli.target import Target
from proctor_contracts.diff import RunDiff
from proctor_contracts.enums import Blame, ResultStatus, RunStatus
from proctor_contracts.ids import new_id
from proctor_contracts.results import CaseError
from proctor_contracts.schemas.adversarial import SeedAdversarial, SeedOutcome
from proctor_contracts.schemas.cases import BulkCases, BulkOutcome
from proctor_contracts.schemas.common import FieldProblem, Meta, Problem
from proctor_contracts.schemas.imports import ImportOutcome
from proctor_contracts.schemas.integrations import (
    HandlerCreate,
    HandlerView,
    IntegrationFields,
    IntegrationView,
)
from proctor_contracts.schemas.runs import (
    Rerun,
    ResultsData,
    ResultsPage,
    ResultView,
    RunCreate,
    RunDocument,
    RunEvent,
    RunView,
)
from proctor_contracts.stability import StabilityReport
from proctor_grading.diff import diff
from proctor_grading.gate import EVERY_CASE, gate
from proctor_grading.summary import summarise
from tests.cli.fake_versions import FakeVersions
from tests.reports.documents import START, check, document, result

if TYPE_CHECKING:
    from proctor_cli.client import Platform

PASSED, FAILED, ERROR, CANCELLED = (
    ResultStatus.PASSED,
    ResultStatus.FAILED,
    ResultStatus.ERROR,
    ResultStatus.CANCELLED,
)


NOBODY = "nobody"
"""A bot that no fake platform has."""


def refusal(status: int, code: str, *errors: FieldProblem) -> PlatformRefused:
    """A problem as the API gives it."""
    problem = Problem(title=code, status=status, code=code, detail=f"it is {code}", errors=errors)
    return PlatformRefused(problem)


@dataclass
class FakePlatform(FakeVersions):
    """`verdict` says by ref how a case ends; refs in `stuck` wait until the run is cancelled.

    Refs in `flawed` pass though a check of theirs fails.
    """

    verdict: Callable[[str], ResultStatus] = lambda _ref: PASSED
    stuck: frozenset[str] = frozenset()
    flawed: frozenset[str] = frozenset()
    refuse: dict[str, Exception] = field(default_factory=dict)
    waiting: asyncio.Event = field(default_factory=asyncio.Event)
    documents: dict[UUID, RunDocument] = field(default_factory=dict)
    integration: IntegrationFields | None = None
    handlers: tuple[HandlerCreate, ...] = ()
    started: list[RunCreate] = field(default_factory=list)
    reran: list[Rerun] = field(default_factory=list)
    steady: StabilityReport = field(default_factory=lambda: StabilityReport(integration_id=new_id()))
    asked_stability: list[tuple[UUID, UUID | None, int, int]] = field(default_factory=list)
    imported: list[dict[str, object]] = field(default_factory=list)
    seeded: list[SeedAdversarial] = field(default_factory=list)
    outcome: ImportOutcome | None = None
    cases: dict[UUID, tuple[str, str, str, bool]] = field(default_factory=dict)
    outlives: bool = True
    workers: bool | None = None
    target: Target | None = None
    _cancelled: asyncio.Event = field(default_factory=asyncio.Event)

    def _may(self, name: str) -> None:
        if name in self.refuse:
            raise self.refuse[name]

    async def upsert_integration(self, integration: IntegrationFields) -> IntegrationView:
        self._may("upsert_integration")
        self.integration = integration
        return IntegrationView(id=self.bot, created_at=START, updated_at=START, **dict(integration))

    async def replace_handlers(
        self, integration_id: UUID, handlers: Sequence[HandlerCreate]
    ) -> tuple[HandlerView, ...]:
        assert integration_id == self.bot
        self.handlers = tuple(handlers)
        return ()

    async def bulk_upsert_cases(self, bulk: BulkCases) -> BulkOutcome:
        self._may("bulk_upsert_cases")
        known = {case[0]: id_ for id_, case in self.cases.items()}
        ids = []
        for case in bulk.cases:
            id_ = known.get(case.ref or "", new_id())
            self.cases[id_] = (case.ref or "", case.name, case.category, case.critical)
            ids.append(id_)
        return BulkOutcome(created=len(ids), updated=0, unchanged=0, ids=tuple(ids))

    async def find_integration(self, name_or_id: str) -> IntegrationView:
        self._may("find_integration")
        if name_or_id == NOBODY:
            raise refusal(404, "not_found")
        found = await self.upsert_integration(IntegrationFields(name=name_or_id))
        return found.model_copy(update={"id": self.bot})

    async def seed_adversarial(self, wanted: SeedAdversarial) -> SeedOutcome:
        self.seeded.append(wanted)
        return SeedOutcome(created=8, skipped=0, total=8)

    async def import_cases(
        self, integration_id: UUID, data: bytes, *, dry_run: bool = False, **more: object
    ) -> ImportOutcome:
        assert integration_id == self.bot
        self.imported.append({"data": data, "dry_run": dry_run, **more})
        nothing = ImportOutcome(created=0, updated=0, skipped=0, total=0)
        return (self.outcome or nothing).model_copy(update={"dry_run": dry_run})

    async def export_cases(self, integration_id: UUID, **more: object) -> bytes:
        assert integration_id == self.bot
        return repr(sorted(more.items())).encode()

    async def start_run(self, run: RunCreate) -> RunView:
        self._may("start_run")
        self.started.append(run)
        return self._begin(run.case_ids or (), run, None)

    def _begin(self, cases: Sequence[UUID], run: RunCreate, rerun_of: UUID | None) -> RunView:
        running = document(
            *(self._result(id_, ResultStatus.RUNNING) for id_ in cases),
            id=new_id(), status=RunStatus.RUNNING, summary=None, gate=run.gate, rerun_of=rerun_of,
            integration_id=self.bot, repeats=run.repeats,
            created_at=START + timedelta(seconds=len(self.documents)),
        )  # fmt: skip
        self.documents[running.run.id] = running
        return running.run

    def _result(self, case: UUID, status: ResultStatus) -> ResultView:
        ref, name, category, critical = self.cases[case]
        flawed = status is PASSED and ref in self.flawed
        checks = (check(message=f"{ref} is wrong", expected="right", seen="wrong"),)
        error = CaseError(code="timeout", message="too slow", blame=Blame.AGENT) if status is ERROR else None
        return result(
            1, status, id=new_id(), case_id=case, case_ref=ref, case_name=name, category=category,
            critical=critical, assertion_results=checks if flawed or status is FAILED else (), error=error,
            **({"score": 80} if flawed else {}),
        )  # fmt: skip

    def _end(self, run_id: UUID) -> None:
        old = self.documents[run_id]
        cancelled = self._cancelled.is_set()
        results = []
        for one in old.results:
            ref = one.case_ref or ""
            unfinished = cancelled and ref in self.stuck
            results.append(self._result(one.case_id, CANCELLED if unfinished else self.verdict(ref)))
        status = RunStatus.CANCELLED if cancelled else RunStatus.COMPLETED
        done = RunDocument(run=old.run.model_copy(update={"status": status}), results=tuple(results))
        summary = summarise(rows(done), duration_ms=1_000)
        decision = gate(rows(done), old.run.gate or EVERY_CASE, status)
        view = done.run.model_copy(update={"summary": summary, "gate_decision": decision})
        self.documents[run_id] = done.model_copy(update={"run": view})

    async def get_run(self, run_id: UUID) -> RunView:
        return (await self.document(run_id)).run

    async def runs(
        self, *, integration_id: UUID | None = None, status: RunStatus | None = None, take: int = 20
    ) -> tuple[RunView, ...]:
        found = [
            one.run
            for one in self.documents.values()
            if status in {None, one.run.status} and integration_id in {None, one.run.integration_id}
        ]
        return tuple(sorted(found, key=lambda run: run.created_at, reverse=True)[:take])

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
        assert cursor is None
        found = await self.document(run_id)
        some = tuple(
            one if include_attempts else one.model_copy(update={"attempts": ()})
            for one in found.results
            if status in {None, one.status}
            and flaky in {None, one.flaky}
            and imperfect in {None, one.score is None or one.score < 100}
        )[:take]
        data = ResultsData(id=run_id, status=found.run.status, summary=found.run.summary, results=some)
        return ResultsPage(data=data, meta=Meta(total=len(some), take=take))

    async def events(self, run_id: UUID, *, after: int | None = None) -> AsyncIterator[RunEvent]:
        assert after is None
        total = len(self.documents[run_id].results)
        counts = {"total": total, "done": total, "passed": 1, "failed": 0, "error": 0, "costCents": 1.5}
        yield RunEvent(seq=1, event="run.started", data={}, at=START)
        if any(one.case_ref in self.stuck for one in self.documents[run_id].results):
            self.waiting.set()
            await self._cancelled.wait()
        yield RunEvent(seq=None, event="run.progress", data=counts, at=START)
        self._end(run_id)
        yield RunEvent(seq=2, event="run.completed", data={}, at=START)

    async def cancel(self, run_id: UUID) -> RunView:
        self._cancelled.set()
        return self.documents[run_id].run

    async def rerun(self, run_id: UUID, rerun: Rerun) -> RunView:
        self.reran.append(rerun)
        self._cancelled.clear()
        self.stuck = frozenset()
        old = self.documents[run_id]
        left = [one.case_id for one in old.results if one.status is CANCELLED]
        return self._begin(left, RunCreate(integration_id=self.bot, gate=old.run.gate), run_id)

    async def export(self, run_id: UUID, format_: ExportFormat) -> str:
        raise NotImplementedError

    async def document(self, run_id: UUID) -> RunDocument:
        if run_id not in self.documents:
            raise refusal(404, "not_found")
        return self.documents[run_id]

    async def diff(self, run_id: UUID, other_id: UUID) -> RunDiff:
        before, after = await self.document(run_id), await self.document(other_id)
        return diff(run_id, other_id, rows(before), rows(after))

    async def stability(
        self, integration_id: UUID, *, like: UUID | None = None, runs: int = 50, take: int = 50
    ) -> StabilityReport:
        self.asked_stability.append((integration_id, like, runs, take))
        return self.steady


@dataclass
class Outcome:
    """How the command ended and what it wrote."""

    code: int
    out: str
    err: str


def command(
    platform: FakePlatform,
    *args: str,
    env: dict[str, str] | None = None,
    live: bool = False,
) -> Outcome:
    """Run the command on a platform."""

    @asynccontextmanager
    async def opener(target: Target, *, workers: bool) -> AsyncIterator[Platform]:
        platform.workers, platform.target = workers, target
        yield platform

    out, err = io.StringIO(), io.StringIO()
    context = Context(
        env=env or {},
        opener=opener,
        target=Target(state=Path(".proctor")),
        screen=Screen(out=out, err=err, live=live),
    )
    code = run_command(args, obj=context)
    return Outcome(code, out.getvalue(), err.getvalue())


SUITE = """\
integration:
  name: bot
  provider: replay
  handlers: [{name: pay}]
run: {repeats: 1}
cases:
"""
CASE = """\
  - ref: {ref}
    name: case {ref}
    category: {category}
    tags: [{tag}]
    input: {{kind: scripted_single, message: hi}}
    assertions: [{{kind: contains, value: yes}}]
"""


def suite(folder: Path, *refs: str, head: str = SUITE) -> str:
    """Write a suite with cases of these refs; refs that start with m are about money."""
    text = head + "".join(
        CASE.format(ref=ref, category="Money" if ref.startswith("m") else "Talk", tag=f"t-{ref}")
        for ref in refs
    )
    path = folder / "suite.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)
