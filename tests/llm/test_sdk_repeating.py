"""Later calls are sent as the SDK made the first one: the same on the wire, and the same when they fail."""

from __future__ import annotations

import asyncio

import pytest

from proctor_contracts.enums import Provider
from proctor_llm import LlmErrorCode, ToolSpec
from proctor_llm.sdk import MAX_REPLY_BYTES, Sdk
from tests.llm.conftest import Bench, chat
from tests.support.stub_provider import Raw, Say, Status

all_sdks = pytest.mark.parametrize("provider", [Provider.ANTHROPIC, Provider.OPENAI, Provider.GROQ])
OF_ONE_CALL = {"Content-Length"}


@all_sdks
async def test_a_repeated_request_is_the_same_on_the_wire(bench: Bench, provider: Provider) -> None:
    tool = ToolSpec("повернення", "Повернути гроші", {"type": "object"})
    for text in ("Привіт", "Привіт", "щось інше"):
        await bench.ask(provider, chat(text, tools=(tool,), temperature=0.5))
    first, second, third = bench.stub.requests
    assert (first.path, first.body) == (second.path, second.body)
    assert third.last_user_text == "щось інше"
    sent = [
        {name: value for name, value in seen.headers.items() if name not in OF_ONE_CALL}
        for seen in bench.stub.requests
    ]
    assert sent[0] == sent[1] == sent[2]
    assert "key-" in str(sent[1])


@all_sdks
@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (401, "authentication_error", LlmErrorCode.AUTH),
        (400, "invalid_request_error", LlmErrorCode.BAD_REQUEST),
        (429, "insufficient_quota", LlmErrorCode.AUTH),
        (302, "moved", LlmErrorCode.BAD_REQUEST),
    ],
)
async def test_an_error_is_named_as_on_the_first_call(
    bench: Bench, provider: Provider, status: int, kind: str, code: LlmErrorCode
) -> None:
    many = [Status(status, kind=kind, message="the reason given")] * 4
    bench.stub.script(*many)
    first = await bench.fail(provider)
    bench.stub._script.clear()
    await bench.ask(provider)
    bench.stub.script(*many)
    later = await bench.fail(provider)
    assert (later.code, later.blame, later.tries) == (first.code, first.blame, first.tries)
    assert later.code is code
    assert later.message == first.message


@all_sdks
async def test_an_error_page_that_is_no_json_is_named_too(bench: Bench, provider: Provider) -> None:
    await bench.ask(provider)
    bench.stub.script(Raw(b"<html>bad gateway</html>", status=502, content_type="text/html"), Say("ok"))
    reply = await bench.ask(provider)
    assert (reply.text, reply.tries) == ("ok", 2)


@all_sdks
async def test_a_wait_that_is_asked_for_is_kept(bench: Bench, provider: Provider) -> None:
    await bench.ask(provider)
    bench.stub.script(Status(429, retry_after="2"), Say("ok"))
    await bench.ask(provider)
    assert bench.sleeps == [2.0]


@all_sdks
async def test_a_reply_too_large_is_not_read_to_its_end(bench: Bench, provider: Provider) -> None:
    await bench.ask(provider)
    bench.stub.script(Raw(b" " * (MAX_REPLY_BYTES + 1)))
    error = await bench.fail(provider)
    assert error.code is LlmErrorCode.RESPONSE_TOO_LARGE


@all_sdks
async def test_a_text_that_cannot_be_written_is_left_to_the_sdk(bench: Bench, provider: Provider) -> None:
    first = await bench.fail(provider, chat("\ud800"))
    await bench.ask(provider)
    later = await bench.fail(provider, chat("\ud800"))
    assert (first.code, later.code) == (LlmErrorCode.BAD_REQUEST, LlmErrorCode.BAD_REQUEST)


@all_sdks
async def test_calls_that_begin_together_have_the_sdk_make_one_request(
    bench: Bench, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    learn = Sdk._learn

    def counted(self: Sdk, request: object) -> None:
        made.append(request)
        learn(self, request)

    monkeypatch.setattr(Sdk, "_learn", counted)
    replies = await asyncio.gather(*(bench.ask(provider, chat(f"питання {n}")) for n in range(20)))
    assert len(made) == 1
    assert sorted(seen.last_user_text for seen in bench.stub.requests) == sorted(
        f"питання {n}" for n in range(20)
    )
    assert len(replies) == 20


@all_sdks
async def test_a_first_call_that_cannot_be_sent_holds_nobody_up(bench: Bench, provider: Provider) -> None:
    bad = chat("\ud800")
    answers = await asyncio.gather(
        *(bench.ask(provider, each) for each in (bad, chat("Привіт"), chat("Привіт"))), return_exceptions=True
    )
    assert [isinstance(answer, Exception) for answer in answers] == [True, False, False]
