"""A database of either kind, with the fewest rows that a run needs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import insert

from proctor_contracts.ids import new_id
from proctor_store.engine import create_engine
from proctor_store.migrate import upgrade_database
from proctor_store.session import Database, Unit
from proctor_store.tables import Account, Integration, Run, RunCase, TestResult

__all__ = ["AT", "BOTH", "POSTGRESQL_ONLY", "new_run", "opened"]

AT = datetime(2026, 1, 1, tzinfo=UTC)
BOTH = ["sqlite", pytest.param("postgresql", marks=pytest.mark.real)]
"""Parameters of a fixture that opens either kind."""
POSTGRESQL_ONLY = pytest.mark.parametrize("database", BOTH[1:], indirect=True)
"""For what needs several writers, or connections that can be cut."""


@asynccontextmanager
async def opened(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """The database that the fixture's parameter names."""
    url = f"sqlite:///{tmp_path / 'proctor.db'}"
    if request.param == "postgresql":
        url = request.getfixturevalue("database_url")
    database = Database(create_engine(url))
    await upgrade_database(database)
    try:
        yield database
    finally:
        await database.close()


async def new_run(unit: Unit, *, cases: int = 1, account_id: UUID | None = None, **more: Any) -> UUID:
    """A run with waiting results in their order, of a new account unless one is given."""
    run_id, integration = new_id(), new_id()
    if account_id is None:
        account_id = new_id()
        await unit.connection.execute(
            insert(Account).values(id=account_id, name=str(account_id), created_at=AT)
        )
    await unit.connection.execute(
        insert(Integration).values(
            id=integration,
            account_id=account_id,
            name=str(integration),
            agent_prompt="",
            provider="http",
            created_at=AT,
            updated_at=AT,
        )
    )
    ids = [new_id() for _ in range(cases)]
    row = {
        "id": run_id,
        "account_id": account_id,
        "integration_id": integration,
        "status": "running",
        "trigger": "manual",
        "mode": "case",
        "provider": "http",
        "model": None,
        "agent_prompt_snapshot": "",
        "prompt_overridden": False,
        "settings": {},
        "tags": [],
        "warnings": [],
        "window": 50,
        "total": cases,
        "remaining": cases,
        "agent_models": [],
        "judge_models": [],
        "created_at": AT,
    }
    await unit.connection.execute(insert(Run), [row | more])
    await unit.connection.execute(
        insert(RunCase),
        [
            {
                "run_id": run_id,
                "case_id": case,
                "ref": None,
                "name": f"case {n}",
                "category": "Мова" if n % 2 else "Гроші",
                "priority": "medium",
                "weight": 1,
                "critical": False,
                "tags": [],
                "snapshot": {"n": n},
                "search_text": f"case {n} рамосу",
            }
            for n, case in enumerate(ids)
        ],
    )
    await unit.connection.execute(
        insert(TestResult),
        [
            {
                "id": new_id(),
                "account_id": account_id,
                "run_id": run_id,
                "case_id": case,
                "trial": 1,
                "ordinal": n,
                "status": "pending",
                "stage": "waiting",
                "history": [],
            }
            for n, case in enumerate(ids)
        ],
    )
    return run_id
