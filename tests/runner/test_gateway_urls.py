"""Where a handler is called, and what a GET carries."""

from __future__ import annotations

import pytest

from proctor_runner.gateway.urls import CORE_URL, core_url, handler_url, with_query


@pytest.mark.parametrize(
    ("url", "resolved"),
    [
        ("https://hooks.example/a?b=1", "https://hooks.example/a?b=1"),
        ("HTTP://hooks.example/a", "HTTP://hooks.example/a"),
        ("sofa/health", "http://core:3010/sofa/health"),
        ("/sofa/health", "http://core:3010/sofa/health"),
        ("//evil.example/x", "http://core:3010/evil.example/x"),
        ("", "http://core:3010/support-bot/webhook/create_refund"),
        ("  ", "http://core:3010/support-bot/webhook/create_refund"),
    ],
)
@pytest.mark.parametrize("core", ["http://core:3010", "http://core:3010/"])
def test_the_three_forms(url: str, resolved: str, core: str) -> None:
    given = handler_url(url, core_url=core, integration="support-bot", handler="create_refund")
    assert given == resolved


def test_names_are_encoded_and_cannot_leave_their_place() -> None:
    url = handler_url("", core_url="http://core", integration="Бот 1", handler="a/../b?c#d")
    assert url == "http://core/%D0%91%D0%BE%D1%82%201/webhook/a%2F..%2Fb%3Fc%23d"


def test_the_core_is_where_the_environment_says() -> None:
    assert core_url({}) == core_url({"INTEG_CORE_URL": " "}) == CORE_URL == "http://localhost:3010"
    assert core_url({"INTEG_CORE_URL": "https://core.example"}) == "https://core.example"


@pytest.mark.parametrize(
    ("args", "query"),
    [
        ({}, ""),
        ({"none": None}, ""),
        ({"q": "a b&c", "n": 2, "yes": True}, "?q=a+b%26c&n=2&yes=true"),
        ({"tag": ["a", "b"]}, "?tag=a&tag=b"),
        ({"filter": {"x": 1}}, "?filter=%7B%22x%22%3A1%7D"),
        ({"назва": "ї"}, "?%D0%BD%D0%B0%D0%B7%D0%B2%D0%B0=%D1%97"),
        ({"bad": "\ud800"}, "?bad=%3F"),
    ],
)
def test_arguments_become_a_query(args: dict[str, object], query: str) -> None:
    assert with_query("http://core/x", args) == f"http://core/x{query}"


def test_a_query_that_is_there_is_kept() -> None:
    assert with_query("http://core/x?key=1#top", {"q": "a"}) == "http://core/x?key=1&q=a#top"
