"""What only a stream can do: fail after it has begun."""

from __future__ import annotations

import json
from typing import Any

import pytest

from proctor_contracts.enums import Blame, Provider
from proctor_llm import LlmErrorCode, Usage
from tests.llm.conftest import Bench, chat
from tests.support.stub_provider import BreakOff, Raw, Say

ANTHROPIC = Provider.ANTHROPIC


@pytest.mark.parametrize("after", [(), ("Half ", "a mess")])
async def test_an_overload_inside_the_open_stream_is_tried_again_and_paid_for(
    bench: Bench, after: tuple[str, ...]
) -> None:
    bench.stub.script(BreakOff("overloaded_error", after=after), Say("whole"))
    reply = await bench.ask(ANTHROPIC)
    assert reply.text == "whole"
    assert reply.tries == 2
    # 100 and 1 were announced before the break, 10 and 5 came with the whole reply.
    assert reply.usage == Usage(110, 0, 0, 6)
    assert reply.cost_micro_usd == 110 * 3 + 6 * 15
    assert [(one.outcome, one.cost_micro_usd) for one in bench.tries] == [("overloaded", 315), ("stop", 105)]


async def test_an_overload_that_lasts_reports_what_every_try_cost(bench: Bench) -> None:
    bench.stub.script(*[BreakOff("overloaded_error", after=("Half",))] * 4)
    error = await bench.fail(ANTHROPIC)
    assert (error.code, error.blame, error.tries) == (LlmErrorCode.OVERLOADED, Blame.PROVIDER, 4)
    assert error.usage == Usage(400, 0, 0, 4)
    assert error.cost_micro_usd == 4 * 315


async def test_with_an_unknown_price_the_tokens_of_failed_tries_still_count(bench: Bench) -> None:
    bench.stub.script(BreakOff(), Say("whole"))
    reply = await bench.ask(ANTHROPIC, chat("a", model="unheard-of"))
    assert reply.usage == Usage(110, 0, 0, 6)
    assert reply.cost_micro_usd is None


async def test_an_error_in_the_stream_is_classified_by_its_type_not_by_the_status(bench: Bench) -> None:
    bench.stub.script(BreakOff("invalid_request_error"))
    error = await bench.fail(ANTHROPIC)
    assert (error.code, error.tries) == (LlmErrorCode.BAD_REQUEST, 1)


async def test_a_stream_without_its_end_is_never_a_whole_reply(bench: Bench) -> None:
    bench.stub.script(BreakOff(None, after=("Half ", "a mess")), Say("whole"))
    reply = await bench.ask(ANTHROPIC)
    assert (reply.text, reply.tries) == ("whole", 2)


async def test_the_first_tokens_time_comes_from_the_stream(bench: Bench) -> None:
    reply = await bench.ask(ANTHROPIC)
    assert reply.ttft_ms is not None
    assert 0 <= reply.ttft_ms <= reply.latency_ms


async def test_cache_tokens_are_counted_apart_and_priced(bench: Bench) -> None:
    usage = {
        "input_tokens": 3,
        "cache_creation_input_tokens": 12_304,
        "cache_read_input_tokens": 0,
        "output_tokens": 550,
    }
    bench.stub.script(Say("a", usage=usage))
    reply = await bench.ask(ANTHROPIC)
    assert reply.usage == Usage(3, 0, 12_304, 550)
    assert reply.cost_micro_usd == 54_399


async def test_thinking_alone_at_the_output_limit_is_a_cut_reply(bench: Bench) -> None:
    events: list[dict[str, Any]] = [
        {
            "type": "message_start",
            "message": {"model": "m", "usage": {"input_tokens": 1, "output_tokens": 1}},
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hmm"}},
        {"type": "unheard_of_event"},
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]
    stream = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)
    bench.stub.script(Raw(stream.encode(), content_type="text/event-stream"))
    reply = await bench.ask(ANTHROPIC)
    assert (reply.text, reply.finish, reply.usage) == ("", "length", Usage(1, 0, 0, 9))


async def test_an_event_that_is_not_json_is_named(bench: Bench) -> None:
    bench.stub.script(Raw(b"event: message_start\ndata: {oops\n\n", content_type="text/event-stream"))
    error = await bench.fail(ANTHROPIC)
    assert (error.code, error.blame) == (LlmErrorCode.UNEXPECTED_SHAPE, Blame.PROVIDER)
    assert "{oops" in error.message


async def test_a_page_instead_of_a_stream_is_a_provider_that_is_not_there(bench: Bench) -> None:
    bench.stub.script(*[Raw(b"<html>gateway</html>", content_type="text/html")] * 4)
    error = await bench.fail(ANTHROPIC)
    assert (error.code, error.tries) == (LlmErrorCode.PROVIDER_UNAVAILABLE, 4)


@pytest.mark.parametrize("text", ["a\ud800b"])
async def test_a_text_that_cannot_be_encoded_is_our_bad_request(bench: Bench, text: str) -> None:
    error = await bench.fail(ANTHROPIC, chat(text))
    assert (error.code, error.blame) == (LlmErrorCode.BAD_REQUEST, Blame.INFRASTRUCTURE)
    assert bench.stub.requests == []
