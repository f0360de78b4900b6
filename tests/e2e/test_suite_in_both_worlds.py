"""The example's suite through the command: in its own process and on real servers, with the same verdicts."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from bot import BotServer

from tests.e2e.conftest import Platform
from tests.support.platform_processes import PROCTOR

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="package")]

SUITE = Path(__file__).parents[2] / "examples/support-bot/suite.yaml"


@contextmanager
def support_bot() -> Iterator[str]:
    with BotServer(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join(timeout=10)


async def played(report: Path, **env: str) -> tuple[int | None, Any]:
    """Run the suite; its exit code and its report."""
    process = await asyncio.create_subprocess_exec(
        PROCTOR,
        "run",
        SUITE,
        "--report",
        f"json={report}",
        env={"PATH": os.environ["PATH"], **env},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode in {0, 1}, out.decode()
    return process.returncode, json.loads(await asyncio.to_thread(report.read_text, encoding="utf-8"))


def table(document: Any) -> list[tuple[Any, ...]]:
    return sorted(
        (
            result["caseRef"],
            result["trial"],
            result["status"],
            result["score"],
            [(check["kind"], check["verdict"], check["code"]) for check in result["assertionResults"]],
        )
        for result in document["results"]
    )


async def test_the_same_suite_has_the_same_results_in_one_process_and_on_real_servers(
    platform: Platform, tmp_path: Path
) -> None:
    rest = platform.one
    with support_bot() as url:
        alone = await played(tmp_path / "alone.json", BOT_URL=url, PROCTOR_STATE=str(tmp_path / "state"))
        server = {"PROCTOR_SERVER": rest.url, "PROCTOR_API_KEY": rest.key}
        served = await played(tmp_path / "served.json", BOT_URL=url, **server)
    assert table(served[1]) == table(alone[1])
    assert len(table(alone[1])) >= 20
    wrong = {ref: status for ref, _, status, *_ in table(alone[1]) if status != "passed"}
    assert wrong == {"late-compensation": "failed", "language-brands": "failed"}
    assert (alone[0], served[0]) == (1, 1)
    assert served[1]["run"]["gateDecision"] == alone[1]["run"]["gateDecision"]
