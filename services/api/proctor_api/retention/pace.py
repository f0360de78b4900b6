"""How fast to delete: in short batches, whatever the database costs, and with pauses between them."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["EMBEDDED", "SERVER", "Pace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The next batch's rows; a batch should take `aim` seconds, and all of them `share` of the time.

    A busy database makes batches slower, and so both smaller and further apart, but never so small that
    their beginnings and ends are most of the work.
    """

    rows: int
    least: int
    most: int
    aim: float
    share: float

    def after(self, seconds: float) -> Pace:
        """Fit the next batch to how long one of this size took; grows and shrinks at most by half."""
        factor = min(1.5, max(0.5, self.aim / max(seconds, 0.001)))
        return replace(self, rows=max(self.least, min(self.most, int(self.rows * factor))))

    def pause(self, seconds: float) -> float:
        """How long to leave the database alone after a batch that took so long."""
        return seconds * (1 - self.share) / self.share


SERVER = Pace(rows=200, least=200, most=1_000, aim=0.05, share=0.2)
"""A server with several connections: what a batch locks is needed by nobody else."""

EMBEDDED = Pace(rows=20, least=10, most=200, aim=0.01, share=0.2)
"""A file with one writer, on the event loop: while a batch is written, nothing else is done."""
