"""Where runs are kept before they are deleted: a folder, or a bucket."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO, Protocol

__all__ = ["Archive", "Folder"]


class Archive(Protocol):
    """Keeps files by name; what is stored under a name is whole, or not there."""

    async def store(self, name: str, parts: AsyncIterator[bytes]) -> None:
        """Keep a file, in the place of an earlier one of its name; raises whatever went wrong."""
        ...


class Folder:
    """A folder of this machine, or of a disk that is mounted into it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def store(self, name: str, parts: AsyncIterator[bytes]) -> None:
        """Write the file beside its place and move it there once it is on the disk.

        Raises:
            OSError: when the folder cannot be made or written.
        """
        place = self._path / name
        # The same name at every try, so that what a crash leaves is written over by the next one.
        beside = place.with_name(f".{place.name}.part")
        await asyncio.to_thread(place.parent.mkdir, parents=True, exist_ok=True)
        try:
            with await asyncio.to_thread(beside.open, "wb") as out:
                async for part in parts:
                    await asyncio.to_thread(out.write, part)
                await asyncio.to_thread(_onto_disk, out)
            await asyncio.to_thread(_moved, beside, place)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise


def _onto_disk(out: IO[bytes]) -> None:
    out.flush()
    os.fsync(out.fileno())


def _moved(beside: Path, place: Path) -> None:
    beside.replace(place)
    folder = os.open(place.parent, os.O_RDONLY)
    try:
        # The name is only there for good once its folder is on the disk too.
        os.fsync(folder)
    finally:
        os.close(folder)
