"""A real run that is stopped half-way, by Ctrl-C or by kill -9, and resumed."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typing_extensions import override

from proctor_contracts.schemas.runs import RunDocument
from tests.cli.test_embedded import CLEAN, PATIENCE, PROCTOR, proctor


class Bot(ThreadingHTTPServer):
    """Answers `ok`; the message `wait` only after `released` is set."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.asked: list[str] = []
        self.waiting = threading.Event()
        self.released = threading.Event()


class Answer(BaseHTTPRequestHandler):
    server: Bot

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["message"]
        self.server.asked.append(message)
        if message == "wait":
            self.server.waiting.set()
            self.server.released.wait(PATIENCE)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"answer": "ok"}')

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def bot(tmp_path: Path) -> Iterator[Bot]:
    with Bot() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        case = """
  - {{ref: {0}, name: {0}, category: c, input: {{kind: scripted_single, message: {0}}},
     assertions: [{{kind: contains, value: ok}}]}}"""
        (tmp_path / "suite.yaml").write_text(
            "integration: {name: bot, provider: http, endpoint: {replyPath: $.answer,"
            f' url: "http://127.0.0.1:{server.server_port}/", body: {{message: "{{{{message}}}}"}}}}}}\n'
            "cases:" + "".join(case.format(ref) for ref in ("first", "wait", "last")),
            encoding="utf-8",
        )
        try:
            yield server
        finally:
            server.released.set()
            server.shutdown()
            thread.join()


def half_way(bot: Bot, folder: Path) -> subprocess.Popen[str]:
    """Start a run that plays one case after the other and return when it is stuck in the second."""
    process = subprocess.Popen(
        [*PROCTOR, "run", "suite.yaml", "--concurrency", "1"],
        cwd=folder,
        env=CLEAN,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert bot.waiting.wait(PATIENCE)
    return process


def resumed(bot: Bot, folder: Path, run: str) -> RunDocument:
    bot.released.set()
    bot.asked.clear()
    ended = proctor(folder, "run", "suite.yaml", "--resume", run, "--report", "json=out.json")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "3 results of 3 cases, 3 passed" in ended.stdout
    assert sorted(bot.asked) == ["last", "wait"]
    return RunDocument.model_validate_json((folder / "out.json").read_bytes())


def test_ctrl_c_ends_a_real_run_which_resume_completes(bot: Bot, tmp_path: Path) -> None:
    process = half_way(bot, tmp_path)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2, out + err
    assert "1 passed, 0 failed, 0 error, 2 cancelled" in out
    assert bot.asked == ["first", "wait"]
    found = re.search(r"proctor run suite\.yaml --resume (\S+)", err)
    assert found is not None
    document = resumed(bot, tmp_path, found.group(1))
    assert str(document.run.rerun_of) == found.group(1)


def test_a_killed_run_can_be_resumed_without_playing_again_what_was_done(bot: Bot, tmp_path: Path) -> None:
    process = half_way(bot, tmp_path)
    process.kill()
    process.communicate()
    (run,) = json.loads(proctor(tmp_path, "runs", "--json").stdout)
    assert run["status"] == "cancelled"
    assert run["progress"]["passed"] == 1
    resumed(bot, tmp_path, run["id"])
