from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from proctor_llm.sse import ServerEvent, read_events

STREAM = (
    b': hello\n\nevent: first\ndata: {"a": 1}\n\n'
    b"event: second\r\ndata: one\r\ndata: two\r\nid: 7\r\n\r\ndata:\xd0\xb9\n\nevent: lost\ndata: cut"
)
EVENTS = [
    ServerEvent("first", b'{"a": 1}'),
    ServerEvent("second", b"one\ntwo"),
    ServerEvent("", "й".encode()),
]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
async def test_events_are_the_same_however_the_bytes_arrive(size: int) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for at in range(0, len(STREAM), size):
            yield STREAM[at : at + size]

    assert [event async for event in read_events(chunks())] == EVENTS
