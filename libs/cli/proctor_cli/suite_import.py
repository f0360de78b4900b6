"""A suite's cases into an integration, in as many uploads as their size asks for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from uuid import UUID

from proctor_casefiles.documents import undotted
from proctor_contracts.cases import CaseFields
from proctor_contracts.schemas.imports import CaseFormat, ImportOutcome, ImportProblem

from .client import Platform, PlatformRefused
from .suite.model import Origin, Suite

__all__ = ["bring_suite"]

_PARCEL = 4_000_000
_MOST_CASES = 5_000


async def bring_suite(
    platform: Platform, suite: Suite, *, integration: str | None, owner: str | None, dry_run: bool
) -> ImportOutcome:
    """Import the cases; into the suite's own integration, made as the suite says, unless another is named.

    Problems and warnings point at file and line.
    """
    bot = await _bot(platform, suite, integration, dry_run=dry_run)
    if bot is None:
        return ImportOutcome(
            created=len(suite.cases), updated=0, skipped=0, total=len(suite.cases), dry_run=True
        )
    outcomes: list[ImportOutcome] = []
    for first, data in _parcels(suite.cases):
        outcome = await platform.import_cases(
            bot, data, name=suite.name, format_=CaseFormat.CASES, dry_run=dry_run, owner=owner
        )
        outcomes.append(_pointed(outcome, suite.origins[first:]))
    return ImportOutcome(
        created=sum(one.created for one in outcomes),
        updated=sum(one.updated for one in outcomes),
        skipped=sum(one.skipped for one in outcomes),
        total=sum(one.total for one in outcomes),
        unchanged=sum(one.unchanged for one in outcomes),
        dry_run=dry_run,
        problems=tuple(said for one in outcomes for said in one.problems),
        warnings=tuple(said for one in outcomes for said in one.warnings),
    )


async def _bot(platform: Platform, suite: Suite, named: str | None, *, dry_run: bool) -> UUID | None:
    """Find or make the integration; None when a dry run would make it."""
    if named is not None:
        return (await platform.find_integration(named)).id
    if dry_run:
        try:
            return (await platform.find_integration(suite.integration.name)).id
        except PlatformRefused as refused:
            if refused.problem.status == HTTPStatus.NOT_FOUND:
                return None
            raise
    bot = await platform.upsert_integration(suite.integration)
    await platform.replace_handlers(bot.id, suite.handlers)
    return bot.id


def _parcels(cases: Sequence[CaseFields]) -> Iterator[tuple[int, bytes]]:
    """Write cases as JSON lists, each with the index of its first case."""
    first, size = 0, 0
    parcel: list[str] = []
    for index, case in enumerate(cases):
        # Only what was given is sent: of "exactly one of two" fields, a null is not nothing.
        text = json.dumps(case.model_dump(mode="json", exclude_unset=True), ensure_ascii=False)
        weight = len(text.encode())
        if parcel and (size + weight > _PARCEL or len(parcel) == _MOST_CASES):
            yield first, f"[{','.join(parcel)}]".encode()
            first, size, parcel = index, 0, []
        parcel.append(text)
        size += weight + 1
    if parcel:
        yield first, f"[{','.join(parcel)}]".encode()


def _pointed(outcome: ImportOutcome, origins: Sequence[Origin]) -> ImportOutcome:
    return outcome.model_copy(
        update={
            "problems": tuple(_origin(said, origins) for said in outcome.problems),
            "warnings": tuple(_origin(said, origins) for said in outcome.warnings),
        }
    )


def _origin(said: ImportProblem, origins: Sequence[Origin]) -> ImportProblem:
    """Turn `3.assertions.0.pattern` into the place in the file that the case came from."""
    match undotted(said.path or ""):
        case (int(index), *inside) if index < len(origins):
            found = origins[index].problem(tuple(inside), said.message)
            place = found.file if found.line is None else f"{found.file}:{found.line}"
            return ImportProblem(path=f"{place}: {found.path}" if found.path else place, message=said.message)
        case _:
            return said
