"""Exports that fail: the run stays, it is said, and others go on."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from uuid import UUID

import pytest
from typing_extensions import override

from proctor_api.retention.holding import LEASE, Elsewhere
from proctor_store.session import StoreUnavailable
from tests.api.retention.conftest import House, Kept


def failing(*runs: UUID, error: Exception | None = None) -> Kept:
    archive = Kept()
    names = {str(run) for run in runs}
    raised = error or OSError(28, "No space left on device")
    archive.fails = lambda name: raised if any(one in name for one in names) else None
    return archive


async def test_a_run_that_cannot_be_stored_is_kept_and_tried_later(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    old = await house.run()
    archive = failing(old, error=OSError("PUT https://bucket/x?X-Amz-Signature=hunter2 failed"))
    retention = house.retention(archive=archive)
    with caplog.at_level(logging.WARNING):
        await retention.look()
    assert not await house.gone(old)
    assert house.told.exports.by_label == {"failed": 1}
    (record,) = caplog.records
    said = vars(record)
    assert (record.message, said["run_id"], said["failures"]) == ("retention.export_failed", str(old), 1)
    assert "OSError: PUT https://bucket/x?…" in said["why"]
    assert "hunter2" not in caplog.text + said["why"]
    for waited, tries in ((4 * 60, 1), (60, 2), (9 * 60, 2), (60, 3)):
        house.time.pass_(waited)
        await retention.look()
        assert len(archive.tried) == tries
    archive.fails = lambda _name: None
    house.time.pass_(20 * 60)
    await retention.look()
    assert await house.gone(old)
    assert len(archive.files) == 1


async def test_a_run_that_cannot_be_stored_holds_up_no_other(house: House) -> None:
    bad = [await house.run(age=40), await house.run(age=39)]
    good = [await house.run(age=38), await house.run(age=37)]
    await house.retention(archive=failing(*bad)).look()
    assert [await house.gone(run) for run in (*bad, *good)] == [False, False, True, True]


async def test_an_archive_that_is_away_is_left_alone_until_the_next_look(house: House) -> None:
    runs = [await house.run(age=40 - n) for n in range(5)]
    archive = failing(*runs)
    retention = house.retention(archive=archive)
    assert not await retention.look()
    assert len(archive.tried) == 3
    # The others come first then, since the first three wait.
    await retention.look()
    assert len(set(archive.tried)) == 5
    assert not any([await house.gone(run) for run in runs])


async def test_a_run_in_use_is_not_stored_for_nothing(house: House) -> None:
    old = await house.run()
    await house.api.data("POST", f"/testing/runs/{old}/rerun", {}, status=201)
    archive = Kept()
    await house.retention(archive=archive).look()
    assert archive.tried == []


@pytest.mark.parametrize("error", [StoreUnavailable("gone"), Elsewhere()])
async def test_what_is_not_the_archives_fault_puts_nothing_off(house: House, error: Exception) -> None:
    old = await house.run()
    retention = house.retention(archive=failing(old, error=error))
    if isinstance(error, Elsewhere):
        assert not await retention.look()
    else:
        with pytest.raises(StoreUnavailable):
            await retention.look()
    assert house.told.exports.total == 0
    await house.retention(archive=Kept()).look()
    assert await house.gone(old)


async def test_a_run_that_its_user_deletes_meanwhile_is_no_failure(house: House) -> None:
    old = await house.run()
    archive = Kept()

    class Deleting(Kept):
        @override
        async def store(self, name: str, parts: AsyncIterator[bytes]) -> None:
            assert (await house.api("DELETE", f"/testing/runs/{old}")).status_code == 204
            await archive.store(name, parts)

    await house.retention(archive=Deleting()).look()
    assert archive.files == {}
    assert house.told.exports.total == 0
    assert await house.gone(old)


async def test_a_long_export_keeps_its_claim(house: House) -> None:
    await house.run(repeats=10)
    other = house.retention(owner="two")

    class Slow(Kept):
        @override
        async def store(self, name: str, parts: AsyncIterator[bytes]) -> None:
            async for _part in parts:
                house.time.pass_(LEASE.total_seconds() * 0.4)
                # Whoever comes meanwhile finds it taken.
                with pytest.raises(Elsewhere):
                    await other._holding.keep()
            self.files[name] = b""

    archive = Slow()
    await house.retention(archive=archive).look()
    assert len(archive.files) == 1
