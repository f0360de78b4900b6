"""Whether a run may start and what it is made of: pure decisions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from proctor_api.pipeline.trials import seed_of, trials, weather_of
from proctor_api.usecases.run_plan import (
    DEFAULT_CASE_TIMEOUT_MS,
    DEFAULT_THRESHOLD,
    body_digest,
    case_rows,
    case_snapshot,
    not_available,
    quota_wait,
    result_rows,
    run_settings,
    selection_problems,
)
from proctor_contracts.agents import JudgeSettings
from proctor_contracts.enums import Provider, RetryPolicy
from proctor_contracts.run_settings import RunSettings
from proctor_contracts.schemas.runs import RunCreate
from proctor_store.repositories.cases import CaseRecord
from proctor_store.repositories.integrations import IntegrationRecord

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
ID = UUID(int=1)
JUDGE = JudgeSettings(provider=Provider.OPENAI, model="j")


def body(**more: Any) -> RunCreate:
    return RunCreate.model_validate({"integrationId": ID, "caseFilter": {}} | more)


def record(**more: Any) -> CaseRecord:
    fields: dict[str, Any] = {
        "id": UUID(int=7),
        "account_id": ID,
        "integration_id": ID,
        "revision": 3,
        "ref": "R-1",
        "name": "Вітання",
        "category": "Мова",
        "priority": "high",
        "input": {"kind": "scripted_single", "message": "Привіт"},
        "assertions": [{"kind": "contains", "value": "так"}],
        "rubric": "Чемно.",
        "weight": 2,
        "threshold": None,
        "tags": ["a"],
        "is_active": True,
        "critical": False,
        "retry_policy": None,
        "reference": None,
        "budget": None,
        "search_text": "",
        "created_at": AT,
        "updated_at": AT,
    }
    return CaseRecord(**(fields | more))


INTEGRATION = IntegrationRecord(
    id=ID,
    account_id=ID,
    name="бот",
    agent_prompt="Ти — асистент.",
    platform_assistant_id=None,
    provider="groq",
    model="m",
    endpoint=None,
    locale=None,
    created_at=AT,
    updated_at=AT,
)


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"caseFilter": None, "personaIds": [str(ID)]}, "personaIds"),
    ],
)
def test_what_does_not_work_yet_is_named(more: dict[str, Any], field: str) -> None:
    [problem] = not_available(body(**more))
    assert (problem.path, problem.code) == (field, "not_available_yet")


def test_what_works_is_not_refused() -> None:
    assert not_available(body(runner="gateway", onToolError="error", weather=["ok"])) == []


def planned(**more: Any) -> RunSettings:
    return run_settings(body(runner="gateway", **more), INTEGRATION, judge=None)[0]


def test_every_weather_comes_once_a_repeat() -> None:
    settings = planned(repeats=2, weather=["ok", "timeout@1", "poison"])
    assert trials(settings) == 6
    assert [weather_of(settings, trial) for trial in range(1, 7)] == ["ok", "timeout@1", "poison"] * 2
    assert (trials(planned(repeats=3)), weather_of(planned(), 2)) == (3, None)


def test_chance_depends_on_the_case_the_repeat_and_the_weather_and_never_on_the_run() -> None:
    settings = planned(repeats=2, weather=["ok", "timeout@?"])
    named = case_snapshot(record(), score_threshold=None)
    nameless = case_snapshot(record(ref=None), score_threshold=None)
    assert [seed_of(settings, named, trial) for trial in range(1, 5)] == [
        "R-1|1|ok", "R-1|1|timeout@?", "R-1|2|ok", "R-1|2|timeout@?",
    ]  # fmt: skip
    assert seed_of(settings, nameless, 1) == f"{UUID(int=7)}|1|ok"
    assert seed_of(planned(repeats=2), named, 2) == "R-1|2|"


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"caseFilter": None}, "caseIds"),
        ({"caseFilter": None, "caseIds": []}, "caseIds"),
        ({"caseIds": [str(ID)]}, "caseFilter"),
    ],
)
def test_a_run_needs_cases_or_a_filter_and_not_both(more: dict[str, Any], field: str) -> None:
    [problem] = selection_problems(body(**more))
    assert problem.path == field


@pytest.mark.parametrize("more", [{}, {"caseIds": []}, {"caseFilter": None, "caseIds": [str(ID)]}])
def test_one_choice_of_cases_is_enough(more: dict[str, Any]) -> None:
    assert selection_problems(body(**more)) == []


@pytest.mark.parametrize(
    ("ages", "per_minute", "wait"),
    [
        ([], None, None),
        ([50, 40, 30], None, None),
        ([], 0, 60),
        ([], 1, None),
        ([50], 1, 10),
        ([59.5], 1, 1),
        ([0], 1, 60),
        ([50, 20], 2, 10),
        ([50, 20], 3, None),
        # Over the quota already: the second newest has to leave the minute.
        ([50, 20, 10], 2, 40),
    ],
)
def test_a_quota_says_how_long_to_wait(ages: list[float], per_minute: int | None, wait: int | None) -> None:
    started = [AT - timedelta(seconds=age) for age in ages]
    assert quota_wait(started, per_minute, AT) == wait


def test_one_body_has_one_digest_however_it_is_written() -> None:
    one = RunCreate.model_validate_json(f'{{"integrationId":"{ID}","caseFilter":{{}},"repeats":2}}')
    other = RunCreate.model_validate_json(f'{{"repeats": 2, "caseFilter": {{}}, "integrationId": "{ID}"}}')
    assert body_digest(one) == body_digest(other)
    assert body_digest(one) != body_digest(body(repeats=3))


@pytest.mark.parametrize(
    ("own", "runs", "threshold"),
    [
        (None, None, DEFAULT_THRESHOLD),
        (None, 55, 55),
        (None, 0, 0),
        (90, 55, 90),
        (0, 55, 0),
    ],
)
def test_a_cases_own_threshold_wins_then_the_runs_then_the_default(
    own: int | None, runs: int | None, threshold: int
) -> None:
    assert case_snapshot(record(threshold=own), score_threshold=runs).threshold == threshold


@pytest.mark.parametrize(
    ("more", "policy"),
    [
        ({}, RetryPolicy.ANY),
        ({"critical": True}, RetryPolicy.NONE),
        ({"tags": ["critical"]}, RetryPolicy.NONE),
        ({"threshold": 100}, RetryPolicy.NONE),
        ({"category": "Безпека"}, RetryPolicy.NONE),
        ({"category": "Безпека", "retry_policy": "any"}, RetryPolicy.ANY),
        ({"retry_policy": "all"}, RetryPolicy.ALL),
    ],
)
def test_one_lucky_pass_does_not_hide_an_exploit(more: dict[str, Any], policy: RetryPolicy) -> None:
    assert case_snapshot(record(**more), score_threshold=None).retry_policy is policy


def test_a_runs_threshold_of_100_is_as_strict_as_a_cases() -> None:
    assert case_snapshot(record(), score_threshold=100).retry_policy is RetryPolicy.NONE


def test_a_snapshot_is_the_case_as_it_was() -> None:
    taken = case_snapshot(record(), score_threshold=None)
    assert (taken.id, taken.revision, taken.ref, taken.name) == (UUID(int=7), 3, "R-1", "Вітання")
    assert (taken.rubric, taken.weight, taken.tags, taken.priority.value) == ("Чемно.", 2, ("a",), "high")
    assert taken.assertions[0].kind == "contains"


def test_settings_are_the_integrations_unless_the_body_says_otherwise() -> None:
    settings, warnings = run_settings(body(), INTEGRATION, judge=None)
    assert (settings.agent.provider, settings.agent.model) == (Provider.GROQ, "m")
    assert settings.agent.prompt == "Ти — асистент."
    assert (settings.judge, settings.concurrency) == (None, None)
    assert settings.case_timeout_ms == DEFAULT_CASE_TIMEOUT_MS
    assert warnings == []
    settings, _ = run_settings(
        body(provider="openai", model="n", agentPromptOverride="", concurrency=7, caseTimeoutMs=5000),
        INTEGRATION,
        judge=JUDGE,
    )
    assert (settings.agent.provider, settings.agent.model) == (Provider.OPENAI, "n")
    # An empty prompt is a prompt.
    assert settings.agent.prompt == ""
    assert (settings.judge, settings.concurrency, settings.case_timeout_ms) == (JUDGE, 7, 5000)


def test_the_bodys_judge_wins_over_the_default_one() -> None:
    own = {"provider": "anthropic", "model": "k", "votes": 3}
    settings, _ = run_settings(body(judge=own), INTEGRATION, judge=JUDGE)
    assert settings.judge is not None
    assert (settings.judge.model, settings.judge.votes) == ("k", 3)


def test_personas_beside_cases_are_ignored_aloud() -> None:
    _, [warning] = run_settings(body(personaIds=[str(ID)]), INTEGRATION, judge=None)
    assert (warning.path, warning.code) == ("personaIds", "ignored")


def test_results_are_laid_out_round_by_round() -> None:
    taken = [
        (case_snapshot(record(id=UUID(int=n), name=f"{n}"), score_threshold=None), f"text {n}")
        for n in (8, 9)
    ]
    rows = case_rows(UUID(int=5), taken)
    assert [(row["case_id"].int, row["search_text"]) for row in rows] == [(8, "text 8"), (9, "text 9")]
    ids = [UUID(int=100 + n) for n in range(6)]
    parcels = [
        result_rows(
            UUID(int=5),
            ID,
            [taken[place][0]],
            ids=ids,
            place=place,
            count=2,
            settings=planned(weather=["ok", "5xx@1", "stale"]),
        )
        for place in (0, 1)
    ]
    results = sorted((row for parcel in parcels for row in parcel), key=lambda row: row["ordinal"])
    assert [(row["ordinal"], row["trial"], row["case_id"].int) for row in results] == [
        (0, 1, 8),
        (1, 1, 9),
        (2, 2, 8),
        (3, 2, 9),
        (4, 3, 8),
        (5, 3, 9),
    ]
    assert [row["weather"] for row in results] == ["ok", "ok", "5xx@1", "5xx@1", "stale", "stale"]
    # Pages continue behind an id, so ids grow with the order, whatever parcel a case came in.
    assert [row["id"] for row in results] == ids
    assert {(row["status"], row["stage"]) for row in results} == {("pending", "waiting")}
