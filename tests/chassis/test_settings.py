from __future__ import annotations

import pytest

from proctor_chassis.settings import (
    BusSettings,
    DatabaseSettings,
    EgressSettings,
    HttpSettings,
    LogSettings,
    SettingsError,
    WorkerSettings,
)


def test_an_empty_environment_is_the_embedded_one() -> None:
    assert BusSettings.from_env({}) == BusSettings(amqp_url=None, pools=())
    assert DatabaseSettings.from_env({}) == DatabaseSettings(url=None)
    assert HttpSettings.from_env({}) == HttpSettings(host="127.0.0.1", port=8080)
    assert LogSettings.from_env({}) == LogSettings(format="console", level="info")
    assert EgressSettings.from_env({}) == EgressSettings(allow=())
    worker = WorkerSettings.from_env({})
    assert (worker.pool, worker.concurrency) == ("default", 16)
    assert worker.worker_id


def test_what_is_set_is_read() -> None:
    env = {
        "PROCTOR_AMQP_URL": " amqp://u:p@host:5672/v ",
        "PROCTOR_POOLS": "gpu, eu-west gpu",
        "PROCTOR_DATABASE_URL": "postgresql://u:p@host/db",
        "PROCTOR_POOL": "gpu",
        "PROCTOR_CONCURRENCY": "64",
        "PROCTOR_GRACE_SECONDS": "10",
        "PROCTOR_WORKER_ID": "runner-1",
        "PROCTOR_HTTP_HOST": "::1",
        "PROCTOR_HTTP_PORT": "0",
        "PROCTOR_LOG_FORMAT": "JSON",
        "PROCTOR_LOG_LEVEL": "warning",
        "PROCTOR_EGRESS_ALLOW": "bot.internal, 10.0.0.0/8",
    }
    assert BusSettings.from_env(env).amqp_url == "amqp://u:p@host:5672/v"
    assert BusSettings.from_env(env).pools == ("gpu", "eu-west")
    assert DatabaseSettings.from_env(env).url == "postgresql://u:p@host/db"
    assert WorkerSettings.from_env(env) == WorkerSettings(
        pool="gpu", concurrency=64, grace_seconds=10, worker_id="runner-1"
    )
    assert HttpSettings.from_env(env) == HttpSettings(host="::1", port=0)
    assert LogSettings.from_env(env) == LogSettings(format="json", level="warning")
    assert EgressSettings.from_env(env).allow == ("bot.internal", "10.0.0.0/8")


@pytest.mark.parametrize(
    ("read", "name", "value"),
    [
        (BusSettings.from_env, "PROCTOR_AMQP_URL", "http://host"),
        (BusSettings.from_env, "PROCTOR_POOLS", "ok,Not-OK"),
        (DatabaseSettings.from_env, "PROCTOR_DATABASE_URL", "mysql://host/db"),
        (WorkerSettings.from_env, "PROCTOR_POOL", "a.b"),
        (WorkerSettings.from_env, "PROCTOR_POOL", "#"),
        (WorkerSettings.from_env, "PROCTOR_CONCURRENCY", "many"),
        (WorkerSettings.from_env, "PROCTOR_CONCURRENCY", "0"),
        (WorkerSettings.from_env, "PROCTOR_CONCURRENCY", "1001"),
        (WorkerSettings.from_env, "PROCTOR_GRACE_SECONDS", "-1"),
        (HttpSettings.from_env, "PROCTOR_HTTP_PORT", "65536"),
        (LogSettings.from_env, "PROCTOR_LOG_FORMAT", "xml"),
        (LogSettings.from_env, "PROCTOR_LOG_LEVEL", "loud"),
    ],
)
def test_what_is_wrong_is_named(read: object, name: str, value: str) -> None:
    assert callable(read)
    with pytest.raises(SettingsError, match=name):
        read({name: value})


def test_a_wrong_url_is_not_shown_since_it_holds_a_password() -> None:
    with pytest.raises(SettingsError) as raised:
        BusSettings.from_env({"PROCTOR_AMQP_URL": "ampq://user:hunter2@host"})
    assert "hunter2" not in str(raised.value)


def test_a_process_apart_insists_on_its_servers() -> None:
    with pytest.raises(SettingsError, match="PROCTOR_AMQP_URL is not set"):
        BusSettings.from_env({}).required()
    with pytest.raises(SettingsError, match="PROCTOR_DATABASE_URL is not set"):
        DatabaseSettings.from_env({}).required()
    bus = BusSettings.from_env({"PROCTOR_AMQP_URL": "amqps://host"})
    assert bus.required() is bus


def test_a_probes_port_differs_from_the_apis() -> None:
    assert HttpSettings.from_env({}, port=8081).port == 8081
    assert HttpSettings.from_env({"PROCTOR_HTTP_PORT": "9000"}, port=8081).port == 9000
