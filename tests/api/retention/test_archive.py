from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from proctor_api.retention.archive import Folder

NAME = "account/2026-04/run.json.gz"


async def parts(*texts: bytes, fails: Exception | None = None) -> AsyncIterator[bytes]:
    for text in texts:
        yield text
    if fails is not None:
        raise fails


def there(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


async def test_a_file_is_written_in_folders_that_are_made_for_it(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "there"
    await Folder(folder).store(NAME, parts(b"one ", b"two"))
    assert there(folder) == {NAME: b"one two"}


async def test_a_file_of_the_same_name_is_replaced_as_a_whole(tmp_path: Path) -> None:
    await Folder(tmp_path).store(NAME, parts(b"a longer text than the next"))
    await Folder(tmp_path).store(NAME, parts(b"next"))
    assert there(tmp_path) == {NAME: b"next"}


async def test_what_cannot_be_finished_leaves_the_earlier_file_and_nothing_else(tmp_path: Path) -> None:
    await Folder(tmp_path).store(NAME, parts(b"whole"))
    with pytest.raises(LookupError):
        await Folder(tmp_path).store(NAME, parts(b"half", fails=LookupError()))
    assert there(tmp_path) == {NAME: b"whole"}


async def test_what_a_crash_left_is_written_over(tmp_path: Path) -> None:
    beside = tmp_path / "account/2026-04/.run.json.gz.part"
    beside.parent.mkdir(parents=True)
    beside.write_bytes(b"left by a process that is no more, and longer")
    await Folder(tmp_path).store(NAME, parts(b"whole"))
    assert there(tmp_path) == {NAME: b"whole"}


async def test_a_folder_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError, match="file"):
        await Folder(tmp_path / "file").store(NAME, parts(b"x"))
