"""Which queues a key reaches: the topology as a lookup."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache

from proctor_contracts.topology import Queue

__all__ = ["Routes", "matches"]


class Routes:
    """Answers for exact keys at once and for patterns by matching."""

    def __init__(self, queues: Iterable[Queue]) -> None:
        exact: dict[tuple[str, str], list[str]] = defaultdict(list)
        patterns: list[tuple[str, str, str]] = []
        for queue in queues:
            for binding in queue.bindings:
                if "#" in binding.key or "*" in binding.key:
                    patterns.append((binding.exchange.name, binding.key, queue.name))
                else:
                    exact[binding.exchange.name, binding.key].append(queue.name)
        self._exact = {place: tuple(names) for place, names in exact.items()}
        self._patterns = tuple(patterns)

    def to(self, exchange: str, key: str) -> tuple[str, ...]:
        """Name the queues that a message sent with this key reaches."""
        found = self._exact.get((exchange, key), ())
        return found + tuple(
            name
            for source, pattern, name in self._patterns
            if source == exchange and name not in found and matches(pattern, key)
        )


def matches(pattern: str, key: str) -> bool:
    """Whether a topic pattern (`*` one word, `#` any number of words) accepts a key."""
    return pattern == "#" or _compiled(pattern).fullmatch(f"{key}.") is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # Every word is taken with its trailing dot, so that `a.#` also accepts `a` alone, as the broker does.
    words = {"*": r"[^.]+\.", "#": r"(?:[^.]+\.)*"}
    return re.compile("".join(words.get(word, re.escape(word) + r"\.") for word in pattern.split(".")))
