from __future__ import annotations

import asyncio
import gzip
import json
from typing import Any

import pytest

from proctor_contracts.enums import Blame, Provider
from proctor_llm import ChatMessage, Finish, LlmErrorCode, Usage
from tests.llm.conftest import Bench, chat
from tests.support.stub_provider import Drip, HangUp, Raw, Say, Status

HTTP = Provider.HTTP


async def test_the_template_is_filled_and_the_reply_is_read(bench: Bench) -> None:
    bench.stub.script(
        Raw(
            json.dumps(
                {
                    "answer": ["Вітаю!", "Чим допомогти?"],
                    "route": {"department": "billing"},
                    "tools": [{"name": "lookup.invoices", "args": {"id": 7}}],
                    "usage": {"prompt_tokens": 10, "completion_tokens": 5},
                    "session": "bot-1",
                }
            ).encode()
        )
    )
    reply = await bench.ask(
        HTTP,
        chat("Привіт", external_user_id="u7"),
        body={
            "text": "{{message}}",
            "all": "{{messages}}",
            "note": "user {{externalUserId}} in {{ conversationId }}: {{message}}",
            "fixed": [1, None, True, {"deep": "{{prompt}}"}],
        },
        headers={"X-Conversation": "{{conversationId}}", "Authorization": {"secret": "BOT_KEY"}},
        outcomePaths={"department": "$.route.department"},
        toolCallsPath="$.tools",
        usagePath="$.usage",
        sessionPath="$.session",
    )
    seen = bench.stub.requests[0]
    assert seen.body == {
        "text": "Привіт",
        "all": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Привіт"}],
        "note": "user u7 in c1: Привіт",
        "fixed": [1, None, True, {"deep": "Be brief."}],
    }
    assert seen.headers["X-Conversation"] == "c1"
    assert seen.headers["Authorization"] == "s3cret-value"
    assert reply.bubbles == ("Вітаю!", "Чим допомогти?")
    assert reply.text == "Вітаю!\nЧим допомогти?"
    assert reply.outcomes == {"department": "billing"}
    assert [one.name for one in reply.reported_calls] == ["lookup.invoices"]
    assert reply.tools_reported
    assert reply.usage == Usage(10, 0, 0, 5)
    assert reply.session_id == "bot-1"
    assert reply.finish is Finish.STOP
    assert reply.cost_micro_usd is None


async def test_the_bots_own_session_id_replaces_ours_with_its_type(bench: Bench) -> None:
    await bench.ask(
        HTTP, chat("a", session_id=77), body={"id": "{{conversationId}}", "text": "c-{{conversationId}}"}
    )
    assert bench.stub.requests[0].body == {"id": 77, "text": "c-77"}


async def test_a_value_is_never_read_as_a_template_again(bench: Bench) -> None:
    await bench.ask(
        HTTP, chat("{{prompt}}"), body={"text": "he said: {{message}}", "user": "{{externalUserId}}"}
    )
    assert bench.stub.requests[0].body == {"text": "he said: {{prompt}}", "user": None}


async def test_history_is_sent_in_openai_form(bench: Bench) -> None:
    history = (ChatMessage("user", "1"), ChatMessage("assistant", "2"), ChatMessage("user", "3"))
    await bench.ask(
        HTTP, chat("", messages=history, system=""), body={"m": "{{messages}}", "last": "{{message}}"}
    )
    assert bench.stub.requests[0].body == {
        "m": [
            {"role": "user", "content": "1"},
            {"role": "assistant", "content": "2"},
            {"role": "user", "content": "3"},
        ],
        "last": "3",
    }


async def test_a_missing_secret_says_what_to_set_and_sends_nothing(bench: Bench) -> None:
    error = await bench.fail(HTTP, headers={"Authorization": {"secret": "OTHER"}})
    assert error.code is LlmErrorCode.MISSING_KEY
    assert error.blame is Blame.INFRASTRUCTURE
    assert "PROCTOR_SECRET_OTHER" in error.message
    assert bench.stub.requests == []


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (Raw(b"<html><h1>Bad gateway</h1></html>", content_type="text/html"), "text/html that is not JSON"),
        (Raw(b"", content_type="application/json"), "not JSON"),
        (Raw(b"[" * 20_000), "not JSON"),
        (Raw(b'{"text": "Hi"}'), "$.answer"),
        (Raw(b'{"answer": {"text": "Hi"}}'), "$.answer"),
        (Raw(b'{"answer": NaN, "b": 1}'), "empty"),
        (Raw(b'{"answer": "  "}'), "empty"),
    ],
)
async def test_a_reply_of_another_shape_is_the_agents_error(bench: Bench, raw: Raw, said: str) -> None:
    bench.stub.script(raw)
    error = await bench.fail(HTTP)
    assert error.code in {LlmErrorCode.UNEXPECTED_SHAPE, LlmErrorCode.EMPTY_REPLY}
    assert error.blame is Blame.AGENT
    assert said in error.message
    assert len(error.message) < 700
    assert len(bench.stub.requests) == 1


async def test_text_that_no_database_holds_is_replaced_and_the_reply_counts(bench: Bench) -> None:
    bench.stub.script(
        Raw(b'{"answer": "ok\\u0000 \\ud800", "tools": [{"name": "t", "result": {"price": NaN}}]}')
    )
    reply = await bench.ask(HTTP, toolCallsPath="$.tools")
    assert reply.text == "ok\ufffd \ufffd"
    assert reply.reported_calls[0].result == {"price": None}


@pytest.mark.parametrize("announced", [True, False])
async def test_a_reply_over_four_mebibytes_is_not_read_to_the_end(bench: Bench, *, announced: bool) -> None:
    body = json.dumps({"answer": "x" * 5_000_000}).encode()
    bench.stub.script(
        Raw(body) if announced else Raw(gzip.compress(body), headers={"Content-Encoding": "gzip"})
    )
    error = await bench.fail(HTTP)
    assert error.code is LlmErrorCode.RESPONSE_TOO_LARGE


async def test_a_bot_that_drips_is_ended_by_its_own_time_and_the_connection_closes(bench: Bench) -> None:
    bench.stub.script(Drip())
    error = await bench.fail(HTTP, timeoutMs=150)
    assert error.code is LlmErrorCode.TIMEOUT
    assert error.blame is Blame.AGENT
    assert error.tries == 1
    await bench.stub.left(1)


async def test_the_deadline_covers_every_try(bench: Bench) -> None:
    bench.stub.script(Drip())
    error = await bench.fail(HTTP, seconds=0.15)
    assert error.code is LlmErrorCode.TIMEOUT


async def test_faults_that_pass_are_tried_again(bench: Bench) -> None:
    bench.stub.script(Status(500), Status(503), HangUp(), Say("at last"))
    reply = await bench.ask(HTTP)
    assert reply.text == "at last"
    assert reply.tries == 4
    assert len(bench.sleeps) == 3
    assert [one.outcome for one in bench.tries] == ["provider_unavailable"] * 3 + ["stop"]


async def test_a_bot_that_keeps_failing_is_the_agents_error(bench: Bench) -> None:
    bench.stub.script(*[Status(500, message="boom")] * 4)
    error = await bench.fail(HTTP)
    assert error.code is LlmErrorCode.PROVIDER_UNAVAILABLE
    assert error.blame is Blame.AGENT
    assert error.tries == 4
    assert "500" in error.message
    assert "boom" in error.message


@pytest.mark.parametrize(
    ("status", "code", "blame"),
    [
        (400, LlmErrorCode.BAD_REQUEST, Blame.AGENT),
        (404, LlmErrorCode.BAD_REQUEST, Blame.AGENT),
        (401, LlmErrorCode.AUTH, Blame.INFRASTRUCTURE),
        (403, LlmErrorCode.AUTH, Blame.INFRASTRUCTURE),
    ],
)
async def test_faults_that_stay_are_not_tried_again(
    bench: Bench, status: int, code: LlmErrorCode, blame: Blame
) -> None:
    bench.stub.script(Status(status))
    error = await bench.fail(HTTP)
    assert (error.code, error.blame, error.tries) == (code, blame, 1)


async def test_a_redirect_is_named_and_not_followed(bench: Bench) -> None:
    bench.stub.script(Raw(b"", status=302, headers={"Location": "/elsewhere"}))
    error = await bench.fail(HTTP)
    assert error.code is LlmErrorCode.BAD_REQUEST
    assert "redirect" in error.message
    assert len(bench.stub.requests) == 1


@pytest.mark.parametrize(
    ("header", "waits_at_least"),
    [("2", 2.0), ("Wed, 21 Oct 2026 07:28:00 GMT", 30.0), ("soon", 0.25), ("-3", 0.25)],
)
async def test_retry_after_of_a_bot_is_honoured(bench: Bench, header: str, waits_at_least: float) -> None:
    bench.stub.script(Status(429, retry_after=header), Say("ok"))
    await bench.ask(HTTP)
    assert bench.sleeps[0] >= waits_at_least
    assert bench.sleeps[0] <= max(waits_at_least, 0.5)


async def test_a_url_outside_the_policy_is_refused_and_not_tried_again(bench: Bench) -> None:
    error = await bench.fail(HTTP, url="http://10.1.2.3/chat")
    assert error.code is LlmErrorCode.REFUSED_BY_EGRESS
    assert error.blame is Blame.INFRASTRUCTURE
    assert "PROCTOR_EGRESS_ALLOW" in error.message
    assert error.tries == 1


async def test_nothing_listening_is_a_connection_error_after_its_retries(bench: Bench) -> None:
    error = await bench.fail(HTTP, url="http://127.0.0.1:9/")
    assert error.code is LlmErrorCode.PROVIDER_UNAVAILABLE
    assert error.tries == 4


async def test_a_line_break_in_a_header_value_is_refused(bench: Bench) -> None:
    request = chat("a", external_user_id="u\r\nX-Admin: yes")
    error = await bench.fail(HTTP, request, headers={"X-User": "{{externalUserId}}"})
    assert error.code is LlmErrorCode.BAD_REQUEST
    assert bench.stub.requests == []


async def test_a_get_endpoint_sends_no_body(bench: Bench) -> None:
    await bench.ask(HTTP, method="GET", body=None)
    assert bench.stub.requests[0].body is None


async def test_cancelling_stops_the_call_at_once(bench: Bench) -> None:
    bench.stub.hold = asyncio.Event()
    task = asyncio.create_task(bench.ask(HTTP))
    await bench.stub.seen(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await bench.stub.left(1)
    assert len(bench.stub.requests) == 1


@pytest.mark.parametrize("missing", [{"replyPath": None}, {"body": None}])
async def test_an_endpoint_without_its_fields_says_which(bench: Bench, missing: dict[str, Any]) -> None:
    error = await bench.fail(HTTP, **missing)
    assert error.code is LlmErrorCode.MISSING_ENDPOINT
    assert next(iter(missing)) in error.message
