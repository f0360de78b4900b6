"""Files in a bucket, against a store on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator
from ipaddress import ip_address

import pytest

from proctor_api.retention.bucket import SMALL, Bucket, open_bucket
from proctor_chassis.egress import Operator
from proctor_contracts.egress import EgressRefused
from tests.support.s3 import S3Stub, open_s3

NAME = "account/2026-04/run.json.gz"


@pytest.fixture
async def s3(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[S3Stub]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "very-secret")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    async with open_s3() as stub:
        yield stub


def bucket(s3: S3Stub) -> Bucket:
    return open_bucket("s3://archive/proctor runs", endpoint=s3.url, rules=Operator())


async def parts(*sizes: int, fails: Exception | None = None) -> AsyncIterator[bytes]:
    for number, size in enumerate(sizes):
        yield bytes([number]) * size
    if fails is not None:
        raise fails


async def test_a_small_file_goes_in_one_request_below_the_prefix(s3: S3Stub) -> None:
    await bucket(s3).store(NAME, parts(3, 2))
    assert s3.objects == {f"archive/proctor runs/{NAME}": b"\0\0\0\1\1"}
    assert (len(s3.requests), s3.signed) == (1, {True})
    await bucket(s3).store(NAME, parts(1))
    assert s3.objects == {f"archive/proctor runs/{NAME}": b"\0"}


async def test_a_large_file_goes_in_parts_and_is_whole(s3: S3Stub) -> None:
    sizes = [SMALL - 1, 2, SMALL + 7, 100]
    await bucket(s3).store(NAME, parts(*sizes))
    whole = b"".join(bytes([n]) * size for n, size in enumerate(sizes))
    assert s3.objects[f"archive/proctor runs/{NAME}"] == whole
    assert s3.uploads == {}


@pytest.mark.parametrize("sizes", [(5,), (SMALL + 1, SMALL)], ids=["small", "large"])
async def test_a_file_that_cannot_be_finished_is_not_there(s3: S3Stub, sizes: tuple[int, ...]) -> None:
    gone = LookupError("the run was deleted meanwhile")
    with pytest.raises(LookupError):
        await bucket(s3).store(NAME, parts(*sizes, fails=gone))
    assert (s3.objects, s3.uploads) == ({}, {})


async def test_a_store_that_falters_is_asked_again_and_one_that_refuses_is_not(s3: S3Stub) -> None:
    s3.failures = 1
    await bucket(s3).store(NAME, parts(1))
    assert len(s3.requests) == 2
    s3.failures, s3.status = 99, 403
    with pytest.raises(Exception, match="403") as refused:
        await bucket(s3).store("another", parts(1))
    assert "very-secret" not in str(refused.value)
    assert len(s3.requests) == 3


async def test_an_endpoint_whose_name_leads_to_metadata_is_not_called(s3: S3Stub) -> None:
    asked: list[tuple[str, int]] = []

    async def resolve(host: str, port: int) -> tuple[object, ...]:
        asked.append((host, port))
        return (ip_address("169.254.169.254"),)

    opened = open_bucket("s3://archive", endpoint="http://minio.internal:9000", rules=Operator())
    opened._resolve = resolve  # type: ignore[assignment]  # addresses as a resolver gives them
    with pytest.raises(EgressRefused, match="never allowed"):
        await opened.store(NAME, parts(1))
    assert asked == [("minio.internal", 9000)]
    assert s3.requests == []


@pytest.mark.parametrize(
    "endpoint",
    ["http://169.254.169.254/", "http://key:hunter2@minio:9000", "ftp://k:hunter2@minio", "minio:9000"],
)
def test_an_endpoint_that_may_never_be_called_is_refused_when_it_is_read(endpoint: str) -> None:
    with pytest.raises((EgressRefused, ValueError)) as refused:
        open_bucket("s3://archive", endpoint=endpoint, rules=Operator())
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("url", ["gs://archive/prefix", "az://archive/prefix"])
def test_other_vendors_buckets_are_opened_too(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "proctor")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "c2VjcmV0")
    monkeypatch.setenv("GOOGLE_SKIP_SIGNATURE", "true")
    assert isinstance(open_bucket(url, endpoint=None, rules=Operator()), Bucket)
