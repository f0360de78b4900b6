"""JSON over HTTP, just enough for the example's servers: one function answers every request."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

__all__ = ["Answer", "JsonServer", "Question", "serve"]

LONGEST_BODY = 1024 * 1024

Answer = tuple[int, Any]
"""Status and document."""


class Question:
    """One request: method, path as it was sent, and its arguments (a GET's query, else the JSON body)."""

    def __init__(self, method: str, target: str, body: bytes) -> None:
        parts = urlsplit(target)
        self.method = method
        self.path = parts.path
        self.names = [unquote(name) for name in parts.path.strip("/").split("/")]
        self.args: Any = dict(parse_qsl(parts.query)) if method == "GET" else json.loads(body or b"{}")


class JsonServer(ThreadingHTTPServer):
    """Answers with what `answer` says."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], answer: Callable[[Question], Answer]) -> None:
        super().__init__(address, _Handler)
        self.answer = answer

    @property
    def url(self) -> str:
        """Where it answers."""
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: JsonServer

    def do_GET(self) -> None:
        """A GET's arguments are its query."""
        self._do()

    def do_POST(self) -> None:
        """A POST's arguments are its body."""
        self._do()

    def _do(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        if length > LONGEST_BODY:
            self.close_connection = True
            self._write(413, {"error": "the body is too long"})
            return
        try:
            question = Question(self.command, self.path, self.rfile.read(length))
        except ValueError:
            self._write(400, {"error": "send JSON"})
            return
        self._write(*self.server.answer(question))

    def log_message(self, *_: object) -> None:  # type: ignore[explicit-override]  # Python 3.11 has no override
        """Say nothing: the console belongs to the one line that names the address."""

    def _write(self, status: int, document: Any) -> None:
        body = json.dumps(document, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def serve(about: str, answer: Callable[[Question], Answer], *, port: int) -> int:
    """Serve until interrupted; the first line printed is the address, also with `--port 0`."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--port", type=int, default=port, help="0 chooses a free port")
    with JsonServer(("127.0.0.1", parser.parse_args().port), answer) as server:
        print(server.url, flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0
