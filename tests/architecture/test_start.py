"""What a command on the embedded database must not load, since it would pay for it at every start."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("loaded", "spared"),
    [
        ("proctor_store.tables", "sqlalchemy.dialects.postgresql"),
        ("proctor_cli.embedded.local", "alembic"),
        ("proctor_cli.embedded.local", "asyncpg"),
        ("proctor_cli.embedded.local", "fastapi"),
        ("proctor_cli.embedded.local", "faststream"),
        ("proctor_cli.embedded.local", "jsonschema"),
        ("proctor_cli.embedded.local", "openai"),
        ("proctor_cli.embedded.local", "openpyxl"),
        ("proctor_cli.embedded.local", "proctor_api.usecases.captures"),
        ("proctor_cli.embedded.local", "proctor_api.retention"),
        ("proctor_cli.embedded.local", "proctor_api.usecases.compares"),
        ("proctor_cli.embedded.local", "croniter"),
        ("proctor_cli.embedded.local", "proctor_alerter"),
        ("proctor_cli.embedded.local", "proctor_api.usecases.alerts"),
        ("proctor_cli.embedded.local", "proctor_api.usecases.confirmations"),
        ("proctor_cli.embedded.local", "proctor_api.usecases.firings"),
        ("proctor_cli.embedded.local", "proctor_api.usecases.schedules"),
        ("proctor_cli.embedded.local", "proctor_casefiles"),
        ("proctor_cli.embedded.local", "proctor_scheduler"),
        ("proctor_cli.embedded.local", "proctor_schedules"),
        ("proctor_cli.main", "pydantic"),
    ],
)
def test_starting_does_without(loaded: str, spared: str) -> None:
    code = f"import sys, {loaded}; sys.exit({spared!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
