"""What the API reads from its environment."""

from __future__ import annotations

import pytest

from proctor_api.settings import ApiSettings, MetaSettings, judge_from_env, meta_from_env
from proctor_chassis.settings import SettingsError
from proctor_contracts.enums import Provider

NEEDED = {
    "PROCTOR_AMQP_URL": "amqp://guest:guest@localhost/",
    "PROCTOR_DATABASE_URL": "postgresql://proctor@localhost/proctor",
}


def test_broker_and_database_are_enough() -> None:
    settings = ApiSettings.from_env(NEEDED)
    assert (
        settings.http.port,
        settings.judge,
        settings.auto_migrate,
        settings.database.transaction_pooler,
    ) == (
        8080,
        None,
        True,
        False,
    )
    assert settings.pools == ("default", "high")


def test_everything_else_can_be_said() -> None:
    settings = ApiSettings.from_env(
        NEEDED
        | {
            "PROCTOR_POOLS": "slow, high",
            "PROCTOR_JUDGE_PROVIDER": "Anthropic",
            "PROCTOR_JUDGE_MODEL": "m",
            "PROCTOR_JUDGE_VOTES": "3",
            "PROCTOR_AUTO_MIGRATE": "no",
            "PROCTOR_TRANSACTION_POOLER": "1",
            "PROCTOR_DATABASE_CONNECTIONS": "25",
        }
    )
    assert settings.pools == ("default", "high", "slow")
    assert settings.judge is not None
    assert (settings.judge.provider, settings.judge.model, settings.judge.votes) == ("anthropic", "m", 3)
    assert (settings.auto_migrate, settings.database.transaction_pooler, settings.database.connections) == (
        False,
        True,
        25,
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PROCTOR_AMQP_URL", ""),
        ("PROCTOR_DATABASE_URL", "mysql://x/y"),
        ("PROCTOR_AUTO_MIGRATE", "perhaps"),
        ("PROCTOR_TRANSACTION_POOLER", "2"),
        ("PROCTOR_DATABASE_CONNECTIONS", "0"),
        ("PROCTOR_DATABASE_CONNECTIONS", "many"),
        ("PROCTOR_HTTP_PORT", "x"),
    ],
)
def test_a_wrong_variable_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name):
        ApiSettings.from_env(NEEDED | {name: value})


@pytest.mark.parametrize(
    ("env", "named"),
    [
        ({"PROCTOR_JUDGE_PROVIDER": "openai"}, "PROCTOR_JUDGE_MODEL"),
        ({"PROCTOR_JUDGE_MODEL": "m"}, "PROCTOR_JUDGE_PROVIDER"),
        ({"PROCTOR_JUDGE_PROVIDER": "http", "PROCTOR_JUDGE_MODEL": "m"}, "PROCTOR_JUDGE_PROVIDER"),
        (
            {"PROCTOR_JUDGE_PROVIDER": "openai", "PROCTOR_JUDGE_MODEL": "m", "PROCTOR_JUDGE_VOTES": "2"},
            "PROCTOR_JUDGE_VOTES",
        ),
    ],
)
def test_half_a_judge_is_refused_naming_what_is_missing(env: dict[str, str], named: str) -> None:
    with pytest.raises(SettingsError, match=named):
        judge_from_env(env)


def test_the_meta_model_is_the_judge_unless_another_is_named() -> None:
    judge = {"PROCTOR_JUDGE_PROVIDER": "anthropic", "PROCTOR_JUDGE_MODEL": "j"}
    meta = {"PROCTOR_META_PROVIDER": "Groq", "PROCTOR_META_MODEL": "m"}
    assert meta_from_env({}) is None
    assert meta_from_env(judge) == MetaSettings(provider=Provider.ANTHROPIC, model="j")
    assert meta_from_env(judge | meta) == MetaSettings(provider=Provider.GROQ, model="m")
    assert ApiSettings.from_env(NEEDED | judge).meta == meta_from_env(judge)


def test_providers_of_comparisons_have_their_pools() -> None:
    env = NEEDED | {"PROCTOR_POOLS": "fast", "PROCTOR_POOL_BY_PROVIDER": " openai=fast, anthropic = high,"}
    assert ApiSettings.from_env(env).pool_by_provider == {Provider.OPENAI: "fast", Provider.ANTHROPIC: "high"}
    assert ApiSettings.from_env(NEEDED).pool_by_provider == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [("openai=nowhere", "no pool 'nowhere'"), ("gpt=high", "'gpt' is not one of"), ("openai", "no pool ''")],
)
def test_a_pool_or_provider_that_is_not_there_is_refused(text: str, said: str) -> None:
    with pytest.raises(SettingsError, match=f"PROCTOR_POOL_BY_PROVIDER: .*{said}"):
        ApiSettings.from_env(NEEDED | {"PROCTOR_POOL_BY_PROVIDER": text})


@pytest.mark.parametrize(
    ("env", "named"),
    [
        ({"PROCTOR_META_PROVIDER": "groq"}, "PROCTOR_META_MODEL"),
        ({"PROCTOR_META_MODEL": "m"}, "PROCTOR_META_PROVIDER"),
        ({"PROCTOR_META_PROVIDER": "http", "PROCTOR_META_MODEL": "m"}, "PROCTOR_META_PROVIDER"),
        ({"PROCTOR_EGRESS_ALLOW": "*"}, "PROCTOR_EGRESS_ALLOW"),
        ({"PROCTOR_LLM_TRIES": "0"}, "PROCTOR_LLM_TRIES"),
    ],
)
def test_what_is_wrong_about_models_is_named(env: dict[str, str], named: str) -> None:
    with pytest.raises(SettingsError, match=named):
        ApiSettings.from_env(NEEDED | env)
