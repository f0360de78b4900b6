"""Playing a suite: save the bot and its cases, start a run, follow it, read it back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from proctor_contracts.cases import CaseFields
from proctor_contracts.enums import ResultStatus, RunStatus, Trigger
from proctor_contracts.schemas.cases import BulkCases
from proctor_contracts.schemas.common import FieldProblem
from proctor_contracts.schemas.runs import Rerun, ResultView, RunDocument, RunView

from .client import Platform, PlatformRefused
from .history import joined
from .interrupts import Interrupts
from .plan import Overrides, run_request
from .progress import Progress
from .screen import Screen
from .suite.model import Origin, Suite
from .suite.problems import SuiteInvalid, SuiteProblem

__all__ = ["Player", "document_with_history", "explained"]

_PARCEL = 500
_SECONDS_TO_STOP = 30.0
_MOST_ANCESTORS = 50


@dataclass(slots=True)
class Player:
    """Plays runs of one suite on a platform."""

    platform: Platform
    suite: Suite
    screen: Screen
    interrupted: Interrupts

    async def start(self, indexes: Sequence[int], overrides: Overrides, trigger: Trigger) -> RunView:
        """Save what the suite says and start a run of some of its cases.

        Raises:
            SuiteInvalid: when the platform finds a fault that loading did not.
        """
        bot, ids = await self.save(indexes)
        request = run_request(self.suite, overrides, integration_id=bot, case_ids=ids, trigger=trigger)
        run = await self.platform.start_run(request)
        for warning in run.warnings:
            self.screen.say(f"warning: {warning.path}: {warning.message}")
        return run

    async def save(self, indexes: Sequence[int]) -> tuple[UUID, Sequence[UUID]]:
        """Save the suite's bot, its tools and some of its cases; returns the ids of bot and cases.

        Raises:
            SuiteInvalid: when the platform finds a fault that loading did not.
        """
        try:
            bot = await self.platform.upsert_integration(self.suite.integration)
            await self.platform.replace_handlers(bot.id, self.suite.handlers)
        except PlatformRefused as refused:
            raise _pointed(refused, self._header_problems(refused.problem.errors)) from refused
        return bot.id, await self._save(bot.id, indexes)

    async def resume(self, run_id: UUID) -> RunView:
        """Go on with a run: follow it if it is still going, else play what it left unfinished."""
        old = await self.platform.get_run(run_id)
        if not old.status.final:
            return old
        if not await self._unfinished(run_id):
            self.screen.say(f"run {run_id} left nothing unfinished; this is its report")
            return old
        return await self.platform.rerun(run_id, Rerun(which="unfinished"))

    async def follow(self, run: RunView) -> bool:
        """Wait for the run's end; the first interrupt cancels it. Says whether it was interrupted."""
        progress = Progress(self.screen, total=run.progress.total)
        watching = asyncio.create_task(self._watch(run.id, progress))
        interrupt = asyncio.create_task(self.interrupted.first.wait())
        try:
            await asyncio.wait({watching, interrupt}, return_when=asyncio.FIRST_COMPLETED)
            if not watching.done():
                progress.end()
                self.screen.complain("stopping: what is done is kept; press Ctrl-C again to leave at once")
                await self.platform.cancel(run.id)
                await asyncio.wait({watching}, timeout=_SECONDS_TO_STOP)
            if watching.done():
                watching.result()
        except asyncio.CancelledError:
            if self.platform.outlives:
                self.screen.complain(f"run {run.id} goes on; end it with: proctor cancel {run.id}")
            raise
        finally:
            progress.end()
            for task in (watching, interrupt):
                task.cancel()
            await asyncio.gather(watching, interrupt, return_exceptions=True)
        return self.interrupted.first.is_set()

    async def _watch(self, run_id: UUID, progress: Progress) -> None:
        async for event in self.platform.events(run_id):
            progress.saw(event)

    async def _save(self, bot: UUID, indexes: Sequence[int]) -> list[UUID]:
        ids: list[UUID] = []
        # Let go of parcel by parcel: what is saved already makes room for what is saved next.
        unsaved: list[CaseFields | None] = list(self.suite.cases)
        every_origin = self.suite.origins
        self.suite = self.suite.without_cases()
        for at in range(0, len(indexes), _PARCEL):
            parcel = indexes[at : at + _PARCEL]
            cases = tuple(case for index in parcel if (case := unsaved[index]) is not None)
            origins = [every_origin[index] for index in parcel]
            for index in parcel:
                unsaved[index] = None
            try:
                bulk = BulkCases(integration_id=bot, cases=cases)
                outcome = await self.platform.bulk_upsert_cases(bulk)
            except PlatformRefused as refused:
                raise _pointed(refused, _case_problems(refused.problem.errors, origins)) from refused
            ids += outcome.ids
            for warning in _case_problems(outcome.warnings, origins):
                self.screen.say(f"warning: {warning}")
        return ids

    def _header_problems(self, faults: Sequence[FieldProblem]) -> Iterator[SuiteProblem]:
        for fault in faults:
            yield SuiteProblem(self.suite.name, None, f"integration.{fault.path}", fault.message)

    async def _unfinished(self, run_id: UUID) -> bool:
        for status in (ResultStatus.CANCELLED, ResultStatus.PENDING, ResultStatus.RUNNING):
            if (await self.platform.results(run_id, status=status, take=1)).data.results:
                return True
        return False


def _pointed(refused: PlatformRefused, problems: Iterator[SuiteProblem]) -> Exception:
    found = list(problems)
    return SuiteInvalid(found) if found else refused


def _case_problems(faults: Sequence[FieldProblem], origins: Sequence[Origin]) -> Iterator[SuiteProblem]:
    """Turn `cases.3.assertions.0.pattern` of a request into the place in the file it came from."""
    for fault in faults:
        steps = [int(step) if step.isdecimal() else step for step in fault.path.split(".")]
        match steps:
            case ["cases", int(index), *inside] if index < len(origins):
                yield origins[index].problem(tuple(inside), fault.message)
            case _:
                yield SuiteProblem(origins[0].source.name, None, fault.path, fault.message)


async def explained(platform: Platform, run_id: UUID) -> RunDocument:
    """Read a run with what a person must be told about: failures, errors, flaky and imperfect passes.

    What passed in full is in the summary; leaving it where it is keeps a run of ten thousand cases small.
    """
    run = await platform.get_run(run_id)
    found: dict[UUID, ResultView] = {}
    for status, flaky, imperfect in (
        (ResultStatus.FAILED, None, None),
        (ResultStatus.ERROR, None, None),
        (None, True, None),
        (ResultStatus.PASSED, False, True),
    ):
        cursor: str | None = None
        while True:
            page = await platform.results(
                run_id, status=status, flaky=flaky, imperfect=imperfect, include_attempts=True, cursor=cursor
            )
            found |= {result.id: result for result in page.data.results}
            if (cursor := page.meta.next_cursor) is None:
                break
    return RunDocument(run=run, results=tuple(found[key] for key in sorted(found)))


async def document_with_history(platform: Platform, run_id: UUID) -> RunDocument:
    """Read a run joined with the unfinished ones it continues."""
    documents = [await platform.document(run_id)]
    while (older := documents[0].run.rerun_of) is not None and len(documents) < _MOST_ANCESTORS:
        try:
            found = await platform.document(older)
        except PlatformRefused:
            break  # deleted since: what is left is reported
        if found.run.status is not RunStatus.CANCELLED:
            break  # a whole run played again is not continued, but replaced
        documents.insert(0, found)
    return joined(documents)
