"""The progress line of a run: counts, cost and time left, on a terminal only."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from proctor_contracts.schemas.runs import RunEvent
from proctor_reports.reading import money
from proctor_reports.text import clip

from .screen import Screen

__all__ = ["Progress"]

_BAR = 20
_SECONDS_BETWEEN = 0.1
_CLEAR = "\r\x1b[K"


class Progress:
    """Shows what events say; silent where nobody watches."""

    def __init__(self, screen: Screen, *, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._screen = screen
        self._clock = clock
        self._total = total
        self._shown_at: float | None = None
        self._on = screen.live and not screen.quiet

    def saw(self, event: RunEvent) -> None:
        """Take an event; `run.progress` moves the line."""
        if not self._on or event.event != "run.progress":
            return
        now = self._clock()
        if self._shown_at is not None and now - self._shown_at < _SECONDS_BETWEEN:
            return
        self._shown_at = now
        self._screen.err.write(_CLEAR + clip(self.line(event.data), self._screen.width - 1))
        self._screen.err.flush()

    def line(self, data: dict[str, Any]) -> str:
        """Write the counters on one line."""
        total = _number(data, "total") or self._total
        done = min(_number(data, "done"), total)
        filled = _BAR * done // total if total else 0
        parts = [
            f"[{'#' * filled}{'.' * (_BAR - filled)}] {done}/{total}",
            f"{_number(data, 'passed')} passed",
        ]
        parts += [f"{count} {word}" for word in ("failed", "error") if (count := _number(data, word))]
        if isinstance(cost := data.get("costCents"), int | float) and cost:
            parts.append(money(cost))
        if (eta := data.get("etaSeconds")) is not None and done < total:
            parts.append(f"{_number({'eta': eta}, 'eta')} s left")
        return "  ".join(parts)

    def end(self) -> None:
        """Take the line away, so that the report starts on a clean one."""
        if self._shown_at is not None:
            self._screen.err.write(_CLEAR)
            self._screen.err.flush()
            self._shown_at = None


def _number(data: dict[str, Any], name: str) -> int:
    value = data.get(name)
    return int(value) if isinstance(value, int | float) else 0
