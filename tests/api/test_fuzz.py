"""Whatever a client sends, the answer is an answer: never a 500, and never half of it written."""

from __future__ import annotations

import json
from typing import Any

import pytest_asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.api.conftest import BOTH, Api, case

pytestmark = BOTH

ODD_TEXT = st.text(max_size=20) | st.sampled_from(
    ["", " ", "\x00", "\ud800", "ї" * 300, "%", "(", "$.a", "{{x}}"]
)
SCALAR = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=True, allow_infinity=True)
    | ODD_TEXT
)
VALUE = st.recursive(
    SCALAR, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD_TEXT, inner, max_size=3)
)
FIELDS = {
    "/testing/cases": (
        "ref", "name", "category", "priority", "input", "assertions", "rubric", "weight", "threshold", "tags",
        "isActive", "critical", "retryPolicy", "reference", "budget", "integrationId",
    ),
    "/integrations": (
        "name", "agentPrompt", "provider", "model", "endpoint", "locale", "platformAssistantId", "alerts",
    ),
    "/keys": ("kind", "name"),
    "/testing/schedules": (
        "name", "integrationId", "cronExpression", "timezone", "mode", "isActive", "notifications",
    ),
    "/testing/schedules/preview": ("cronExpression", "timezone", "after", "take"),
}  # fmt: skip
ASSERTION_FIELDS = (
    "kind", "ref", "weight", "required", "scope", "pattern", "flags", "value", "values", "expected",
    "toolName", "argsRegex", "field", "equals", "in", "maxMs", "maxCents", "schema", "where", "facts",
    "rubric", "votes",
)  # fmt: skip
KINDS = (
    "regex", "contains", "not_contains", "contains_all", "contains_any", "lang", "tool_call", "outcome",
    "latency", "cost", "json_schema", "no_prompt_leak", "grounded_facts", "judge",
)  # fmt: skip

QUERY = (
    "take", "skip", "cursor", "integrationId", "category", "priority", "isActive", "tag", "q", "status",
    "trigger", "compareRunId", "name", "scheduleId", "runId", "kind",
)  # fmt: skip

FEW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


async def answered(api: Api, method: str, path: str, document: Any) -> int:
    content = json.dumps(document).encode()
    response = await api(method, path, content=content, headers={"Content-Type": "application/json"})
    assert response.status_code in {200, 201, 400, 404, 409, 413}, response.text
    if response.status_code >= 400:
        assert response.headers["content-type"] == "application/problem+json"
        assert response.json()["detail"]
    else:
        assert response.json()["data"] is not None
    return response.status_code


@pytest_asyncio.fixture
async def bot(api: Api) -> str:
    return await api.integration()


@pytest_asyncio.fixture
async def made(api: Api, bot: str) -> str:
    return str((await api.data("POST", "/testing/cases", case(integrationId=bot), status=201))["id"])


@FEW
@given(path=st.sampled_from(sorted(FIELDS)), data=st.data())
async def test_any_fields_of_a_new_row_are_taken_or_refused(
    api: Api, bot: str, path: str, data: st.DataObject
) -> None:
    good = {
        "/testing/cases": case(integrationId=bot),
        "/integrations": {"name": "n", "provider": "openai"},
        "/keys": {},
        "/testing/schedules": {"name": "n", "integrationId": bot, "cronExpression": "0 3 * * *"},
        "/testing/schedules/preview": {"cronExpression": "0 3 * * *"},
    }
    await api("POST", "/testing/cases", case(integrationId=bot, ref="there"))
    fields = data.draw(st.lists(st.sampled_from(FIELDS[path]), min_size=1, max_size=3))
    await answered(api, "POST", path, good[path] | {field: data.draw(VALUE) for field in fields})


CRON = st.sampled_from(
    ["*", "0", "59", "7", "*/5", "1-5", "MON", "L", "?", "@daily", "31", "*/0", "1,2", "-1"]
)


@FEW
@given(
    cron=st.lists(CRON, min_size=1, max_size=7).map(" ".join) | ODD_TEXT,
    zone=st.sampled_from(
        ["UTC", "Europe/Kyiv", "Pacific/Apia", "Australia/Lord_Howe", "../etc/passwd", "+02:00"]
    )
    | ODD_TEXT,
)
async def test_any_clock_is_read_or_refused(api: Api, cron: str, zone: str) -> None:
    body = {"cronExpression": cron, "timezone": zone}
    await answered(api, "POST", "/testing/schedules/preview", body)


@FEW
@given(
    alerts=st.dictionaries(
        st.sampled_from(
            ["webhookUrl", "webhookFormat", "webhookSecret", "delta", "lookback", "tell", "muted"]
        ),
        VALUE | st.text(max_size=30).map("https://".__add__) | st.just({"secret": "A"}),
        max_size=3,
    ),
)
async def test_any_alerts_are_taken_or_refused(api: Api, bot: str, alerts: dict[str, Any]) -> None:
    await answered(api, "PATCH", f"/integrations/{bot}", {"alerts": alerts})


@FEW
@given(
    kind=st.sampled_from(KINDS),
    fields=st.dictionaries(st.sampled_from(ASSERTION_FIELDS), VALUE, max_size=4),
)
async def test_any_assertion_is_taken_or_refused(
    api: Api, made: str, kind: str, fields: dict[str, Any]
) -> None:
    body = {"assertions": [{"kind": kind} | fields]}
    await answered(api, "PATCH", f"/testing/cases/{made}", body)
    await answered(api, "POST", "/testing/cases/validate", case(**body))


@FEW
@given(query=st.dictionaries(st.sampled_from(QUERY), ODD_TEXT | st.integers().map(str), max_size=3))
async def test_any_query_is_answered(api: Api, query: dict[str, str]) -> None:
    for path in ("/testing/cases", "/testing/runs", "/integrations", "/testing/schedules", "/testing/alerts"):
        safe = {name: value.encode("utf-8", "replace").decode() for name, value in query.items()}
        response = await api("GET", path, params=safe)
        assert response.status_code in {200, 400, 404}, response.text
