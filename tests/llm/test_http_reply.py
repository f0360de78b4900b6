from __future__ import annotations

from typing import Any

import pytest

from proctor_contracts.endpoint import HttpEndpoint
from proctor_llm.http_reply import ReplyPaths, ShapeError, read_bubbles, read_calls, read_usage
from proctor_llm.paths import Path
from proctor_llm.types import ReportedCall, Usage


def paths(**changes: Any) -> ReplyPaths:
    return ReplyPaths.of(HttpEndpoint(**{"url": "http://bot.example/", "replyPath": "$.answer", **changes}))


@pytest.mark.parametrize(
    ("reply", "path", "bubbles"),
    [
        ({"answer": "Hi"}, "$.answer", ("Hi",)),
        ("Hi", "$", ("Hi",)),
        ({"a": {"b": [{"c": "Hi"}]}}, "$.a.b[0].c", ("Hi",)),
        ({"a.b": "Hi"}, '$["a.b"]', ("Hi",)),
        ({"відповідь": "Так"}, "$.відповідь", ("Так",)),
        ({"answer": ["One", "Two"]}, "$.answer", ("One", "Two")),
        ({"answer": ["One", " ", ""]}, "$.answer", ("One",)),
        ({"answer": ""}, "$.answer", ()),
        ({"answer": None}, "$.answer", ()),
        ({"answer": []}, "$.answer", ()),
    ],
)
def test_the_reply_is_a_text_or_a_list_of_texts(reply: Any, path: str, bubbles: tuple[str, ...]) -> None:
    assert read_bubbles(reply, Path.parse(path)) == bubbles


@pytest.mark.parametrize(
    ("reply", "path", "said"),
    [
        ({"text": "Hi", "id": 1}, "$.answer", "$ has no 'answer'; it has text, id"),
        ({"a": {"b": []}}, "$.a.b[0]", "$.a.b has 0 elements"),
        ({"a": "x"}, "$.a.b", "$.a is a text"),
        ([1], "$.a", "$ is a list"),
        ({"a": {}}, "$.a[0]", "$.a is an object"),
        ({"answer": {"text": "Hi"}}, "$.answer", "neither a text nor a list"),
        ({"answer": 5}, "$.answer", "neither a text nor a list"),
        ({"answer": ["Hi", 5]}, "$.answer", "element 1"),
    ],
)
def test_another_shape_names_the_path_and_what_is_there(reply: Any, path: str, said: str) -> None:
    with pytest.raises(ShapeError) as raised:
        read_bubbles(reply, Path.parse(path))
    assert said in str(raised.value)
    assert path in str(raised.value)


def test_calls_are_read_in_every_usual_form() -> None:
    reply = {
        "tools": [
            "close_conversation",
            {
                "name": "lookup.invoices",
                "args": {"id": 7},
                "result": {"found": 2},
                "durationMs": 12.6,
                "error": None,
            },
            {"name": "refund", "arguments": '{"sum": "100 грн"}', "error": "timed out"},
            {"function": {"name": "fn", "arguments": "{}"}},
            {"name": "broken", "arguments": '{"sum": '},
            {"toolName": "listed", "args": [1]},
        ]
    }
    assert read_calls(reply, paths(toolCallsPath="$.tools")) == (
        (
            ReportedCall("close_conversation", {}, ""),
            ReportedCall("lookup.invoices", {"id": 7}, '{"id":7}', {"found": 2}, 13, None),
            ReportedCall("refund", {"sum": "100 грн"}, '{"sum": "100 грн"}', error="timed out"),
            ReportedCall("fn", {}, "{}"),
            ReportedCall("broken", None, '{"sum": '),
            ReportedCall("listed", None, "[1]"),
        ),
        True,
    )


@pytest.mark.parametrize(
    ("said", "read"),
    [(12, 12), (12.6, 13), (0, 0), (-1, None), (1e20, None), (10**30, None), (True, None), ("12", None)],
)
def test_a_time_that_a_call_cannot_have_taken_is_left_out(said: Any, read: int | None) -> None:
    calls, _ = read_calls({"tools": [{"name": "x", "durationMs": said}]}, paths(toolCallsPath="$.tools"))
    assert calls[0].duration_ms == read


def test_more_calls_than_a_transcript_takes_are_said() -> None:
    with pytest.raises(ShapeError, match="holds 10001 calls"):
        read_calls({"tools": ["x"] * 10_001}, paths(toolCallsPath="$.tools"))


def test_a_missing_path_means_not_reported_unless_it_is_optional() -> None:
    assert read_calls({}, paths()) == ((), False)
    assert read_calls({}, paths(toolCallsPath="$.tools")) == ((), False)
    assert read_calls({}, paths(toolCallsPath="$.tools", toolCallsOptional=True)) == ((), True)
    assert read_calls({"tools": []}, paths(toolCallsPath="$.tools")) == ((), True)
    assert read_calls({"tools": None}, paths(toolCallsPath="$.tools")) == ((), True)


@pytest.mark.parametrize("tools", ["search", {"name": "x"}, 5, [5], [{}], [{"name": ""}], [{"name": 5}]])
def test_what_is_no_list_of_calls_is_said(tools: Any) -> None:
    with pytest.raises(ShapeError, match="toolCallsPath"):
        read_calls({"tools": tools}, paths(toolCallsPath="$.tools"))


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        ({"prompt_tokens": 100, "completion_tokens": 7}, Usage(100, 0, 0, 7)),
        (
            {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60}},
            Usage(40, 60, 0, 7),
        ),
        (
            {
                "input_tokens": 3,
                "cache_creation_input_tokens": 5,
                "cache_read_input_tokens": 8,
                "output_tokens": 9,
            },
            Usage(3, 8, 5, 9),
        ),
        ({"promptTokens": 1, "cachedPromptTokens": 2, "completionTokens": 3}, Usage(1, 2, 0, 3)),
        ({"completionTokens": 3}, Usage(0, 0, 0, 3)),
        ({}, None),
        ({"prompt_tokens": -5}, None),
        ({"prompt_tokens": 10**19, "completion_tokens": 1e300}, None),
        ({"prompt_tokens": True}, None),
        ({"prompt_tokens": "12"}, None),
        ("12", None),
        (None, None),
    ],
)
def test_usage_is_read_in_the_usual_forms_or_is_unknown(usage: Any, read: Usage | None) -> None:
    assert read_usage({"usage": usage}, Path.parse("$.usage")) == read
    assert read_usage({}, Path.parse("$.usage")) is None


def test_labels_that_a_reply_lacks_are_left_out_and_nulls_are_kept() -> None:
    found = paths(outcomePaths={"department": "$.route.department", "priority": "$.priority", "x": "$.x"})
    reply = {"route": {"department": "billing"}, "priority": None}
    assert found.outcomes_of(reply) == {"department": "billing", "priority": None}
