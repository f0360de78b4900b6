"""Old runs by the thousand: a run that was really played, copied within the database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import text

from proctor_store.session import Database
from proctor_store.tables import ResultPhase, Run, RunCase, RunEventRow, TestResult

__all__ = ["copied", "held", "let_go", "waiting"]

_NEW_RUN = "md5(:run || '-' || n)::uuid"


async def copied(database: Database, run_id: str, *, copies: int) -> None:
    """Copy a run with everything it holds so many times; the copies were marked for deletion an hour ago."""
    past = {"completed_at": "now() - interval '40 days'", "deleted_at": "now() - interval '1 hour'"}
    of_result = "md5(o.{}::text || '-' || n)::uuid"
    for table, replaced in (
        (Run, {"id": _NEW_RUN, **past}),
        (RunCase, {"run_id": _NEW_RUN}),
        (RunEventRow, {"run_id": _NEW_RUN}),
        (TestResult, {"run_id": _NEW_RUN, "id": of_result.format("id")}),
        (ResultPhase, {"run_id": _NEW_RUN, "result_id": of_result.format("result_id")}),
    ):
        statement = text(_insert(table, replaced, key="id" if table is Run else "run_id"))
        async with database.transaction() as unit:
            await unit.connection.execute(statement, {"run": run_id, "copies": copies})
    async with database.transaction() as unit:
        await unit.connection.execute(text("ANALYZE"))


async def waiting(database: Database) -> int:
    """Count the copies that are not deleted yet."""
    query = text("SELECT count(*) FROM test_runs WHERE deleted_at IS NOT NULL")
    async with database.reading() as unit:
        return int((await unit.connection.execute(query)).scalar_one())


async def held(database: Database) -> None:
    """Take the work away from whoever does it, as another replica would."""
    claim = text(
        "INSERT INTO claims (name, owner, until) VALUES ('retention', 'benchmark', now() + interval '1 hour')"
        " ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until"
    )
    async with database.transaction() as unit:
        await unit.connection.execute(claim)


async def let_go(database: Database) -> None:
    """Give the work to whoever wants it."""
    async with database.transaction() as unit:
        await unit.connection.execute(text("UPDATE claims SET until = now() WHERE name = 'retention'"))


def _insert(table: Any, replaced: Mapping[str, str], *, key: str) -> str:
    names = [column.name for column in table.__table__.columns]
    into = ", ".join(f'"{name}"' for name in names)
    chosen = ", ".join(replaced.get(name, f'o."{name}"') for name in names)
    return (
        f"INSERT INTO {table.__tablename__} ({into}) SELECT {chosen} "  # noqa: S608 - names of our own tables
        f"FROM {table.__tablename__} o, generate_series(1, CAST(:copies AS integer)) n "
        f"WHERE o.{key} = CAST(:run AS uuid)"
    )
