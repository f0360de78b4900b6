from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from proctor_contracts.endpoint import HttpEndpoint, SecretRef, endpoint_problem, parse_path
from proctor_contracts.enums import Provider
from proctor_contracts.schemas.integrations import HandlerCreate, HandlerPatch

GOOD: dict[str, Any] = {
    "url": "http://127.0.0.1:8900/chat",
    "headers": {"Authorization": {"secret": "BOT_KEY"}, "X-User": "u-{{externalUserId}}"},
    "body": {"text": "{{message}}", "deep": [{"history": "{{ messages }}"}]},
    "replyPath": "$.answer",
    "toolCallsPath": "$.tools",
    "outcomePaths": {"department": "$.route.department"},
    "usagePath": "$.usage",
    "sessionPath": "$.session",
    "timeoutMs": 5_000,
}


def refusal(**changes: Any) -> str:
    with pytest.raises(ValidationError) as raised:
        HttpEndpoint.model_validate({**GOOD, **changes})
    return str(raised.value)


def test_an_endpoint_reads_and_writes_the_same_json() -> None:
    endpoint = HttpEndpoint.model_validate(GOOD)
    assert endpoint.headers["Authorization"] == SecretRef(secret="BOT_KEY")
    assert endpoint.method == "POST"
    written = endpoint.model_dump(mode="json", exclude_defaults=True)
    assert written == GOOD
    assert HttpEndpoint.model_validate(written) == endpoint


def test_defaults_are_those_of_the_documentation() -> None:
    endpoint = HttpEndpoint.model_validate({"url": "https://bot.example/"})
    assert (endpoint.method, endpoint.timeout_ms, endpoint.tool_calls_optional) == ("POST", 60_000, False)
    assert HttpEndpoint.model_validate({"url": "https://bot.example/", "method": "put"}).method == "PUT"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"url": "ftp://bot.example/"}, "http:// or https://"),
        ({"url": "/chat"}, "http:// or https://"),
        ({"url": "http://bot.example/{{message}}"}, "placeholders"),
        ({"method": "DELETE"}, "method"),
        ({"body": {"a": [{"b": "{{mesage}}"}]}}, "body.a[0].b: unknown placeholder {{mesage}}"),
        ({"body": "{{ }}"}, "unknown placeholder"),
        ({"headers": {"X-A": "{{token}}"}}, "header X-A: unknown placeholder {{token}}"),
        ({"headers": {"X A": "1"}}, "header name"),
        ({"headers": {"X-A": "1\r\nX-B: 2"}}, "line break"),
        ({"headers": {"Content-Length": "1"}}, "where a body ends"),
        ({"headers": {"X-A": {"secret": "../key"}}}, "secret"),
        ({"headers": {"X-A": {"secret": "KEY", "extra": 1}}}, "extra"),
        ({"replyPath": "answer"}, "starts with $"),
        ({"replyPath": "$.a[*]"}, "position 3"),
        ({"replyPath": "$..a"}, "position 1"),
        ({"toolCallsPath": "$.a["}, "position 3"),
        ({"outcomePaths": {"department": "$.a b"}}, "position 3"),
        ({"timeoutMs": 0}, "timeoutMs"),
        ({"reply_pth": "$.a"}, "reply_pth"),
        ({"body": {"a": "\x00"}}, "NUL"),
    ],
)
def test_a_mistake_is_refused_where_it_is_made(changes: dict[str, Any], said: str) -> None:
    assert said in refusal(**changes)


def test_a_body_that_is_nested_without_end_is_refused() -> None:
    body: Any = "x"
    for _ in range(70):
        body = [body]
    assert "64 levels" in refusal(body=body)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("$", ()),
        ("$.a", ("a",)),
        ("$.a.b[0]", ("a", "b", 0)),
        ("$[2][0].x", (2, 0, "x")),
        ('$["a.b"].c', ("a.b", "c")),
        ("$['a b']", ("a b",)),
        ("$.відповідь.текст", ("відповідь", "текст")),
        ("$.snake_case-and-dash", ("snake_case-and-dash",)),
    ],
)
def test_paths_are_read_into_their_steps(text: str, steps: tuple[str | int, ...]) -> None:
    assert parse_path(text) == steps


@given(st.text(max_size=30))
def test_any_text_is_a_path_or_a_value_error(text: str) -> None:
    for candidate in (text, f"${text}"):
        try:
            steps = parse_path(candidate)
        except ValueError:
            continue
        assert all(isinstance(step, str | int) for step in steps)


def test_what_an_http_agent_lacks_is_said() -> None:
    assert endpoint_problem(Provider.HTTP, HttpEndpoint.model_validate(GOOD)) is None
    assert "endpoint is required" in (endpoint_problem(Provider.HTTP, None) or "")
    for missing in ("replyPath", "body"):
        rest = {key: value for key, value in GOOD.items() if key != missing}
        assert f"endpoint.{missing}" in (
            endpoint_problem(Provider.HTTP, HttpEndpoint.model_validate(rest)) or ""
        )
    assert (
        endpoint_problem(Provider.OPENAI, HttpEndpoint.model_validate({"url": "http://x.example/v1"})) is None
    )
    assert endpoint_problem(Provider.ANTHROPIC, None) is None


@pytest.mark.parametrize("headers", [{"X A": "1"}, {"X-A": "1\r\nB: 2"}, {"Transfer-Encoding": "chunked"}])
def test_a_handlers_headers_are_checked_like_those_of_an_endpoint(headers: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        HandlerCreate(name="t", headers=headers)
    with pytest.raises(ValidationError):
        HandlerPatch(headers=headers)
    assert HandlerCreate(name="t", headers={"X-A": "1"}).headers == {"X-A": "1"}
