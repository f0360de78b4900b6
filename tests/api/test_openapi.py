"""The OpenAPI document against its snapshot, and what it must not say.

After a deliberate change run `PROCTOR_REWRITE_GOLDENS=1 pytest tests/api/test_openapi.py`,
and read the difference.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest_asyncio

from tests.api.conftest import Api

BODILESS = re.compile(
    "^(cancel_run|cancel_compare|activate_version|sync_agent|mark_exported|bite_case_api|toggle_schedule|"
    "redeliver_alert)_?"
)
SNAPSHOT = Path(__file__).parents[1] / "data" / "openapi.json"


@pytest_asyncio.fixture
async def document(api: Api) -> dict[str, Any]:
    response = await api.client.get("/api/openapi.json")
    assert response.status_code == 200
    found: dict[str, Any] = response.json()
    return found


def refs(value: Any) -> set[str]:
    match value:
        case dict():
            own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
            return own.union(*(refs(item) for item in value.values()))
        case list():
            return set().union(*(refs(item) for item in value))
        case _:
            return set()


async def test_the_document_is_the_snapshot(document: dict[str, Any]) -> None:
    text = json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    if os.environ.get("PROCTOR_REWRITE_GOLDENS"):
        SNAPSHOT.write_text(text, encoding="utf-8")
    assert json.loads(SNAPSHOT.read_text(encoding="utf-8")) == document


async def test_only_what_runs_is_listed(document: dict[str, Any]) -> None:
    operations = {f"{method.upper()} {path}" for path, found in document["paths"].items() for method in found}
    assert operations == {
        "GET /api/integrations",
        "POST /api/integrations",
        "GET /api/integrations/{integration_id}",
        "PATCH /api/integrations/{integration_id}",
        "DELETE /api/integrations/{integration_id}",
        "GET /api/integrations/{integration_id}/handlers",
        "POST /api/integrations/{integration_id}/handlers",
        "PATCH /api/integrations/{integration_id}/handlers/{handler_id}",
        "DELETE /api/integrations/{integration_id}/handlers/{handler_id}",
        "GET /api/keys",
        "POST /api/keys",
        "DELETE /api/keys/{key_id}",
        "GET /api/testing/cases",
        "POST /api/testing/cases",
        "POST /api/testing/cases/validate",
        "POST /api/testing/cases/bulk",
        "GET /api/testing/cases/flaky",
        "POST /api/testing/cases/bite",
        "POST /api/testing/cases/import",
        "POST /api/testing/cases/import-golden",
        "POST /api/testing/cases/seed-adversarial",
        "GET /api/testing/cases/export.xlsx",
        "POST /api/testing/cases/{case_id}/bite",
        "GET /api/testing/cases/{case_id}",
        "PATCH /api/testing/cases/{case_id}",
        "DELETE /api/testing/cases/{case_id}",
        "POST /api/testing/cases/replay",
        "GET /api/testing/captures",
        "POST /api/testing/captures",
        "GET /api/testing/captures/{capture_id}",
        "DELETE /api/testing/captures/{capture_id}",
        "PATCH /api/testing/captures/{capture_id}/status",
        "POST /api/testing/captures/{capture_id}/convert",
        "GET /api/testing/runs",
        "POST /api/testing/runs",
        "GET /api/testing/runs/{run_id}",
        "DELETE /api/testing/runs/{run_id}",
        "GET /api/testing/runs/{run_id}/results",
        "GET /api/testing/runs/{run_id}/export",
        "GET /api/testing/runs/{run_id}/events",
        "GET /api/testing/runs/{run_id}/diff/{other_id}",
        "POST /api/testing/runs/{run_id}/cancel",
        "POST /api/testing/runs/{run_id}/rerun",
        "GET /api/testing/agents",
        "GET /api/testing/agents/{agent_id}",
        "PATCH /api/testing/agents/{agent_id}",
        "GET /api/testing/agents/{agent_id}/versions",
        "POST /api/testing/agents/{agent_id}/versions",
        "GET /api/testing/agents/{agent_id}/versions/{version_id}",
        "POST /api/testing/agents/{agent_id}/versions/{version_id}/activate",
        "POST /api/testing/agents/{agent_id}/versions/{version_id}/rollback",
        "GET /api/testing/agents/{agent_id}/versions/{version_id}/diff/{other_id}",
        "POST /api/testing/agents/{agent_id}/sync",
        "POST /api/testing/agents/versions/{version_id}/exported",
        "POST /api/testing/agents/{agent_id}/generate",
        "POST /api/testing/compare/agents/{agent_id}",
        "GET /api/testing/compare",
        "GET /api/testing/compare/{compare_id}",
        "POST /api/testing/compare/{compare_id}/cancel",
        "GET /api/testing/schedules",
        "POST /api/testing/schedules",
        "POST /api/testing/schedules/preview",
        "GET /api/testing/schedules/{schedule_id}",
        "PATCH /api/testing/schedules/{schedule_id}",
        "DELETE /api/testing/schedules/{schedule_id}",
        "POST /api/testing/schedules/{schedule_id}/toggle",
        "GET /api/testing/schedules/{schedule_id}/ticks",
        "GET /api/testing/alerts",
        "GET /api/testing/alerts/{alert_id}",
        "POST /api/testing/alerts/{alert_id}/redeliver",
    }


async def test_every_operation_answers_with_problems_and_none_with_422(document: dict[str, Any]) -> None:
    for path in document["paths"].values():
        for method, operation in path.items():
            assert "422" not in operation["responses"]
            assert "application/problem+json" in operation["responses"]["default"]["content"]
            assert ("requestBody" in operation) == (
                method in {"post", "patch"} and not BODILESS.search(operation["operationId"])
            )
            assert operation["security"]


async def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert {ref.removeprefix("#/components/schemas/") for ref in refs(document)} <= set(schemas)
    assert not {"HTTPValidationError", "ValidationError"} & set(schemas)


async def test_the_docs_are_there(api: Api) -> None:
    assert "openapi.json" in (await api.client.get("/api/docs")).text


async def test_the_messages_are_described_beside_the_requests(api: Api) -> None:
    response = await api.client.get("/api/asyncapi.json")
    assert response.json()["asyncapi"].startswith("3.")
