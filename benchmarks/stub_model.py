"""A stub of the OpenAI chat endpoint for load: every reply is a pure function of the request.

    python -m benchmarks.stub_model --latency-ms 50

Prints its URL, then serves until it is told to stop. A forced tool gets a verdict with the nonce that the
prompt asks for; a request with tools gets calls of the first one, until it holds three results; anything else
an echo of the last user message with a digest of it. `POST /tools/…` answers as a webhook does, in its own
latency. `GET /seen` counts the requests.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import re
import sys
import time
from typing import Any

from typing_extensions import override

__all__ = ["serve"]

TOOL_CALLS = 3
HOOK = b'{"status": "sent", "carrier": "Nova Poshta"}'
NONCE = re.compile(rb'<transcript id=\\"([A-Z2-7]{8})\\">')


def reply(body: bytes) -> bytes:
    """Answer one chat request."""
    if b'"tool_choice"' in body and (nonce := NONCE.search(body)):
        arguments: dict[str, Any] = {
            "evidence": [],
            "reasoning": "The answer names the order.",
            "basis": "missing",
            "injection_attempt": False,
            "verdict": "pass",
            "nonce": nonce[1].decode(),
        }
        call = {
            "id": "call_1",
            "type": "function",
            "function": {"name": "grade", "arguments": json.dumps(arguments)},
        }
        return _completion({"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls")
    document = json.loads(body)
    messages = document["messages"]
    if "tools" in document and (done := sum(one["role"] == "tool" for one in messages)) < TOOL_CALLS:
        name = document["tools"][0]["function"]["name"]
        function = {"name": name, "arguments": json.dumps({"order": f"ORD-{done}"})}
        call = {"id": f"call_{done}", "type": "function", "function": function}
        return _completion({"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls")
    question = next(one["content"] for one in reversed(messages) if one["role"] == "user")
    digest = hashlib.blake2s(question.encode(), digest_size=4).hexdigest()
    return _completion({"role": "assistant", "content": f"Echo: {question} [ref:{digest}]"}, "stop")


def _completion(message: dict[str, Any], finish: str) -> bytes:
    return json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": "gpt-4o-mini",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 20, "completion_tokens": 20, "total_tokens": 40},
        }
    ).encode()


class _Connection(asyncio.Protocol):
    """HTTP/1.1 with keep-alive and Content-Length, which is all that the clients here speak."""

    def __init__(self, latency: float, tool_latency: float, seen: list[float]) -> None:
        self._latency = latency
        self._tool_latency = tool_latency
        self._seen = seen
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = transport  # type: ignore[assignment]  # a server's transports can write

    @override
    def data_received(self, data: bytes) -> None:
        """Answer every whole request in the buffer, each after the latency."""
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end].lower()
            at = head.find(b"content-length:")
            length = int(head[at + 15 : (head + b"\r\n").index(b"\r\n", at)]) if at >= 0 else 0
            if len(self._buffer) < end + 4 + length:
                return
            body, self._buffer = self._buffer[end + 4 : end + 4 + length], self._buffer[end + 4 + length :]
            if head.startswith(b"get /seen"):
                first = self._seen[0] if self._seen else 0
                self._write(json.dumps({"seen": len(self._seen), "first": first}).encode())
            elif head.startswith(b"post /reset"):
                self._seen.clear()
                self._write(b"{}")
            elif head.startswith(b"post /tools/"):
                asyncio.get_running_loop().call_later(self._tool_latency, self._write, HOOK)
            else:
                self._seen.append(time.time())
                asyncio.get_running_loop().call_later(self._latency, self._write, reply(body))

    def _write(self, body: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s"
                % (len(body), body)
            )


async def serve(latency_ms: float, tool_latency_ms: float) -> None:
    """Serve on a free port of loopback until cancelled."""
    seen: list[float] = []
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: _Connection(latency_ms / 1000, tool_latency_ms / 1000, seen), "127.0.0.1", 0, backlog=2048
    )
    sys.stdout.write(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--latency-ms", type=float, default=50)
    parser.add_argument("--tool-latency-ms", type=float, default=20)
    chosen = parser.parse_args()
    asyncio.run(serve(chosen.latency_ms, chosen.tool_latency_ms))
