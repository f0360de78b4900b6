"""Calling a handler: what is sent, and what every way of going wrong comes to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest

from proctor_chassis.egress import Operator
from proctor_chassis.egress.door import OutgoingDoor
from proctor_chassis.secrets import Redactor, Secrets
from proctor_contracts.agents import HandlerSnapshot
from proctor_contracts.endpoint import SecretRef
from proctor_runner.gateway.outcome import Outcome
from proctor_runner.gateway.webhook import MAX_ANSWER_BYTES, Webhooks
from tests.support.webhooks import Dripping, HungUp, Never, Raw, WebhookServer

ENVIRON = {"PROCTOR_SECRET_CRM_KEY": "s3cr3t-value"}


@dataclass
class Stage:
    hooks: WebhookServer
    door: OutgoingDoor
    redactor: Redactor = field(default_factory=Redactor)

    async def call(
        self, args: dict[str, Any] | None = None, *, seconds: float = 5, left: float = 60, **handler: Any
    ) -> Outcome:
        webhooks = Webhooks(
            door=self.door,
            secrets=Secrets(environ=ENVIRON, embedded=False, redactor=self.redactor),
            core_url=self.hooks.url,
            seconds=seconds,
        )
        fields = {"id": UUID(int=9), "name": "get_order"}
        return await webhooks.call(
            HandlerSnapshot(**(fields | handler)),
            args or {},
            integration="support bot",
            deadline=asyncio.get_running_loop().time() + left,
        )

    async def answered(self, answer: Any, **handler: Any) -> Outcome:
        self.hooks.answers["/x"] = answer
        return await self.call(url="/x", **handler)


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    door = OutgoingDoor(rules=Operator(loopback=True))
    async with WebhookServer() as hooks:
        yield Stage(hooks, door)
        await door.aclose()


async def test_arguments_are_posted_as_json_where_the_names_say(stage: Stage) -> None:
    outcome = await stage.call({"id": 7, "note": "ї"})
    assert outcome == Outcome(result={"ok": True, "got": {"id": 7, "note": "ї"}}, called=True)
    call = stage.hooks.calls[0]
    assert (call.method, call.path) == ("POST", "/support%20bot/webhook/get_order")
    assert call.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_the_handlers_method_is_used(stage: Stage, method: str) -> None:
    await stage.call({"id": 7}, method=method, url=f"{stage.hooks.url}/abs")
    assert (stage.hooks.calls[0].method, stage.hooks.calls[0].path) == (method, "/abs")
    assert stage.hooks.calls[0].body == {"id": 7}


async def test_a_get_carries_its_arguments_in_the_query(stage: Stage) -> None:
    await stage.call({"id": 7, "q": "а"}, method="GET", url="orders?v=1")
    call = stage.hooks.calls[0]
    assert (call.method, call.path, call.query, call.body) == (
        "GET",
        "/orders",
        {"v": "1", "id": "7", "q": "а"},
        None,
    )
    assert "Content-Type" not in call.headers


async def test_arguments_that_json_cannot_carry_are_sent_as_it_can(stage: Stage) -> None:
    outcome = await stage.call({"text": "\ud800"})
    assert outcome.failure is None
    assert stage.hooks.calls[0].body == {"text": "\ufffd"}


@pytest.mark.parametrize("header", [{"secret": "CRM_KEY"}, SecretRef(secret="CRM_KEY")])
async def test_secrets_are_headers_by_reference_and_known_to_the_redactor(stage: Stage, header: Any) -> None:
    await stage.call(headers={"X-Key": header, "X-Plain": "p", "content-type": "application/vnd.x+json"})
    headers = stage.hooks.calls[0].headers
    assert (headers["X-Key"], headers["X-Plain"]) == ("s3cr3t-value", "p")
    assert headers["Content-Type"] == "application/vnd.x+json"
    assert stage.redactor.text("got s3cr3t-value") == "got [secret:CRM_KEY]"


@pytest.mark.parametrize(
    ("body", "kind", "result"),
    [
        (b'{"a": [1, null]}', "application/json", {"a": [1, None]}),
        (b"[1]", "text/html", [1]),
        (b"7", "application/json", 7),
        (b'"ok"', "application/json", "ok"),
        (b'{"a": "\\u0000"}', "application/json", {"a": "\ufffd"}),
        (b'{"big": 99999999999999999999999}', "application/json", {"big": 1e23}),
        (b"Done, thank you", "text/plain", "Done, thank you"),
        (b"", "application/json", None),
        (b" \n", "text/plain", None),
    ],
)
async def test_json_and_plain_text_are_results(stage: Stage, body: bytes, kind: str, result: Any) -> None:
    outcome = await stage.answered(Raw(body, content_type=kind))
    assert outcome == Outcome(result=result, called=True)


@pytest.mark.parametrize(
    ("answer", "code", "shown"),
    [
        (Raw(b"<html>login</html>", content_type="text/html"), "not_json", "login"),
        (Raw(b"<html>login</html>", content_type="text/plain"), "not_json", "login"),
        (Raw(b'{"price": NaN}'), "not_json", "NaN"),
        (Raw(b'{"price": -Infinity}'), "not_json", "Infinity"),
        (Raw(b'{"cut": '), "not_json", "cut"),
        (Raw(b"[" * 50_000), "not_json", "["),
        (Raw(b"[" * 300 + b"]" * 300), "not_json", "deeper"),
        (Raw(b"\xff\xfe", content_type="image/png"), "not_json", "image/png"),
        (Raw(b"", status=302, headers={"Location": "http://10.0.0.1/"}), "redirect", "not followed"),
        (Raw(b"oops", status=500, content_type="text/plain"), "http_500", "oops"),
        (Raw(b"", status=404), "http_404", "404"),
        (Raw(b'"' + b"x" * MAX_ANSWER_BYTES + b'"'), "answer_too_large", "256 KiB"),
        (Raw(b"x" * 10_000_000), "answer_too_large", "256 KiB"),
        (HungUp(), "connection_broken", ""),
    ],
)
async def test_what_is_no_answer_is_a_failure_that_model_and_reader_are_told_of(
    stage: Stage, answer: Any, code: str, shown: str
) -> None:
    outcome = await stage.answered(answer)
    assert outcome.failure is not None
    assert outcome.failure.code == code
    assert shown in outcome.failure.recorded
    assert outcome.failed
    assert code in outcome.content
    assert not outcome.failure.unreachable, "somebody was there"
    assert stage.hooks.url not in outcome.content, "the model learns no addresses"


async def test_what_a_handler_says_with_an_error_status_reaches_the_model(stage: Stage) -> None:
    outcome = await stage.answered(Raw(b'{"message": "no such order"}', status=404))
    assert outcome.result == {"message": "no such order"}
    assert "no such order" in outcome.content


@pytest.mark.parametrize("answer", [Never(), Dripping()])
async def test_a_handler_that_does_not_come_to_an_end_is_left(stage: Stage, answer: Any) -> None:
    outcome = await stage.answered(answer, seconds=0.05)
    assert outcome.failure is not None
    assert outcome.failure.code == "timeout"
    await stage.hooks.until(lambda: stage.hooks.gone == 1)


@pytest.mark.parametrize("left", [0.05, 0, -1])
async def test_no_call_outlasts_the_case(stage: Stage, left: float) -> None:
    stage.hooks.answers["/x"] = Never()
    outcome = await stage.call(url="/x", seconds=60, left=left)
    assert outcome.failure is not None
    assert outcome.failure.code == "timeout"


async def test_a_call_that_is_cancelled_ends_at_once(stage: Stage) -> None:
    stage.hooks.answers["/x"] = Never()
    call = asyncio.create_task(stage.call(url="/x"))
    await stage.hooks.until(lambda: len(stage.hooks.calls) == 1)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await stage.hooks.until(lambda: stage.hooks.gone == 1)


@pytest.mark.parametrize(
    ("handler", "code", "shown"),
    [
        ({"url": "http://127.0.0.1:1/x"}, "unreachable", "127.0.0.1"),
        ({"url": "http://10.1.2.3/x"}, "refused_by_egress", "PROCTOR_EGRESS_ALLOW"),
        ({"url": "http://169.254.169.254/latest"}, "refused_by_egress", "never allowed"),
        ({"url": "http://[::ffff:10.1.2.3]/x"}, "refused_by_egress", "PROCTOR_EGRESS_ALLOW"),
        ({"url": "http://2130706433/"}, "refused_by_egress", "address"),
        ({"url": "ftp://127.0.0.1/x"}, "refused_by_egress", "http"),
        ({"url": "http://user:pw@127.0.0.1/x"}, "refused_by_egress", "credentials"),
        ({"url": "http://127.0.0.1\\@evil.example/"}, "refused_by_egress", "character"),
        ({"headers": {"X-Key": {"secret": "OTHER"}}}, "missing_secret", "PROCTOR_SECRET_OTHER"),
        ({"headers": {"X-Key": "a\r\nB: c"}}, "bad_request", "line break"),
        ({"headers": {"X Key": "a"}}, "bad_request", "not a header name"),
        ({"headers": {"Ключ": "a"}}, "bad_request", "not a header name"),
        ({"headers": {"content-length": "3"}}, "bad_request", "content-length"),
        ({"headers": {"X-Key": {"secret": 5}}}, "bad_request", "neither"),
        ({"url": "http://[::1/x"}, "refused_by_egress", "URL"),
        ({"url": "a b"}, "refused_by_egress", "character"),
    ],
)
async def test_a_handler_that_cannot_be_asked_is_unreachable(
    stage: Stage, handler: dict[str, Any], code: str, shown: str
) -> None:
    outcome = await stage.call({"id": 1}, **handler)
    assert outcome.failure is not None
    assert (outcome.failure.code, outcome.failure.unreachable) == (code, True)
    assert shown in outcome.failure.recorded
    assert not outcome.called
    assert "not available" in outcome.content
    assert "PROCTOR" not in outcome.content
    assert stage.hooks.calls == []


async def test_a_self_signed_certificate_is_not_trusted(stage: Stage) -> None:
    async with WebhookServer(tls=True) as hooks:
        outcome = await stage.call(url=f"{hooks.url}/x")
        assert hooks.calls == []
    assert outcome.failure is not None
    assert (outcome.failure.code, outcome.failure.unreachable) == ("tls_failed", True)
