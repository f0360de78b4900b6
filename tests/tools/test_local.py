from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from typing_extensions import override

from tools import local


class Api(BaseHTTPRequestHandler):
    """Knows one key."""

    def do_GET(self) -> None:
        known = self.headers.get("Authorization") == "Bearer sk_good"
        self.send_response(200 if known and self.path.startswith("/api/testing/runs") else 401)
        self.end_headers()

    @override
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def api() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Api) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join(timeout=10)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    keys: list[str] = []

    def new_key(*_: object) -> str:
        keys.append("sk_good")
        return keys[-1]

    monkeypatch.setattr(local, "state_folder", lambda: tmp_path)
    monkeypatch.setattr(local, "_new_key", new_key)
    return keys


def test_a_second_start_gives_the_same_key_until_it_is_no_longer_good(
    made: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with api() as url:
        local._print_access([], {}, url)
        local._print_access([], {}, url)
        assert made == ["sk_good"]
        assert capsys.readouterr().out.count(f"export PROCTOR_SERVER={url} PROCTOR_API_KEY=sk_good") == 2
        (tmp_path / "access.json").write_text(json.dumps({"url": url, "key": "sk_revoked"}))
        local._print_access([], {}, url)
    assert len(made) == 2
    assert (tmp_path / "access.json").stat().st_mode & 0o077 == 0


def test_the_port_of_last_time_is_taken_again_when_it_is_free(
    monkeypatch: pytest.MonkeyPatch, made: list[str], tmp_path: Path
) -> None:
    assert made == []
    taken: set[int] = set()
    monkeypatch.setattr(local, "port_open", lambda _, port: port in taken)
    assert local._services(1)[0].port == local.API_PORT
    (tmp_path / "access.json").write_text('{"url": "http://127.0.0.1:18123", "key": "k"}')
    assert local._services(1)[0].port == 18123
    taken.add(18123)
    assert local._services(1)[0].port == local.API_PORT
