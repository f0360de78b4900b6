"""A small support bot over HTTP: POST /chat {message, conversationId} -> {answer, department, tools}."""

from __future__ import annotations

import argparse
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from backoffice import BackOffice
from desk import Conversation, Desk

__all__ = ["BotServer", "main"]

LONGEST_BODY = 64 * 1024
MOST_CONVERSATIONS = 10_000


class BotServer(ThreadingHTTPServer):
    """The server with its desk and the conversations it remembers."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int]) -> None:
        super().__init__(address, Handler)
        self._desk = Desk(BackOffice())
        self._conversations: dict[str, Conversation] = {}
        self._lock = threading.Lock()

    def chat(self, message: str, conversation_id: str) -> dict[str, Any]:
        """One turn of one conversation."""
        reply = self._desk.reply(message, self._conversation(conversation_id))
        return {"answer": reply.answer, "department": reply.department, "tools": reply.tools}

    def _conversation(self, conversation_id: str) -> Conversation:
        with self._lock:
            if len(self._conversations) >= MOST_CONVERSATIONS:
                self._conversations.pop(next(iter(self._conversations)))
            return self._conversations.setdefault(conversation_id, Conversation())


class Handler(BaseHTTPRequestHandler):
    """Reads one request and writes one JSON answer."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: BotServer

    def do_GET(self) -> None:
        """`/healthz` answers as soon as the bot can."""
        if self.path == "/healthz":
            self._answer(200, {"status": "ok"})
        else:
            self._answer(404, {"error": "not found"})

    def do_POST(self) -> None:
        """`/chat` is one turn of a conversation."""
        length = int(self.headers.get("Content-Length") or 0)
        if self.path != "/chat" or not 0 < length <= LONGEST_BODY:
            self.close_connection = True
            self._answer(404 if self.path != "/chat" else 413, {"error": "POST /chat with a short JSON body"})
            return
        try:
            body = json.loads(self.rfile.read(length))
            message, conversation_id = body["message"], body["conversationId"]
        except (ValueError, TypeError, KeyError):
            self._answer(400, {"error": "send {message, conversationId} as JSON"})
            return
        if not (isinstance(message, str) and isinstance(conversation_id, str)):
            self._answer(400, {"error": "message and conversationId are strings"})
            return
        self._answer(200, self.server.chat(message, conversation_id))

    def log_message(self, *_: object) -> None:  # type: ignore[explicit-override]  # Python 3.11 has no override
        """Say nothing: the console belongs to the one line that names the address."""

    def _answer(self, status: int, document: dict[str, Any]) -> None:
        body = json.dumps(document, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> int:
    """Serve until interrupted; the first line printed is the address, also with `--port 0`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8900, help="0 chooses a free port")
    arguments = parser.parse_args()
    with BotServer((arguments.host, arguments.port)) as server:
        host, port = server.server_address[:2]
        print(f"http://{host!s}:{port}", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
