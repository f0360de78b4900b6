"""The stored file is what the run's user could export, byte for byte."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from uuid import UUID

import pytest

from proctor_api.retention.document import compressed, written
from proctor_api.usecases.exports import ExportFormat, rendered
from proctor_chassis.bus.inprocess import InProcessBus
from proctor_contracts.schemas.runs import ResultView, RunDocument
from proctor_store.engine import create_engine
from proctor_store.migrate import upgrade_database
from proctor_store.session import Database
from tests.support.platform import Platform, case, open_platform


@pytest.fixture
async def platform(tmp_path: Path) -> AsyncIterator[Platform]:
    database = Database(create_engine(f"sqlite:///{tmp_path / 'proctor.db'}"))
    await upgrade_database(database)
    bus = InProcessBus()
    async with open_platform(database, bus, alone=True) as platform:
        yield platform
        await bus.stop(grace_seconds=0)
    await database.close()


async def played(platform: Platform) -> RunDocument:
    """A run with retries, a judge and an error."""
    names = ["спроба\nдва", "b", "c", "d"]
    platform.runner.script = {names[0]: ("fail", "pass"), "c": ("provider_down",)}
    run = await platform.start(
        *(case(name, judges=place % 2) for place, name in enumerate(names)), retriesOnFailure=2
    )
    await platform.finished(run)
    return await platform.services.results.document(platform.caller, run.id)


async def text_of(platform: Platform, run: UUID, *, take: int) -> str:
    view = await platform.services.runs.get(platform.caller, run)
    pages = platform.services.results.pages(platform.caller, run, take=take)
    return "".join([part async for part in written(view, pages)])


async def test_whatever_the_pages_the_text_is_that_of_the_export(platform: Platform) -> None:
    document = await played(platform)
    assert len(document.results) == 4
    assert max(len(result.attempts) for result in document.results) == 2
    exported = rendered(document, ExportFormat.JSON).body
    for take in (1, 2, 3, 4, 100):
        assert await text_of(platform, document.run.id, take=take) == exported


async def test_a_run_without_results_is_a_document_too(platform: Platform) -> None:
    document = (await played(platform)).model_copy(update={"results": ()})

    async def none() -> AsyncIterator[Sequence[ResultView]]:
        empty: tuple[Sequence[ResultView], ...] = ()
        for page in empty:
            yield page

    parts = [part async for part in written(document.run, none())]
    assert "".join(parts) == rendered(document, ExportFormat.JSON).body


async def test_the_compressed_file_is_the_same_each_time(platform: Platform) -> None:
    run = (await played(platform)).run.id

    async def packed() -> bytes:
        view = await platform.services.runs.get(platform.caller, run)
        pages = platform.services.results.pages(platform.caller, run, take=2)
        return b"".join([part async for part in compressed(written(view, pages))])

    first = await packed()
    assert first == await packed()
    assert json.loads(gzip.decompress(first))["run"]["id"] == str(run)
