from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from bot import BotServer

ROOT = Path(__file__).parents[2]
PROCTOR = Path(sys.executable).with_name("proctor")
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")


@contextmanager
def running_bot() -> Iterator[str]:
    with BotServer(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join(timeout=10)


@contextmanager
def running_platform(state: Path, **more: str) -> Iterator[tuple[str, str]]:
    """`proctor up` on a free port; yields its URL and key once it says where it is."""
    command = [str(PROCTOR), "--state", str(state), "up", "--port", "0"]
    own = {name: value for name, value in os.environ.items() if not name.startswith("PROCTOR_")}
    environment = {**own, **more}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            assert any(ADDRESS.search(line) for line in process.stdout)
            owner = json.loads((state / "server.json").read_text(encoding="utf-8"))
            yield owner["url"], owner["key"]
        finally:
            process.terminate()
            process.wait(timeout=30)


def lines_of_the_readme() -> str:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks: list[str] = re.findall(r"^```bash\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(blocks)


@pytest.mark.skipif(shutil.which("curl") is None, reason="the README's lines use curl")
def test_the_lines_in_the_readme_do_what_it_says(tmp_path: Path) -> None:
    with running_bot() as bot, running_platform(tmp_path / "state") as (url, key):
        first, _, rest = lines_of_the_readme().partition("\n")
        assert first.startswith("export PROCTOR_SERVER=")
        script = f"set -eu\nexport PROCTOR_SERVER={url} PROCTOR_API_KEY={key}\n{rest}"
        script = script.replace("http://127.0.0.1:8900", bot).replace("curl -sS", "curl -sS --fail-with-body")
        for _ in range(2):  # who pastes them a second time must not be refused
            done = subprocess.run(
                ["/bin/bash", "-c", script], capture_output=True, text=True, check=False, timeout=60
            )
            assert done.returncode == 0, done.stderr + done.stdout
    answers = [json.loads(line)["data"] for line in done.stdout.splitlines() if line.startswith('{"data"')]
    key_, results, compared, cancelled, schedule, ticks, alerts, own, muted, unset = answers
    assert key_["kind"] == "public"
    assert done.stdout.count("event: run.completed") == 2
    assert results["status"] == "completed"
    assert [result["status"] for result in results["results"]] == ["passed"]
    assert "<testsuites" in done.stdout
    assert compared["counts"] == {"still_passing": 1}
    assert cancelled["id"] == compared["runB"]
    assert len(schedule["nextRuns"]) == 3
    assert schedule["timezone"] == "Europe/Kyiv"
    assert (ticks, alerts) == ([], [])
    assert [answer["alerts"] and answer["alerts"]["muted"] for answer in (own, muted, unset)] == [
        False,
        True,
        None,
    ]
