"""The bare loop: the same calls and checks with nothing around them, as the lower bound of any tool.

python -m benchmarks.floor raw|openai|tools URL COUNT CONCURRENCY JUDGE(0|1)
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from benchmarks.work import REGEX, order, question

Post = Callable[[str, dict[str, Any]], Awaitable[Any]]
Ask = Callable[[list[dict[str, Any]]], Awaitable[str]]

PATTERN = re.compile(REGEX)
JUDGE = [{"role": "user", "content": "Is the order named? Answer pass or fail."}]


def poster(url: str) -> Post:
    """Speak HTTP by hand over kept connections."""
    host, _, port = url.removeprefix("http://").partition(":")
    idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def post(path: str, document: dict[str, Any]) -> Any:
        body = json.dumps(document).encode()
        reader, writer = idle.pop() if idle else await asyncio.open_connection(host, int(port))
        writer.write(
            b"POST %s HTTP/1.1\r\nhost: stub\r\ncontent-length: %d\r\n\r\n%s"
            % (path.encode(), len(body), body)
        )
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        at = head.index(b"content-length:") + 15
        data = await reader.readexactly(int(head[at : head.index(b"\r\n", at)]))
        idle.append((reader, writer))
        return json.loads(data)

    return post


def raw(url: str) -> Ask:
    """Ask the model and nothing else."""
    post = poster(url)

    async def ask(messages: list[dict[str, Any]]) -> str:
        answer = await post("/v1/chat/completions", {"model": "gpt-4o-mini", "messages": messages})
        return str(answer["choices"][0]["message"]["content"])

    return ask


def with_tools(url: str) -> Ask:
    """Ask the model, and call the tool for it as long as it asks for that."""
    post = poster(url)
    tool = {"type": "function", "function": {"name": "find_order", "parameters": {"type": "object"}}}

    async def ask(messages: list[dict[str, Any]]) -> str:
        history = list(messages)
        while True:
            asked = {"model": "gpt-4o-mini", "messages": history, "tools": [tool]}
            said = (await post("/v1/chat/completions", asked))["choices"][0]["message"]
            history.append(said)
            if not said.get("tool_calls"):
                return str(said["content"])
            for call in said["tool_calls"]:
                found = await post("/tools/find", json.loads(call["function"]["arguments"]))
                history.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(found)})

    return ask


def sdk(url: str) -> Ask:
    """Call through the vendor's SDK."""
    from openai import AsyncOpenAI  # noqa: PLC0415 - its import is part of what is measured, and only here

    client = AsyncOpenAI(base_url=f"{url}/v1", api_key="bench", max_retries=0)

    async def ask(messages: list[dict[str, Any]]) -> str:
        answer = await client.chat.completions.create(model="gpt-4o-mini", messages=messages)  # type: ignore[arg-type]  # plain dicts
        return answer.choices[0].message.content or ""

    return ask


async def play(ask: Ask, todo: Iterator[int], *, judge: bool) -> int:
    """Play cases until none is left; returns how many passed."""
    passed = 0
    for number in todo:
        answer = await ask([{"role": "user", "content": question(number)}])
        passed += order(number) in answer and PATTERN.search(answer) is not None
        if judge:
            await ask(JUDGE)
    return passed


async def main(kind: str, url: str, count: int, concurrency: int, *, judge: bool) -> None:
    """Run the loop and insist that every case passed."""
    ask = {"raw": raw, "openai": sdk, "tools": with_tools}[kind](url)
    todo = iter(range(count))
    workers = (play(ask, todo, judge=judge) for _ in range(min(concurrency, count)))
    passed = sum(await asyncio.gather(*workers))
    if passed != count:
        raise SystemExit(f"only {passed} of {count} passed")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), judge=sys.argv[5] == "1"))
