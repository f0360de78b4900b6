from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from proctor_cli.sse import ServerEvent, SseParser

STREAM = (
    "retry: 10\n: hello\n\nid: 1\nevent: run.started\ndata: {}\n\n"
    'event: case.started\r\ndata: {"a":\r\ndata: 1}\r\n\r\n'
    "id: 2\rdata: їжак\r\r: beat\n\nid\ndata:x\n\nevent: lost\n\n"
)
EVENTS = [
    ServerEvent("run.started", "{}", "1"),
    ServerEvent("case.started", '{"a":\n1}', None),
    ServerEvent("message", "їжак", "2"),
    ServerEvent("message", "x", ""),
]


@given(st.lists(st.integers(0, len(STREAM.encode())), max_size=20))
def test_events_are_the_same_however_the_bytes_are_cut(cuts: list[int]) -> None:
    raw, parser = STREAM.encode(), SseParser()
    found: list[ServerEvent] = []
    edges = [0, *sorted(cuts), len(raw)]
    for start, end in pairwise(edges):
        found += parser.feed(raw[start:end])
    assert found == EVENTS
