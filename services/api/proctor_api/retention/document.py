"""A run as the document that its export is, byte for byte, compressed and made a part at a time."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Sequence

from proctor_contracts.schemas.runs import ResultView, RunDocument, RunView

__all__ = ["compressed", "written"]

_GZIP = 31
"""What tells zlib to write a gzip file; its head has no time in it, so the same run is the same file."""


def _opening(run: RunView) -> str:
    whole = RunDocument(run=run, results=()).model_dump_json(indent=2)
    return whole.rpartition("[]")[0] + "["


def _entries(results: Sequence[ResultView], *, first: bool) -> str:
    # A line break within a text is written as an escape, so every one in the JSON begins a line.
    lines = [one.model_dump_json(indent=2).replace("\n", "\n    ") for one in results]
    return ("\n    " if first else ",\n    ") + ",\n    ".join(lines)


async def written(run: RunView, pages: AsyncIterator[Sequence[ResultView]]) -> AsyncIterator[str]:
    """Write the run's document; long texts are written on another thread, so that the loop goes on."""
    yield _opening(run)
    first = True
    async for page in pages:
        yield await asyncio.to_thread(_entries, page, first=first)
        first = False
    yield "]\n}" if first else "\n  ]\n}"


async def compressed(parts: AsyncIterator[str]) -> AsyncIterator[bytes]:
    """Compress texts into one gzip file."""
    packer = zlib.compressobj(wbits=_GZIP)
    async for part in parts:
        if packed := await asyncio.to_thread(packer.compress, part.encode()):
            yield packed
    yield packer.flush()
