"""Migrations: fresh, repeated and concurrent, and the schema they make against the models."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

import proctor_store.tables
from proctor_store import migrate
from proctor_store.base import Base
from proctor_store.engine import create_engine
from proctor_store.session import Database


def sqlite_url(folder: Path) -> str:
    return f"sqlite:///{folder / 'proctor.db'}"


def differences(connection: Connection) -> list[Any]:
    def differ(context: Any, _column: Any, _model: Any, found: Any, wanted: Any) -> bool:
        return bool(found.compile(context.dialect) != wanted.compile(context.dialect))

    context = MigrationContext.configure(connection, opts={"compare_type": differ})
    return [
        change
        for change in compare_metadata(context, Base.metadata)
        if not (change[0] == "remove_table" and change[1].name == "alembic_version")
    ]


def shape(connection: Connection) -> dict[str, Any]:
    found = inspect(connection)
    return {
        table: (
            # A column that came later stands last, whatever its place in the model.
            sorted((c["name"], str(c["type"]), c["nullable"]) for c in found.get_columns(table)),
            sorted(json.dumps(i, default=str, sort_keys=True) for i in found.get_indexes(table)),
            sorted(json.dumps(f, default=str, sort_keys=True) for f in found.get_foreign_keys(table)),
            sorted(str(u["column_names"]) for u in found.get_unique_constraints(table)),
        )
        for table in found.get_table_names()
    }


def test_head_is_the_newest_revision() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrate.__file__).with_name("migrations")))
    assert ScriptDirectory.from_config(config).get_current_head() == migrate.HEAD


async def test_a_fresh_sqlite_database_equals_the_models_and_a_second_upgrade_does_nothing(
    tmp_path: Path,
) -> None:
    url = sqlite_url(tmp_path)
    assert await migrate.upgrade(url) is True
    assert await migrate.upgrade(url) is False
    database = Database(create_engine(url))
    try:
        assert await migrate.version(database) == migrate.HEAD
        async with database.transaction() as unit:
            assert await unit.connection.run_sync(differences) == []
    finally:
        await database.close()


async def test_sqlite_made_by_migrations_has_the_shape_of_one_made_from_the_models(tmp_path: Path) -> None:
    shapes = []
    for name, make in (("models", migrate._create), ("migrations", migrate._run_migrations)):
        (tmp_path / name).mkdir()
        database = Database(create_engine(sqlite_url(tmp_path / name)))
        try:
            async with database.transaction() as unit:
                await unit.connection.run_sync(make)
                shapes.append(await unit.connection.run_sync(shape))
        finally:
            await database.close()
    assert shapes[0] == shapes[1]
    assert set(Base.metadata.tables) <= set(shapes[0])


async def test_a_database_of_another_release_is_not_taken_for_a_fresh_one(tmp_path: Path) -> None:
    url = sqlite_url(tmp_path)
    await migrate.upgrade(url)
    database = Database(create_engine(url))
    try:
        async with database.transaction() as unit:
            await unit.connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        with pytest.raises(Exception, match="9999"):
            await migrate.upgrade_database(database)
        assert await migrate.version(database) == "9999"
    finally:
        await database.close()


@pytest.mark.real
async def test_postgresql_migrated_by_three_replicas_at_once_equals_the_models(database_url: str) -> None:
    done = await asyncio.gather(*(migrate.upgrade(database_url) for _ in range(3)))
    assert sorted(done) == [False, False, True]
    database = Database(create_engine(database_url))
    try:
        assert await migrate.version(database) == migrate.HEAD
        async with database.transaction() as unit:
            assert await unit.connection.run_sync(differences) == []
            assert set(proctor_store.tables.__all__) >= {"Account", "Run", "TestCase"}
    finally:
        await database.close()


async def test_a_service_waits_until_another_one_brought_the_schema(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database = Database(create_engine(sqlite_url(tmp_path)))
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            await migrate.upgrade_database(database)

    await migrate.wait_until_current(database, sleep=sleep)
    assert slept == [1.0, 1.0, 1.0]
    assert [record.getMessage() for record in caplog.records] == ["database_not_ready"]
    await migrate.wait_until_current(database, sleep=sleep)
    assert len(slept) == 3
    await database.close()
