from __future__ import annotations

import pytest

from proctor_chassis.bus.routing import Routes, matches
from proctor_contracts.topology import DEAD, EVENTS, JOBS, Binding, Queue


@pytest.mark.parametrize(
    ("pattern", "key", "expected"),
    [
        ("#", "anything.at.all", True),
        ("#", "", True),
        ("live.run.*", "live.run.1", True),
        ("live.run.*", "live.run", False),
        ("live.run.*", "live.run.1.2", False),
        ("live.#", "live", True),
        ("live.#", "live.run.1", True),
        ("live.#", "lively.run", False),
        ("*.run.#", "live.run", True),
        ("#.1", "live.run.1", True),
        ("#.1", "1", True),
        ("a.b", "a.b", True),
        ("a.b", "a.bc", False),
        ("a.b", "aXb", False),
    ],
)
def test_patterns_match_whole_words(pattern: str, key: str, *, expected: bool) -> None:
    assert matches(pattern, key) is expected


def test_routes_are_exact_keys_of_one_exchange_and_patterns() -> None:
    routes = Routes(
        [
            Queue("one", (Binding(JOBS, "a"), Binding(EVENTS, "b"))),
            Queue("two", (Binding(EVENTS, "b"),)),
            Queue("all", (Binding(DEAD, "#"),)),
        ]
    )
    assert routes.to("proctor.jobs", "a") == ("one",)
    assert routes.to("proctor.events", "b") == ("one", "two")
    assert routes.to("proctor.dead", "whatever.it.was") == ("all",)
    assert routes.to("proctor.jobs", "b") == ()
    assert routes.to("proctor.nothing", "a") == ()
