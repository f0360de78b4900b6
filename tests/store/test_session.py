"""One transaction boundary: what is written, what is not, and which failures pass by themselves."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from proctor_store.engine import create_engine
from proctor_store.session import Database, StoreUnavailable
from tests.store.rows import BOTH, POSTGRESQL_ONLY, opened

PATIENCE = 20.0


@pytest.fixture(params=BOTH)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with opened(request, tmp_path) as database:
        yield database


async def count(database: Database, name: str) -> int:
    async with database.reading() as unit:
        found = await unit.connection.execute(
            text("SELECT count(*) FROM claims WHERE name = :name"), {"name": name}
        )
        return int(found.scalar_one())


INSERT = text("INSERT INTO claims (name, owner, until) VALUES (:name, 'a', '2026-01-01 00:00:00')")


async def test_hooks_run_after_the_commit_and_only_then(database: Database) -> None:
    seen: list[str] = []
    async with database.transaction() as unit:
        await unit.connection.execute(INSERT, {"name": "hook"})
        unit.after_commit(lambda: seen.append("committed"))
        assert seen == []
    assert seen == ["committed"]
    assert await count(database, "hook") == 1


async def test_an_error_undoes_everything(database: Database) -> None:
    seen: list[str] = []

    async def fail() -> None:
        async with database.transaction() as unit:
            await unit.connection.execute(INSERT, {"name": "undone"})
            unit.after_commit(lambda: seen.append("committed"))
            raise LookupError

    with pytest.raises(LookupError):
        await fail()
    assert seen == []
    assert await count(database, "undone") == 0


async def test_a_cancelled_writer_undoes_its_work_and_lets_the_next_one_in(database: Database) -> None:
    inside = asyncio.Event()

    async def write() -> None:
        async with database.transaction() as unit:
            await unit.connection.execute(INSERT, {"name": "gone"})
            inside.set()
            await asyncio.Event().wait()

    writing = asyncio.create_task(write())
    await inside.wait()
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    async with asyncio.timeout(PATIENCE), database.transaction() as unit:
        await unit.connection.execute(INSERT, {"name": "next"})
    assert await count(database, "gone") == 0
    assert await count(database, "next") == 1


async def test_a_wrong_statement_is_not_called_an_outage(database: Database) -> None:
    with pytest.raises(DBAPIError):
        async with database.transaction() as unit:
            await unit.connection.execute(text("SELECT * FROM no_such_table"))


async def test_the_text_of_an_error_shows_nothing_of_what_should_have_been_stored(database: Database) -> None:
    statement = text("INSERT INTO claims (name, owner, until) VALUES (:name, :owner, NULL)")
    with pytest.raises(DBAPIError) as caught:
        async with database.transaction() as unit:
            await unit.connection.execute(statement, {"name": "secret-claim", "owner": "secret-owner"})
    assert "secret" not in str(caught.value).partition("DETAIL")[0]


@pytest.mark.parametrize(
    "url", ["postgresql://nobody:secret@127.0.0.1:1/nothing", "sqlite:////no/such/folder/proctor.db"]
)
async def test_a_database_that_cannot_be_reached_is_an_outage(url: str) -> None:
    threads = set(threading.enumerate())
    away = Database(create_engine(url))
    for opening in (away.transaction, away.reading):
        with pytest.raises(StoreUnavailable):
            async with opening() as unit:
                await unit.connection.execute(text("SELECT 1"))
    await away.close()
    # The driver does not wait for the thread of a connection that failed, which then misses this event loop.
    for thread in set(threading.enumerate()) - threads:
        thread.join(PATIENCE)


@POSTGRESQL_ONLY
async def test_a_connection_that_is_cut_is_an_outage_and_the_next_one_works(database: Database) -> None:
    async def cut() -> None:
        async with database.transaction() as unit:
            pid = (await unit.connection.execute(text("SELECT pg_backend_pid()"))).scalar_one()
            async with database.transaction() as other:
                await other.connection.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": pid})
            await unit.connection.execute(text("SELECT 1"))

    with pytest.raises(StoreUnavailable):
        await cut()
    assert await count(database, "after") == 0


@POSTGRESQL_ONLY
async def test_a_lost_race_passes_by_itself(database: Database) -> None:
    async with database.transaction() as unit:
        for name in ("left", "right"):
            await unit.connection.execute(INSERT, {"name": name})
    both = asyncio.Barrier(2)

    async def take(first: str, second: str) -> None:
        async with database.transaction() as unit:
            for name in (first, second):
                await unit.connection.execute(
                    text("SELECT 1 FROM claims WHERE name = :name FOR UPDATE"), {"name": name}
                )
                if name == first:
                    await both.wait()

    answers = await asyncio.gather(take("left", "right"), take("right", "left"), return_exceptions=True)
    assert sorted(type(answer).__name__ for answer in answers) == ["NoneType", "StoreUnavailable"]
