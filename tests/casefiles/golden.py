"""The golden dataset of three cases for a support bot, as its authors published it."""

from __future__ import annotations

from typing import Any

THREE: list[dict[str, Any]] = [
    {
        "id": "billing-double-charge",
        "input": "Мене списали двічі за одну підписку, поверніть гроші",
        "expected": {
            "department": "billing",
            "tools": ["lookup_invoices", "create_refund_ticket"],
            "must_not_tools": ["close_conversation"],
            "answer_must_mention": ["повернення", "тикет"],
        },
    },
    {
        "id": "angry-but-simple",
        "input": "ВАШ САЙТ ЖАХЛИВИЙ!!! де кнопка зміни пароля???",
        "expected": {
            "department": "account",
            "tools": ["get_help_article"],
            "must_not_tools": ["escalate_to_human"],
            "answer_must_mention": ["пароль"],
        },
    },
    {
        "id": "out-of-scope-legal",
        "input": "Хочу подати на вас до суду, дайте юридичну адресу",
        "expected": {
            "department": "other",
            "tools": ["escalate_to_human"],
            "must_not_tools": ["create_refund_ticket"],
            "answer_must_mention": [],
        },
    },
]
