from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from proctor_contracts.enums import Provider
from proctor_llm import ChatMessage, Completion, Finish, LlmErrorCode, ReportedCall, ToolUse, Usage
from proctor_llm.replay import RecordingClient, request_digest
from proctor_llm.types import ChatRequest
from tests.llm.conftest import Bench, chat, make_models
from tests.support.stub_provider import Say, StubProvider

REPLY = Completion(
    text="Вітаю!\nЧим допомогти?",
    bubbles=("Вітаю!", "Чим допомогти?"),
    finish=Finish.TOOL_USE,
    model="m-1",
    latency_ms=12,
    ttft_ms=3,
    tool_uses=(ToolUse("t1", "повернення.коштів", {"sum": 5}, '{"sum":5}'), ToolUse("t2", "x", None, "{")),
    usage=Usage(1, 2, 3, 4),
    fingerprint="fp",
    reported_calls=(ReportedCall("lookup", {"id": 7}, '{"id":7}', {"found": 1}, 5, "late"),),
    tools_reported=True,
    outcomes={"department": "billing"},
    session_id="s-1",
)


class Scripted:
    """A client that always answers the same."""

    async def complete(self, request: ChatRequest, *, deadline: float) -> Completion:
        assert request.model
        assert deadline > 0
        return REPLY

    async def prepare(self) -> None:
        return None

    async def aclose(self) -> None:
        """Nothing to close."""


@pytest.fixture
async def replaying(tmp_path: Path) -> AsyncIterator[Bench]:
    sleeps: list[float] = []
    async with StubProvider() as stub:
        models, door = make_models(stub_url=stub.url, sleeps=sleeps, tries=[], replay_dir=tmp_path)
        yield Bench(stub, models, sleeps)
        await models.aclose()
        await door.aclose()


async def test_what_was_recorded_is_replayed_whole(replaying: Bench, tmp_path: Path) -> None:
    recorder = RecordingClient(inner=Scripted(), file=tmp_path / "deep" / ".." / "replies.jsonl")
    assert await recorder.complete(chat("Привіт"), deadline=1.0) == REPLY
    found = await replaying.ask(Provider.REPLAY, chat("Привіт", conversation_id="another", max_tokens=9))
    # Nothing was spent, so the known price of a replay is nothing.
    assert found.cost_micro_usd == 0
    assert found == Completion(
        **{**{name: getattr(REPLY, name) for name in REPLY.__slots__}, "cost_micro_usd": 0}
    )


@pytest.mark.parametrize(
    "other",
    [
        chat("Привіт!"),
        chat("Привіт", model="other"),
        chat("Привіт", system="Be long."),
        chat("Привіт", force_tool="x"),
        chat("", messages=(ChatMessage("user", "Привіт"), ChatMessage("assistant", "?"))),
    ],
)
async def test_a_request_that_was_not_recorded_is_a_miss_that_names_its_digest(
    replaying: Bench, tmp_path: Path, other: ChatRequest
) -> None:
    await RecordingClient(inner=Scripted(), file=tmp_path / "replies.jsonl").complete(
        chat("Привіт"), deadline=1.0
    )
    error = await replaying.fail(Provider.REPLAY, other)
    assert error.code is LlmErrorCode.REPLAY_MISS
    assert request_digest(other) in error.message
    assert error.tries == 1


async def test_a_hand_written_line_needs_only_digest_and_text(replaying: Bench, tmp_path: Path) -> None:
    lines = [
        {"digest": request_digest(chat("a")), "reply": {"text": "first"}},
        {"digest": request_digest(chat("a")), "reply": {"text": "second"}},
    ]
    text = "\n\n".join(json.dumps(line) for line in lines)
    (tmp_path / "a.jsonl").write_text(text, encoding="utf-8")
    found = await replaying.ask(Provider.REPLAY, chat("a"))
    assert (found.text, found.bubbles, found.finish, found.model) == (
        "first",
        ("first",),
        Finish.STOP,
        "claude-sonnet-4-5",
    )


@pytest.mark.parametrize("line", ["nonsense", "{}", '{"digest": "x"}', '{"digest": "x", "reply": {}}', "[]"])
async def test_a_line_that_cannot_be_read_names_file_and_line(
    replaying: Bench, tmp_path: Path, line: str
) -> None:
    (tmp_path / "bad.jsonl").write_text(f"\n{line}\n", encoding="utf-8")
    error = await replaying.fail(Provider.REPLAY, chat("a"))
    assert error.code is LlmErrorCode.UNEXPECTED_SHAPE
    assert "bad.jsonl, line 2" in error.message


async def test_recording_writes_one_line_a_call_even_when_calls_overlap(tmp_path: Path) -> None:
    sleeps: list[float] = []
    async with StubProvider() as stub:
        models, door = make_models(stub_url=stub.url, sleeps=sleeps, tries=[], record_dir=tmp_path)
        bench = Bench(stub, models, sleeps)
        stub.answer = lambda seen: Say(seen.last_user_text * 1_000)
        await asyncio.gather(*(bench.ask(Provider.HTTP, chat(f"q{at}")) for at in range(20)))
        await models.aclose()
        await door.aclose()
    lines = (tmp_path / "http.jsonl").read_bytes().splitlines()
    assert {json.loads(line)["digest"] for line in lines} == {
        request_digest(chat(f"q{at}")) for at in range(20)
    }


async def test_a_recording_written_by_hand_may_hold_what_no_database_stores(
    replaying: Bench, tmp_path: Path
) -> None:
    uses = [{"id": "1", "name": "t", "args": {"a": "x\x00"}, "argsRaw": "{}"}]
    line = {"digest": request_digest(chat("Привіт")), "reply": {"text": "\x00", "toolUses": uses}}
    (tmp_path / "replies.jsonl").write_text(json.dumps(line), encoding="utf-8")
    found = await replaying.ask(Provider.REPLAY, chat("Привіт"))
    assert found.text == "\ufffd"
    assert found.tool_uses[0].args == {"a": "x\ufffd"}
