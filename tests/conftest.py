"""Shared by every test: the fixtures for real servers and the line that says whether they were used."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.required import real_servers_required
from tools.servers import choose

pytest_plugins = ["tests.support.servers"]

REAL_DONE: dict[str, int] = {"passed": 0, "failed": 0, "skipped": 0}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Count `real` tests; where real servers are required, a skipped one is a failure."""
    report: pytest.TestReport = yield  # type: ignore[assignment]  # hook wrappers are sent the outcome
    if item.get_closest_marker("real") is not None and (report.when == "call" or not report.passed):
        if report.skipped and real_servers_required():
            report.outcome = "failed"
            report.longrepr = f"may not be skipped here: {report.longrepr}"
        REAL_DONE[report.outcome] += 1
    return report  # type: ignore[return-value]  # as above


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests ran against which real servers."""
    if not any(REAL_DONE.values()):
        return
    counts = ", ".join(f"{count} {name}" for name, count in REAL_DONE.items() if count)
    terminalreporter.section("real servers")
    terminalreporter.line(f"{counts} against RabbitMQ and PostgreSQL:")
    known = choose.running()
    terminalreporter.line(known.describe() if known is not None else "no servers are running")
