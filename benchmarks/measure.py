"""Running a command as a whole process: wall time, CPU of its tree, peak memory."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

__all__ = ["Figure", "medians", "run", "stub", "tree_mb"]

SAMPLE_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Figure:
    """One run: seconds of wall clock and CPU, and the peak of its process tree's memory in MB."""

    wall: float
    cpu: float
    peak_mb: float


def tree_mb(root: int) -> float:
    """The resident memory of a process and its children (Linux)."""
    total, todo = 0, [root]
    while todo:
        pid = todo.pop()
        try:
            fields = Path(f"/proc/{pid}/statm").read_text().split()
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        except OSError:
            continue
        total += int(fields[1]) * os.sysconf("SC_PAGE_SIZE")
        todo.extend(map(int, children))
    return total / 1e6


def run(
    command: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None = None, ok: Sequence[int] = (0,)
) -> Figure:
    """Run a command to its end.

    Raises:
        RuntimeError: when it ends with another exit code than expected.
    """
    given = {**os.environ, **(env or {})}
    given.pop("PYTHONDONTWRITEBYTECODE", None)  # as installed: nobody measures the compiler of every import
    before = os.times()
    started = time.perf_counter()
    process = subprocess.Popen(  # noqa: S603 - the benchmark's own commands
        command, cwd=cwd, env=given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    peak = 0.0
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(SAMPLE_SECONDS):
            peak = max(peak, tree_mb(process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    output, _ = process.communicate()
    wall = time.perf_counter() - started
    done.set()
    watcher.join()
    after = os.times()
    if process.returncode not in ok:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}:\n{output.decode()[-4000:]}")
    cpu = after.children_user - before.children_user + after.children_system - before.children_system
    return Figure(wall, cpu, peak)


def medians(figures: Sequence[Figure]) -> Figure:
    """The median of each figure."""
    return Figure(
        median(f.wall for f in figures), median(f.cpu for f in figures), median(f.peak_mb for f in figures)
    )


@contextmanager
def stub(latency_ms: float) -> Iterator[str]:
    """Serve the stub model in a process of its own; yields its URL."""
    process = subprocess.Popen(  # noqa: S603 - the benchmark's own stub
        [sys.executable, "-m", "benchmarks.stub_model", "--latency-ms", str(latency_ms)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        if process.stdout is None:
            raise RuntimeError("the stub has no output")
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()
