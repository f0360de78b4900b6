"""`python -m benchmarks [embedded|real|retention|statistics]`: figures beside the bare loop of the same run.

Whole processes are timed, start-up included, and beside them the run alone; each line is the median of
`--rounds` paired runs after a warm-up. The machine's speed drifts, so the ratio is what to read.
`statistics` simulates agents with known pass rates instead. Bars and aims are printed, never enforced.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sqlite3
import sys
import tempfile
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median

from benchmarks.measure import Figure, medians, run, stub
from benchmarks.simulations import simulations
from benchmarks.work import write_suite

PROCTOR = shutil.which(
    "proctor", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
)
ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One line of the table."""

    name: str
    count: int
    concurrency: int
    bar: str
    judge: bool = False
    provider: str = "http"
    floor: str = "raw"
    tools: bool = False


IDEAL_TOOLS = 1_000 / 100 * (4 * 0.050 + 3 * 0.020)
"""Seconds of mere waiting: four model calls and three tool calls a case, a hundred cases at once."""

SCENARIOS = (
    Scenario("1 case", 1, 1, "wall <= 1.2 s, aim 0.8 s"),
    Scenario("200 cases, c50", 200, 50, "wall <= 1.9 s, aim 1.2 s"),
    Scenario("2,000 cases, c50", 2_000, 50, "wall <= 5.0 s, aim 3.2 s"),
    Scenario("2,000 cases, c200", 2_000, 200, ">= 450 cases/s, aim 800"),
    Scenario("2,000 cases + judge, c50", 2_000, 50, "aim: as the peers' README says", judge=True),
    Scenario(
        "2,000 cases, openai SDK, c50",
        2_000,
        50,
        "<= 1.3x its SDK's loop, aim 0.7x",
        provider="openai",
        floor="openai",
    ),
    Scenario(
        "1,000 cases, 3 tool calls, c100",
        1_000,
        100,
        f"run <= 1.5x ideal, which is {IDEAL_TOOLS:.1f} s",
        provider="openai",
        floor="tools",
        tools=True,
    ),
    Scenario("10,000 cases, c200", 10_000, 200, "CPU a case <= 1.1x of 2,000; peak <= 180 MB, aim 110 MB"),
)


def played(folder: Path) -> float:
    """The run's own seconds, from its first case that left to its end, as its database tells them."""
    with closing(sqlite3.connect(folder / ".proctor" / "proctor.db")) as database:
        row = database.execute("SELECT started_at, completed_at FROM test_runs").fetchone()
    started, completed = map(datetime.fromisoformat, row)
    return (completed - started).total_seconds()


def once(scenario: Scenario, url: str, folder: Path) -> tuple[Figure, Figure, float]:
    """Run Proctor and the bare loop once, one after the other; the third is the run's own seconds."""
    suite = folder / "suite.json"
    write_suite(
        suite,
        url=url,
        count=scenario.count,
        concurrency=scenario.concurrency,
        judge=scenario.judge,
        provider=scenario.provider,
        tools=scenario.tools,
    )
    shutil.rmtree(folder / ".proctor", ignore_errors=True)
    if PROCTOR is None:
        raise SystemExit("there is no proctor command beside this Python; run make setup")
    environment = {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "bench", "NO_COLOR": "1"}
    ours = run([PROCTOR, "--quiet", "run", str(suite)], cwd=folder, env=environment)
    loop = [sys.executable, "-m", "benchmarks.floor", scenario.floor, url]
    floor = run([*loop, str(scenario.count), str(scenario.concurrency), "01"[scenario.judge]], cwd=ROOT)
    return ours, floor, played(folder)


def embedded(*, rounds: int, only: str | None) -> None:
    """Print the table of the embedded mode."""
    print(
        f"{'embedded, 50 ms a model call':31}{'wall s':>8}{'floor':>8}{'ratio':>7}{'run s':>7}{'cases/s':>9}",
        end="",
    )
    print(f"{'CPU ms':>8}{'net':>7}{'peak MB':>9}  bar")
    start: Figure | None = None
    for scenario in SCENARIOS:
        if only is not None and only not in scenario.name:
            continue
        with stub(50) as url, tempfile.TemporaryDirectory() as folder:
            pairs = [once(scenario, url, Path(folder)) for _ in range(rounds + 1)][1:]
        ours, floor = medians([pair[0] for pair in pairs]), medians([pair[1] for pair in pairs])
        run_seconds = median(pair[2] for pair in pairs)
        if scenario.count == 1:
            start = ours
        # What the start costs is taken off, as for the peers: net = (CPU - CPU of one case) / cases.
        net = ""
        if start is not None and scenario.count > 1:
            net = f"{(ours.cpu - start.cpu) / scenario.count * 1000:.2f}"
        rate, cpu = scenario.count / ours.wall, ours.cpu / scenario.count * 1000
        print(
            f"{scenario.name:31}{ours.wall:8.2f}{floor.wall:8.2f}{ours.wall / floor.wall:7.2f}"
            f"{run_seconds:7.2f}{rate:9.0f}"
            f"{cpu:8.2f}{net:>7}{ours.peak_mb:9.0f}  {scenario.bar}",
            flush=True,
        )


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "what", nargs="?", choices=["all", "embedded", "real", "retention", "statistics"], default="all"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help="only the lines whose name holds this text")
    parser.add_argument("--cases", type=int, default=10_000, help="cases of the real mode")
    chosen = parser.parse_args()
    if chosen.what in {"all", "embedded"}:
        embedded(rounds=chosen.rounds, only=chosen.only)
    if chosen.what in {"all", "statistics"}:
        simulations()
    if chosen.what in {"all", "real"}:
        from benchmarks.real import real  # noqa: PLC0415 - needs the server extras

        real(count=chosen.cases)
    if chosen.what in {"all", "retention"}:
        from benchmarks.retention import retention  # noqa: PLC0415 - as above

        retention(rounds=chosen.rounds)


if __name__ == "__main__":
    main()
