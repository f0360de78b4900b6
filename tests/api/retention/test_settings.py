from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from importlib import util
from pathlib import Path

import pytest

from proctor_api.retention import settings
from proctor_api.retention.ages import Ages
from proctor_api.retention.archive import Folder
from proctor_api.retention.bucket import Bucket
from proctor_api.retention.settings import RetentionSettings
from proctor_chassis.egress import Operator
from proctor_chassis.settings import SettingsError

EXPORT = "PROCTOR_RETENTION_EXPORT"


def read(env: Mapping[str, str]) -> RetentionSettings:
    return RetentionSettings.from_env(env, rules=Operator())


def test_without_a_word_the_usual_ages_hold_and_nothing_is_stored() -> None:
    assert read({}) == RetentionSettings(ages=Ages(), archive=None)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("7", timedelta(days=7)),
        (" 36500 ", timedelta(days=36_500)),
        ("0", None),
        ("never", None),
        ("Never", None),
    ],
)
def test_days_are_counted_and_never_keeps_all(text: str, kept: timedelta | None) -> None:
    names = ("PROCTOR_RETENTION_DAYS", "PROCTOR_RETENTION_CANCELLED_DAYS", "PROCTOR_RETENTION_ALERT_DAYS")
    for name, field in zip(names, ("runs", "cancelled", "alerts"), strict=True):
        ages = read({name: text}).ages
        assert ages == Ages(**{field: kept})


@pytest.mark.parametrize("text", ["-1", "1.5", "30d", "36501", "٣", "1e3", "for ever"])
def test_what_is_no_number_of_days_is_refused_by_name(text: str) -> None:
    with pytest.raises(SettingsError, match=r"^PROCTOR_RETENTION_CANCELLED_DAYS: .*never"):
        read({"PROCTOR_RETENTION_CANCELLED_DAYS": text})


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/srv/proctor", "/srv/proctor"),
        ("file:///srv/proctor%20runs", "/srv/proctor runs"),
        ("file://localhost/srv", "/srv"),
    ],
)
def test_a_folder_is_named_by_path_or_url(text: str, path: str) -> None:
    archive = read({EXPORT: text}).archive
    assert isinstance(archive, Folder)
    assert archive._path == Path(path)


@pytest.mark.parametrize(
    "text",
    ["runs", "./runs", "file://host/runs", "http://bucket/x", "ftp://h/x", "s3:///prefix", "s3:bucket"],
)
def test_a_place_that_is_neither_folder_nor_bucket_is_refused_by_name(text: str) -> None:
    with pytest.raises(SettingsError, match=f"^{EXPORT}: "):
        read({EXPORT: text})


@pytest.mark.parametrize(
    "text", ["s3://key:hunter2@bucket/x", "s3://bucket/x?secret=hunter2", "az://box/x#hunter2"]
)
def test_a_key_in_the_url_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(SettingsError, match=f"^{EXPORT}: ") as refused:
        read({EXPORT: text})
    assert "hunter2" not in str(refused.value)


def test_a_bucket_is_reached_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    env = {EXPORT: "s3://bucket/proctor", "AWS_ENDPOINT_URL": "http://minio.internal:9000"}
    archive = read(env).archive
    assert isinstance(archive, Bucket)
    assert archive._endpoint == "http://minio.internal:9000"
    assert archive._rules.lists("minio.internal", 9000)
    assert not archive._rules.lists("minio.internal", 9001)
    own = read(env | {"AWS_ENDPOINT_URL_S3": "https://s3.internal"}).archive
    assert isinstance(own, Bucket)
    assert own._endpoint == "https://s3.internal"


@pytest.mark.parametrize("endpoint", ["http://169.254.169.254", "http://k:hunter2@minio", "minio"])
def test_an_endpoint_that_cannot_be_used_is_refused_by_name(endpoint: str) -> None:
    env = {EXPORT: "s3://bucket", "AWS_ENDPOINT_URL": endpoint}
    with pytest.raises(SettingsError, match=r"^AWS_ENDPOINT_URL: ") as refused:
        read(env)
    assert "hunter2" not in str(refused.value)


def test_without_its_package_a_bucket_is_refused_with_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    found = util.find_spec
    monkeypatch.setattr(settings, "find_spec", lambda name: None if name == "obstore" else found(name))
    with pytest.raises(SettingsError, match=rf"^{EXPORT}: .*pip install '\.\[bucket\]'"):
        read({EXPORT: "s3://bucket"})
    assert read({EXPORT: "/srv"}).archive is not None
