"""The vendors' real SDKs against the stub: what all of them have in common."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from proctor_contracts.enums import Blame, Provider
from proctor_llm import ChatMessage, Finish, LlmErrorCode, ToolResult, ToolSpec, ToolUse, Usage
from tests.llm.conftest import Bench, chat
from tests.support.stub_provider import Drip, HangUp, Raw, Say, Status, Tool

SDKS = [Provider.ANTHROPIC, Provider.OPENAI, Provider.GROQ]
all_sdks = pytest.mark.parametrize("provider", SDKS)

REFUND = ToolSpec(
    "повернення.коштів", "Refund", {"type": "object", "properties": {"sum": {"type": "integer"}}}
)
REFUND_UNDERSCORE = ToolSpec("refund_now", "Refund now", {"type": "object"})


def sent_tool_names(body: dict[str, Any]) -> list[str]:
    return [one["name"] if "name" in one else one["function"]["name"] for one in body["tools"]]


@all_sdks
async def test_a_good_reply(bench: Bench, provider: Provider) -> None:
    bench.stub.script(Say("Вітаю! \x00", model="m-2025"))
    reply = await bench.ask(provider)
    assert reply.text == "Вітаю! \ufffd"
    assert reply.bubbles == ("Вітаю! \ufffd",)
    assert reply.finish is Finish.STOP
    assert reply.usage == Usage(10, 0, 0, 5)
    assert reply.model == "m-2025"
    assert reply.tries == 1
    assert not reply.tools_reported
    assert [(one.provider, one.outcome) for one in bench.tries] == [(provider, "stop")]


@all_sdks
async def test_the_request_carries_model_prompt_history_and_limits(bench: Bench, provider: Provider) -> None:
    history = (
        ChatMessage("user", "1"),
        ChatMessage("assistant", "2"),
        ChatMessage("assistant", ""),
        ChatMessage("user", "3"),
    )
    await bench.ask(
        provider, chat("", messages=history, max_tokens=77, temperature=0.5, external_user_id="u1")
    )
    body = bench.stub.requests[0].body
    assert body["model"] == "claude-sonnet-4-5"
    assert body["temperature"] == 0.5
    assert 77 in {body.get("max_tokens"), body.get("max_completion_tokens")}
    texts = [(one["role"], one["content"]) for one in body["messages"] if one["content"]]
    prompt = [("system", "Be brief.")] if provider is not Provider.ANTHROPIC else []
    assert texts == [*prompt, ("user", "1"), ("assistant", "2"), ("user", "3")]
    assert (body.get("user") or body["metadata"]["user_id"]) == "u1"


@all_sdks
async def test_tools_travel_under_aliases_and_come_back_under_their_own_names(
    bench: Bench, provider: Provider
) -> None:
    bench.stub.answer = lambda seen: Say(
        "Зараз.", tools=tuple(Tool(name, {"sum": 5}) for name in sent_tool_names(seen.body))
    )
    reply = await bench.ask(provider, chat("refund", tools=(REFUND, REFUND_UNDERSCORE)))
    names = sent_tool_names(bench.stub.requests[0].body)
    assert names[1] == "refund_now"
    assert names[0].isascii()
    assert [(one.name, one.args, one.args_raw) for one in reply.tool_uses] == [
        ("повернення.коштів", {"sum": 5}, '{"sum": 5}'),
        ("refund_now", {"sum": 5}, '{"sum": 5}'),
    ]
    assert reply.finish is Finish.TOOL_USE
    assert len({one.id for one in reply.tool_uses}) == 2


@all_sdks
async def test_results_go_back_with_their_ids_in_order_and_never_empty(
    bench: Bench, provider: Provider
) -> None:
    uses = (ToolUse("t1", REFUND.name, {"sum": 1}, "{}"), ToolUse("t2", REFUND.name, None, "{"))
    results = (ToolResult("t1", REFUND.name, "done"), ToolResult("t2", REFUND.name, "", is_error=True))
    history = (
        ChatMessage("user", "go"),
        ChatMessage("assistant", "", tool_uses=uses),
        ChatMessage("tool", "", tool_results=results),
    )
    await bench.ask(provider, chat("", messages=history, tools=(REFUND,)))
    messages = bench.stub.requests[0].body["messages"]
    if provider is Provider.ANTHROPIC:
        assert [one["role"] for one in messages] == ["user", "assistant", "user"]
        blocks = messages[2]["content"]
        assert [(one["type"], one["tool_use_id"]) for one in blocks] == [
            ("tool_result", "t1"),
            ("tool_result", "t2"),
        ]
        assert [one["is_error"] for one in blocks] == [False, True]
    else:
        blocks = messages[3:]
        assert [(one["role"], one["tool_call_id"]) for one in blocks] == [("tool", "t1"), ("tool", "t2")]
    assert all(one["content"] for one in blocks)


@all_sdks
async def test_a_forced_tool_is_called(bench: Bench, provider: Provider) -> None:
    reply = await bench.ask(provider, chat("judge this", tools=(REFUND,), force_tool=REFUND.name))
    assert [one.name for one in reply.tool_uses] == [REFUND.name]
    assert reply.tool_uses[0].args == {"forced": True}
    assert reply.finish is Finish.TOOL_USE


@all_sdks
@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        ("2", 2.0, 2.0),
        ("7.5", 7.5, 7.5),
        ("Wed, 21 Oct 2026 07:28:00 GMT", 30.0, 30.0),
        ("-3", 0.25, 0.5),
        ("soon", 0.25, 0.5),
        (None, 0.25, 0.5),
    ],
)
async def test_429_waits_as_asked_or_its_own_backoff(
    bench: Bench, provider: Provider, header: str | None, least: float, most: float
) -> None:
    bench.stub.script(Status(429, retry_after=header), Say("ok"))
    reply = await bench.ask(provider)
    assert reply.text == "ok"
    assert reply.tries == 2
    assert least <= bench.sleeps[0] <= most


@all_sdks
async def test_a_day_to_wait_fails_now(bench: Bench, provider: Provider) -> None:
    bench.stub.script(Status(429, retry_after="86400"))
    error = await bench.fail(provider)
    assert error.code is LlmErrorCode.RETRY_AFTER_TOO_LONG
    assert error.blame is Blame.PROVIDER
    assert bench.sleeps == []
    assert len(bench.stub.requests) == 1


@all_sdks
async def test_overload_server_errors_and_lost_connections_are_tried_again(
    bench: Bench, provider: Provider
) -> None:
    bench.stub.script(Status(529), Status(500), HangUp(), Say("ok"))
    reply = await bench.ask(provider)
    assert (reply.text, reply.tries) == ("ok", 4)
    assert [one.outcome for one in bench.tries] == ["overloaded", *["provider_unavailable"] * 2, "stop"]


@all_sdks
async def test_an_overload_that_lasts_is_the_providers_error(bench: Bench, provider: Provider) -> None:
    bench.stub.script(*[Status(529)] * 4)
    error = await bench.fail(provider)
    assert (error.code, error.blame, error.tries) == (LlmErrorCode.OVERLOADED, Blame.PROVIDER, 4)
    assert not error.retryable


@all_sdks
@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (401, "authentication_error", LlmErrorCode.AUTH),
        (403, "permission_error", LlmErrorCode.AUTH),
        (400, "invalid_request_error", LlmErrorCode.BAD_REQUEST),
        (404, "not_found_error", LlmErrorCode.BAD_REQUEST),
        (429, "insufficient_quota", LlmErrorCode.AUTH),
        (403, "api_error", LlmErrorCode.AUTH),
        (404, "api_error", LlmErrorCode.BAD_REQUEST),
        (422, "server_error", LlmErrorCode.BAD_REQUEST),
    ],
)
async def test_what_another_try_cannot_mend_fails_at_once(
    bench: Bench, provider: Provider, status: int, kind: str, code: LlmErrorCode
) -> None:
    bench.stub.script(Status(status, kind=kind, message="the reason given"))
    error = await bench.fail(provider)
    assert (error.code, error.blame, error.tries) == (code, Blame.INFRASTRUCTURE, 1)
    assert "the reason given" in error.message
    if kind in {"authentication_error", "permission_error"}:
        assert f"{provider.upper()}_API_KEY" in error.message


@all_sdks
async def test_a_redirect_is_said_and_not_tried_again(bench: Bench, provider: Provider) -> None:
    bench.stub.script(Raw(b"", status=302, headers={"Location": "http://169.254.169.254/"}))
    error = await bench.fail(provider)
    assert (error.code, error.tries, len(bench.stub.requests)) == (LlmErrorCode.BAD_REQUEST, 1, 1)
    assert "answered 302" in error.message
    assert "redirects are not followed" in error.message


@all_sdks
async def test_a_request_that_took_the_provider_too_long_is_tried_again(
    bench: Bench, provider: Provider
) -> None:
    bench.stub.script(Status(408, kind="timeout_error"), Say("Hello"))
    assert (await bench.ask(provider)).tries == 2


@all_sdks
@pytest.mark.parametrize("raw", ['{"sum": 1', "", '{"sum": 1}'])
async def test_a_tool_call_cut_by_the_output_limit_never_reaches_the_caller(
    bench: Bench, provider: Provider, raw: str
) -> None:
    bench.stub.answer = lambda seen: Say(
        tools=(Tool(sent_tool_names(seen.body)[0], raw=raw),),
        finish="max_tokens" if provider is Provider.ANTHROPIC else "length",
    )
    error = await bench.fail(provider, chat("refund", tools=(REFUND,)))
    assert error.code is LlmErrorCode.TRUNCATED_TOOL_CALL
    assert REFUND.name in error.message
    assert error.usage == Usage(10, 0, 0, 5)
    assert error.tries == 1


@all_sdks
async def test_arguments_that_are_no_object_are_marked_not_executable(
    bench: Bench, provider: Provider
) -> None:
    bench.stub.answer = lambda seen: Say(tools=(Tool(sent_tool_names(seen.body)[0], raw='{"sum": oops}'),))
    reply = await bench.ask(provider, chat("refund", tools=(REFUND,)))
    assert reply.tool_uses[0].args is None
    assert reply.tool_uses[0].args_raw == '{"sum": oops}'


@all_sdks
async def test_a_text_cut_by_the_output_limit_is_named(bench: Bench, provider: Provider) -> None:
    bench.stub.script(Say("half a sen", finish="max_tokens" if provider is Provider.ANTHROPIC else "length"))
    reply = await bench.ask(provider)
    assert (reply.text, reply.finish) == ("half a sen", Finish.LENGTH)


@pytest.mark.parametrize(
    ("provider", "word", "finish"),
    [
        (Provider.ANTHROPIC, "refusal", Finish.REFUSAL),
        (Provider.OPENAI, "content_filter", Finish.CONTENT_FILTER),
        (Provider.GROQ, "content_filter", Finish.CONTENT_FILTER),
        (Provider.ANTHROPIC, "weird_new_reason", Finish.INCOMPLETE),
        (Provider.OPENAI, "weird_new_reason", Finish.INCOMPLETE),
        (Provider.GROQ, "weird_new_reason", Finish.INCOMPLETE),
        (Provider.ANTHROPIC, "pause_turn", Finish.INCOMPLETE),
    ],
)
async def test_a_refusal_a_filter_and_an_unknown_reason_are_outcomes_without_retries(
    bench: Bench, provider: Provider, word: str, finish: Finish
) -> None:
    bench.stub.script(Say("", finish=word))
    reply = await bench.ask(provider)
    assert (reply.text, reply.bubbles, reply.finish, reply.finish_raw) == ("", (), finish, word)
    assert len(bench.stub.requests) == 1


@all_sdks
@pytest.mark.parametrize("text", ["", "  \n"])
async def test_a_normal_end_with_nothing_said_is_an_error_that_is_paid_for(
    bench: Bench, provider: Provider, text: str
) -> None:
    bench.stub.script(Say(text))
    error = await bench.fail(provider)
    assert error.code is LlmErrorCode.EMPTY_REPLY
    assert error.usage == Usage(10, 0, 0, 5)


@all_sdks
async def test_a_drip_ends_at_the_deadline_and_the_connection_closes(
    bench: Bench, provider: Provider
) -> None:
    await bench.ask(provider)  # the SDK's import is not what this measures
    bench.stub.script(Drip())
    error = await bench.fail(provider, seconds=0.2)
    assert (error.code, error.blame) == (LlmErrorCode.TIMEOUT, Blame.PROVIDER)
    await bench.stub.left(1)


@all_sdks
async def test_cancelling_stops_the_call_and_nothing_follows(bench: Bench, provider: Provider) -> None:
    await bench.ask(provider)
    bench.stub.hold = asyncio.Event()
    task = asyncio.create_task(bench.ask(provider))
    await bench.stub.seen(2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await bench.stub.left(1)
    assert len(bench.stub.requests) == 2


@all_sdks
async def test_no_model_is_said_before_anything_is_sent(bench: Bench, provider: Provider) -> None:
    error = await bench.fail(provider, chat("a", model=""))
    assert error.code is LlmErrorCode.MISSING_MODEL
    assert bench.stub.requests == []


@pytest.mark.parametrize("provider", [Provider.OPENAI, Provider.GROQ])
@pytest.mark.parametrize(
    "body", [b"<html>gateway</html>", b"{}", b'{"choices": []}', b'{"choices": [{"message": null}]}', b"null"]
)
async def test_an_answer_that_is_no_completion_is_named(
    bench: Bench, provider: Provider, body: bytes
) -> None:
    bench.stub.script(Raw(body))
    error = await bench.fail(provider)
    assert (error.code, error.blame) == (LlmErrorCode.UNEXPECTED_SHAPE, Blame.PROVIDER)


@pytest.mark.parametrize("provider", [Provider.OPENAI, Provider.GROQ])
async def test_a_gateways_small_deviations_do_no_harm(bench: Bench, provider: Provider) -> None:
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": "a"}, {"type": "x"}, {"type": "text", "text": "b"}],
    }
    bench.stub.script(Raw(json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()))
    reply = await bench.ask(provider)
    assert (reply.text, reply.usage, reply.cost_micro_usd) == ("ab", None, None)


@pytest.mark.parametrize("provider", [Provider.OPENAI, Provider.GROQ])
async def test_cached_prompt_tokens_are_taken_out_of_the_prompts(bench: Bench, provider: Provider) -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60}}
    bench.stub.script(Say("a", usage=usage))
    reply = await bench.ask(provider)
    assert reply.usage == Usage(40, 60, 0, 7)


@pytest.mark.parametrize("provider", [Provider.OPENAI, Provider.GROQ])
@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -3, "completion_tokens": 2},
        {"prompt_tokens": 10**30, "completion_tokens": 2},
        {"prompt_tokens": 3, "completion_tokens": "x"},
        {"total_tokens": 9},
    ],
)
async def test_counts_that_cannot_be_are_unknown_and_not_nothing(
    bench: Bench, provider: Provider, usage: dict[str, Any]
) -> None:
    bench.stub.script(Say("a", usage=usage))
    reply = await bench.ask(provider)
    assert (reply.usage, reply.cost_micro_usd) == (None, None)


async def test_a_gateway_of_ones_own_is_reached_with_its_headers_and_without_a_key(bench: Bench) -> None:
    reply = await bench.ask(
        Provider.OPENAI,
        url=f"{bench.stub.url}/gateway/v1",
        body=None,
        replyPath=None,
        headers={"Authorization": {"secret": "BOT_KEY"}, "X-Team": "qa"},
    )
    assert reply.text == "You said: Hello"
    seen = bench.stub.requests[0]
    assert seen.path == "/gateway/v1/chat/completions"
    assert seen.headers["X-Team"] == "qa"
    assert seen.headers["Authorization"] == "s3cret-value"


async def test_a_refusal_field_counts_as_a_refusal(bench: Bench) -> None:
    body = {"choices": [{"message": {"content": None, "refusal": "I cannot"}, "finish_reason": "stop"}]}
    bench.stub.script(Raw(json.dumps(body).encode()))
    reply = await bench.ask(Provider.OPENAI)
    assert (reply.text, reply.finish) == ("I cannot", Finish.REFUSAL)
