"""Playing a suite as a matrix: name the versions, start the cells, wait for them, read what broke."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from proctor_contracts.enums import Provider, ResultStatus
from proctor_contracts.schemas.agents import VersionCreate, VersionView
from proctor_contracts.schemas.compare import CompareCell, CompareCreate, CompareDetail, CompareView
from proctor_contracts.schemas.runs import ResultView, RunCreate

from .client import Platform
from .exits import ExitCode, Stop
from .interrupts import Interrupts

__all__ = ["Model", "compare_request", "evidence", "named_versions", "suite_of", "wait"]

Model = tuple[Provider, str]

_NUMBER = re.compile(r"v?([1-9][0-9]{0,8})", re.IGNORECASE)
_SUITES = ("compare.yaml", "suite.yaml")
_PROMPTS = "prompts"
_TEXTS = (".md", ".txt")
_MOST_VERSIONS = 200
_SECONDS_TO_STOP = 30.0


def suite_of(path: Path) -> Path:
    """Find the suite of a folder: its compare.yaml, else its suite.yaml; a file is one already.

    Raises:
        Stop: when the folder has none.
    """
    if not path.is_dir():
        return path
    found = next((path / name for name in _SUITES if (path / name).is_file()), None)
    if found is None:
        raise Stop(ExitCode.USAGE, f"{path} holds neither {' nor '.join(_SUITES)}")
    return found


@dataclass(frozen=True, slots=True)
class _Prompt:
    name: str
    text: str


def _prompt_of(folder: Path, name: str) -> _Prompt | None:
    for suffix in _TEXTS:
        file = folder / _PROMPTS / f"{name}{suffix}"
        if file.is_file():
            return _Prompt(f"{_PROMPTS}/{file.name}", file.read_text(encoding="utf-8"))
    return None


async def named_versions(
    platform: Platform, agent_id: UUID, names: Sequence[str], folder: Path
) -> list[VersionView]:
    """Find the version of each name: that of a file in the suite's `prompts` folder, else of this number.

    A file that no version holds yet becomes a draft.

    Raises:
        Stop: when there is neither such a file nor such a number.
    """
    known = list(await platform.versions(agent_id, take=_MOST_VERSIONS))
    found = []
    for name in names:
        prompt = _prompt_of(folder, name)
        number = _NUMBER.fullmatch(name)
        if prompt is not None:
            version = next((one for one in known if one.prompt == prompt.text), None)
            if version is None:
                body = VersionCreate(prompt=prompt.text, notes=prompt.name)
                version = await platform.create_version(agent_id, body)
                known.append(version)
        elif number is not None:
            version = next(iter(await platform.versions(agent_id, number=int(number.group(1)))), None)
        else:
            version = None
        if version is None:
            raise Stop(
                ExitCode.USAGE, f"no version {name!r}: the bot has none, and {folder / _PROMPTS} no {name}.md"
            )
        found.append(version)
    return found


def compare_request(
    run: RunCreate, versions: Sequence[VersionView], models: Sequence[Model]
) -> CompareCreate:
    """Write the matrix of versions and models, with what a run of the suite would be asked for.

    Without models every version is played by the suite's own. The first cell is the baseline.
    """
    shared = {
        name: getattr(run, name)
        for name in run.model_fields_set & set(CompareCreate.model_fields)
        if name != "budget_cents"
    }
    if run.budget_cents is not None:
        shared["budget_cents"] = int(run.budget_cents)
    played: Sequence[tuple[Provider | None, str | None]] = models or [(run.provider, run.model)]
    pool = run.pool if "pool" in run.model_fields_set else None
    return CompareCreate(
        matrix=tuple(
            CompareCell(
                prompt_version_id=version.id,
                **{
                    name: value
                    for name, value in (("provider", provider), ("model", model), ("pool", pool))
                    if value is not None
                },
            )
            for version in versions
            for provider, model in played
        ),
        **shared,
    )


async def wait(platform: Platform, compare: CompareView, interrupted: Interrupts) -> CompareDetail:
    """Wait for the end of every cell; the first interrupt cancels them all."""
    watching = asyncio.create_task(_watch(platform, [cell.run_id for cell in compare.cells]))
    interrupt = asyncio.create_task(interrupted.first.wait())
    try:
        await asyncio.wait({watching, interrupt}, return_when=asyncio.FIRST_COMPLETED)
        if not watching.done():
            await platform.cancel_compare(compare.id)
            await asyncio.wait({watching}, timeout=_SECONDS_TO_STOP)
        if watching.done():
            watching.result()
    finally:
        for task in (watching, interrupt):
            task.cancel()
        await asyncio.gather(watching, interrupt, return_exceptions=True)
    return await platform.compared(compare.id)


async def _watch(platform: Platform, run_ids: Sequence[UUID]) -> None:
    # One after the other: the last one to end is what is waited for.
    for run_id in run_ids:
        async for _ in platform.events(run_id):
            pass


async def evidence(platform: Platform, detail: CompareDetail) -> dict[tuple[int, UUID], ResultView]:
    """Read a failed result of each cell's cases that differ between cells."""
    differing = {row.case_id for row in detail.rows if row.differs}
    found: dict[tuple[int, UUID], ResultView] = {}
    for cell in detail.cells:
        cursor: str | None = None
        while cell.run is not None and differing:
            page = await platform.results(cell.run_id, status=ResultStatus.FAILED, cursor=cursor)
            for result in page.data.results:
                if result.case_id in differing:
                    found.setdefault((cell.index, result.case_id), result)
            if (cursor := page.meta.next_cursor) is None:
                break
    return found
