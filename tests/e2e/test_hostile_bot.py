"""Bots that answer what no database, message or report likes: every case ends, and each says why."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.conftest import Platform
from tests.support.platform_processes import case
from tests.support.stub_provider import Raw, Reply, Say, Seen

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="package")]

ANSWERS: dict[str, Reply] = {
    "nul": Raw(b'{"answer": "\xd0\xbe\xd0\xba\\u0000"}'),
    "six-characters": Raw(b'{"answer": "\xd0\xbe\xd0\xba\\\\u0000"}'),
    "surrogate": Raw(b'{"answer": "\xd0\xbe\xd0\xba \\ud800"}'),
    "controls": Say("ок \x1b[32m\x0b\ufffe"),
    "long": Say("ок " + "ї" * 300_000),
    "too-long": Say("ок " + "ї" * 500_000),
    "enormous": Raw(b'{"answer": "' + b"x" * 12_000_000 + b'"}'),
    "bad-utf8": Raw(b'{"answer": "\xff\xfe"}'),
    "deep": Raw(b'{"answer": ' + b"[" * 20_000 + b"]" * 20_000 + b"}"),
    "nan": Raw(b'{"answer": NaN}'),
    "html": Raw("<html>ок</html>".encode(), content_type="text/html"),
    "silence": Say(""),
    "object": Raw(json.dumps({"answer": {"text": "ок"}}).encode()),
}


async def test_every_odd_answer_is_a_result_that_explains_itself(platform: Platform) -> None:
    fleet, rest = platform.fleet, platform.one
    names = list(ANSWERS)

    def answer(seen: Seen) -> Reply:
        return ANSWERS[names[int(seen.last_user_text.rpartition("№")[2])]]

    fleet.bot.answer = answer
    bot = await rest.bot("hostile", fleet.bot.bot_url)
    says = {"kind": "contains", "value": "ок"}
    await rest.cases(bot, [case(number, says) | {"ref": name} for number, name in enumerate(names)])
    run = await rest.run(bot)
    assert (await rest.ended(run))["status"] == "completed"
    results: dict[str, Any] = {result["caseRef"]: result for result in await rest.results(run)}
    ended = {
        name: result["status"] if result["error"] is None else result["error"]["code"]
        for name, result in results.items()
    }
    said = {
        name: [entry["content"] for entry in result["transcript"] if entry["role"] == "agent"]
        for name, result in results.items()
    }
    assert ended == {
        "nul": "passed",
        "six-characters": "passed",
        "surrogate": "passed",
        "controls": "passed",
        "long": "passed",
        "too-long": "transcript_too_large",
        "enormous": "response_too_large",
        "bad-utf8": "failed",
        "deep": "unexpected_shape",
        "nan": "failed",
        "html": "unexpected_shape",
        "silence": "failed",
        "object": "unexpected_shape",
    }
    assert said["nul"] == ["ок\ufffd"]
    assert said["six-characters"] == ["ок\\u0000"]
    assert said["surrogate"] == ["ок \ufffd"]
    for form in ("json", "junit", "markdown", "csv"):
        url = f"{rest.url}/api/testing/runs/{run}/export?format={form}"
        async with rest.session.get(url, headers={"Authorization": f"Bearer {rest.key}"}) as exported:
            assert exported.status == 200
            (await exported.read()).decode()
