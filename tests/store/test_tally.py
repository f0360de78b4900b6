"""The rows of a summary come in parts, each once and in order, on both databases."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from proctor_store.repositories import tally
from proctor_store.session import Database
from tests.store.rows import BOTH, new_run, opened


@pytest.fixture(params=BOTH)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with opened(request, tmp_path) as database:
        yield database


@pytest.mark.parametrize("count", [1, 2, 4, 5])
async def test_every_result_comes_once_and_in_order(
    database: Database, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(tally, "PAGE", 2)
    async with database.transaction() as unit:
        run = await new_run(unit, cases=count)
        await new_run(unit, cases=3)
        pages = [page async for page in tally.pages(unit, run)]
    assert [row["name"] for page in pages for row in page] == [f"case {n}" for n in range(count)]
    assert all(len(page) <= 2 for page in pages)
