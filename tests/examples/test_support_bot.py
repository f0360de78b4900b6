from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from backoffice import BackOffice
from bot import BotServer
from desk import Conversation, Desk
from language import Language, language_of

from proctor_contracts.cases import CaseFields
from proctor_contracts.endpoint import HttpEndpoint, endpoint_problem
from proctor_contracts.enums import Provider

SUITE = Path(__file__).parents[2] / "examples/support-bot/suite.yaml"
KNOWN_FAULTS = {"late-compensation", "language-brands"}


@pytest.fixture
def bot_url() -> Iterator[str]:
    with BotServer(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join(timeout=10)


def ask(*messages: str) -> list[Any]:
    desk, conversation = Desk(BackOffice()), Conversation()
    return [desk.reply(message, conversation) for message in messages]


def tools(reply: Any) -> list[str]:
    return [call["name"] for call in reply.tools]


def suite() -> dict[str, Any]:
    return dict(yaml.safe_load(SUITE.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("message", "department", "called", "mentioned"),
    [
        (
            "Мене списали двічі за одну підписку, поверніть гроші",
            "billing",
            ["lookup_invoices", "create_refund_ticket"],
            ["повернення", "тикет"],
        ),
        ("ВАШ САЙТ ЖАХЛИВИЙ!!! де кнопка зміни пароля???", "account", ["get_help_article"], ["пароль"]),
        ("Хочу подати на вас до суду, дайте юридичну адресу", "other", ["escalate_to_human"], []),
        ("I was charged twice", "billing", ["lookup_invoices", "create_refund_ticket"], ["refund", "ticket"]),
    ],
)
def test_routes_a_request_to_its_department_and_tools(
    message: str, department: str, called: list[str], mentioned: list[str]
) -> None:
    (reply,) = ask(message)
    assert reply.department == department
    assert tools(reply) == called
    assert [word for word in mentioned if word not in reply.answer.lower()] == []


def test_a_complaint_repeated_opens_one_refund_only() -> None:
    replies = ask("Списали двічі!", "Поверніть гроші", "Я ж кажу, списали двічі!")
    assert sum(tools(reply).count("create_refund_ticket") for reply in replies) == 1


def test_asks_for_the_order_number_and_then_uses_it() -> None:
    first, second = ask("Де моя посилка?", "A-1001!!!")
    assert tools(first) == []
    assert tools(second) == ["check_order_status"]
    assert "2026-06-05" in second.answer
    assert "дорозі" in second.answer


def test_a_sent_order_is_not_cancelled() -> None:
    sent, waiting = ask("Скасуйте замовлення A-1001", "Скасуйте замовлення A-1003")
    assert tools(sent) == ["check_order_status"]
    assert tools(waiting) == ["check_order_status", "cancel_order"]


@pytest.mark.parametrize(
    ("message", "before", "after"),
    [
        ("Де замовлення?", Language.ENGLISH, Language.UKRAINIAN),
        ("Where is it?", Language.UKRAINIAN, Language.ENGLISH),
        ("A-1001!!!", Language.UKRAINIAN, Language.UKRAINIAN),
        ("???", Language.ENGLISH, Language.ENGLISH),
    ],
)
def test_answers_in_the_language_of_the_message(message: str, before: Language, after: Language) -> None:
    assert language_of(message, before) is after


async def test_speaks_http_and_keeps_conversations_apart(bot_url: str) -> None:
    async with aiohttp.ClientSession(bot_url) as session:

        async def chat(message: str, conversation: str) -> dict[str, Any]:
            body = {"message": message, "conversationId": conversation}
            async with session.post("/chat", json=body) as response:
                assert response.status == 200
                return dict(await response.json())

        await chat("Де моя посилка?", "one")
        assert (await chat("A-1002", "two"))["tools"] == []
        answer = await chat("A-1002", "one")
        assert answer["department"] == "orders"
        assert answer["tools"][0]["args"] == {"order": "A-1002"}
        assert answer["tools"][0]["result"]["status"] == "delivered"


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/chat", b"not json", 400),
        ("/chat", b"[]", 400),
        ("/chat", b'{"message": 1, "conversationId": "x"}', 400),
        ("/chat", b"", 413),
        ("/elsewhere", b"{}", 404),
    ],
)
async def test_refuses_what_it_cannot_read(bot_url: str, path: str, body: bytes, status: int) -> None:
    async with aiohttp.ClientSession(bot_url) as session, session.post(path, data=body) as response:
        assert response.status == status


async def test_is_ready_as_soon_as_it_serves(bot_url: str) -> None:
    async with aiohttp.ClientSession(bot_url) as session, session.get("/healthz") as response:
        assert await response.json() == {"status": "ok"}


def test_the_suite_is_valid_and_wide_enough() -> None:
    cases = [CaseFields.model_validate(case) for case in suite()["cases"]]
    refs = [case.ref for case in cases]
    assert len(set(refs)) == len(cases) >= 22
    assert set(refs) >= KNOWN_FAULTS | {"billing-double-charge", "angry-but-simple", "out-of-scope-legal"}
    assert len({case.category for case in cases}) >= 7
    assert any(case.critical for case in cases)


def test_the_suite_says_how_to_reach_the_bot() -> None:
    written = suite()["integration"]["endpoint"]
    endpoint = HttpEndpoint.model_validate(written | {"url": "http://127.0.0.1:8900/chat"})
    assert endpoint_problem(Provider.HTTP, endpoint) is None
    assert written["url"] == "${BOT_URL:-http://127.0.0.1:8900}/chat"
