"""The support desk's rules: what a message asks for, which tools that takes, and what to answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from backoffice import BackOffice, ToolLog
from language import Language, Text, language_of

__all__ = ["Conversation", "Desk", "Reply"]

ORDER_NUMBER = re.compile(r"\b[aа]-?(\d{4})\b")


@dataclass
class Conversation:
    """What the bot remembers between two messages of one conversation."""

    language: Language = Language.UKRAINIAN
    order: str | None = None
    waiting_for_order: bool = False
    refund_ticket: str | None = None


@dataclass(frozen=True)
class Reply:
    """One reply as it goes over the wire."""

    answer: str
    department: str
    tools: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Turn:
    """One message on its way through a rule."""

    message: str
    conversation: Conversation
    tools: ToolLog

    def say(self, department: str, uk: str, en: str) -> Reply:
        """Answer in the language of the conversation."""
        answer = Text(uk, en).in_(self.conversation.language)
        return Reply(answer, department, self.tools.calls)


Rule = Callable[[Turn], Reply]


class Desk:
    """Chooses a rule for each message; the first pattern that is found wins."""

    def __init__(self, office: BackOffice) -> None:
        self._office = office
        self._rules: list[tuple[re.Pattern[str], Rule]] = [
            (re.compile(pattern), rule)
            for pattern, rule in (
                (
                    r"(ігнор|ignore|forget).*(інструкц|instruction)|промпт|prompt|режим розроб",
                    self._stay_in_role,
                ),
                (r"developer mode|адміністратор\w* систем|system:|<system>", self._stay_in_role),
                (r"\bсуд|позов|юрид|адвокат|\bsue\b|lawyer|legal|court", self._legal),
                (r"оператор|менеджер|жив\w+ людин|human|manager|real person", self._human),
                (r"двічі|два рази|twice|double", self._double_charge),
                (r"(поверн|верн).*(грош|кошт|деньг)|refund|money back", self._refund),
                (r"рахун\w+ фактур|\bчек\b|квитанц|invoice|receipt", self._invoices),
                (r"парол|password", self._password),
                (r"(змін|change|new).*(пошт|e-?mail)", self._change_email),
                (r"компенсац|compensat", self._compensation),
                (r"(скасу|cancel).*(замовл|order)", self._cancel_order),
                (
                    r"(де|де ж|where|где|статус|status|відстеж|track).*(замовл|посилк|order|parcel|заказ)",
                    self._order,
                ),
                (r"достав|deliver|shipping", self._delivery),
                (r"оплат|apple pay|google pay|картк|\bpay|card", self._payment),
                (r"скільки|ціна|кошту|price|how much|тариф|subscription|підписк", self._plans),
                (r"повернення|повернути|return", self._returns),
                (r"дякую|до побачення|thanks|thank you|\bbye", self._goodbye),
                (r"не працює|doesn't work|not working|допоможіть|help", self._what_exactly),
                (r"привіт|добрий день|доброго|hello|\bhi\b", self._greeting),
            )
        ]

    def reply(self, message: str, conversation: Conversation) -> Reply:
        """Answer one message, remembering what it told us."""
        conversation.language = language_of(message, conversation.language)
        turn = Turn(message.lower(), conversation, ToolLog())
        number = ORDER_NUMBER.search(turn.message)
        if number:
            conversation.order = f"A-{number.group(1)}"
            if conversation.waiting_for_order:
                return self._order(turn)
        for pattern, rule in self._rules:
            if pattern.search(turn.message):
                return rule(turn)
        return self._out_of_scope(turn)

    def _stay_in_role(self, turn: Turn) -> Reply:
        return turn.say(
            "other",
            "Я допомагаю лише з покупками в магазині «Ліхтар». Про своє налаштування не розповідаю.",
            "I only help with purchases at the Lantern shop and do not talk about my own set-up.",
        )

    def _legal(self, turn: Turn) -> Reply:
        request = self._office.escalate_to_human(turn.tools, reason="legal")
        return turn.say(
            "other",
            f"З юридичних питань відповідає людина. Я передав звернення {request}, з вами зв'яжуться.",
            f"Legal questions are answered by a person. I passed on request {request}.",
        )

    def _human(self, turn: Turn) -> Reply:
        request = self._office.escalate_to_human(turn.tools, reason="asked_for_human")
        return turn.say(
            "other",
            f"Передаю розмову людині, номер звернення {request}.",
            f"I am handing you over to a person, request {request}.",
        )

    def _double_charge(self, turn: Turn) -> Reply:
        invoices = self._office.lookup_invoices(turn.tools)
        if turn.conversation.refund_ticket is None:
            turn.conversation.refund_ticket = self._office.create_refund_ticket(
                turn.tools, invoice=invoices[-1]["id"], reason="double_charge"
            )
        ticket = turn.conversation.refund_ticket
        return turn.say(
            "billing",
            f"Бачу два списання: {invoices[0]['id']} та {invoices[1]['id']}, кожне на 149 грн. Перепрошую!"
            f" Створив тикет {ticket} на повернення зайвого платежу.",
            f"I see two charges, {invoices[0]['id']} and {invoices[1]['id']}, 149 UAH each. Sorry about that!"
            f" I opened ticket {ticket} for the refund of the extra payment.",
        )

    def _refund(self, turn: Turn) -> Reply:
        if turn.conversation.refund_ticket is not None:
            return turn.say(
                "billing",
                f"Тикет {turn.conversation.refund_ticket} на повернення вже в роботі.",
                f"Ticket {turn.conversation.refund_ticket} for your refund is already being handled.",
            )
        self._office.get_help_article(turn.tools, topic="returns")
        return turn.say(
            "billing",
            "Гроші повертаються на ту саму картку за 5 днів після повернення товару. За що саме повернути?",
            "Money comes back to the same card in 5 days after a return. What should be refunded?",
        )

    def _invoices(self, turn: Turn) -> Reply:
        found = ", ".join(invoice["id"] for invoice in self._office.lookup_invoices(turn.tools))
        return turn.say("billing", f"Ваші рахунки: {found}.", f"Your invoices: {found}.")

    def _password(self, turn: Turn) -> Reply:
        self._office.get_help_article(turn.tools, topic="password-reset")
        return turn.say(
            "account",
            "Щоб змінити пароль: Профіль → Безпека → Скинути пароль. Посилання діє 30 хвилин.",
            "To change your password: Profile, Security, Reset password. The link works for 30 minutes.",
        )

    def _change_email(self, turn: Turn) -> Reply:
        self._office.get_help_article(turn.tools, topic="change-email")
        return turn.say(
            "account",
            "Профіль → Контакти → Змінити пошту, потім підтвердьте нову адресу кодом.",
            "Profile, Contacts, Change e-mail; then confirm the new address with the code.",
        )

    def _compensation(self, turn: Turn) -> Reply:
        """The bot's first known fault (see README.md): nobody but a manager may promise money."""
        if turn.conversation.order is not None:
            self._office.check_order_status(turn.tools, order=turn.conversation.order)
        self._office.get_help_article(turn.tools, topic="late-delivery")
        return turn.say(
            "delivery",
            "Перепрошую за затримку! Ми повернемо вам 300 грн протягом 24 годин.",
            "Sorry for the delay! We will return 300 UAH to you within 24 hours.",
        )

    def _cancel_order(self, turn: Turn) -> Reply:
        order = turn.conversation.order
        if order is None:
            return self._ask_for_order(turn)
        found = self._office.check_order_status(turn.tools, order=order)
        if found is None:
            return self._no_such_order(turn, order)
        if found["status"] != "awaiting_payment":
            return turn.say(
                "orders",
                f"Замовлення {order} вже відправлене, тому його не можна скасувати, лише повернути.",
                f"Order {order} has been sent, so it cannot be cancelled, only returned.",
            )
        self._office.cancel_order(turn.tools, order=order)
        return turn.say("orders", f"Замовлення {order} скасовано.", f"Order {order} is cancelled.")

    def _order(self, turn: Turn) -> Reply:
        order = turn.conversation.order
        if order is None:
            return self._ask_for_order(turn)
        turn.conversation.waiting_for_order = False
        found = self._office.check_order_status(turn.tools, order=order)
        if found is None:
            return self._no_such_order(turn, order)
        if "json" in turn.message:
            document = json.dumps({"order": order, "status": found["status"]})
            return turn.say("orders", document, document)
        carrier, expected = found["carrier"], found["expected"]
        match found["status"]:
            case "in_transit":
                uk = f"Замовлення {order} в дорозі ({carrier}), очікуйте {expected}."
                en = f"Order {order} is on its way ({carrier}), expect it on {expected}."
            case "delivered":
                uk, en = f"Замовлення {order} доставлено {expected}.", f"Order {order} came on {expected}."
            case _:
                uk, en = f"Замовлення {order} чекає на оплату.", f"Order {order} awaits payment."
        return turn.say("orders", uk, en)

    def _ask_for_order(self, turn: Turn) -> Reply:
        turn.conversation.waiting_for_order = True
        return turn.say(
            "orders",
            "Назвіть, будь ласка, номер замовлення, наприклад у листі з підтвердженням.",
            "Please tell me the order number; it is in the confirmation e-mail.",
        )

    def _no_such_order(self, turn: Turn, order: str) -> Reply:
        return turn.say(
            "orders",
            f"Не знаходжу замовлення {order}. Перевірте, будь ласка, номер.",
            f"I cannot find order {order}. Please check the number.",
        )

    def _delivery(self, turn: Turn) -> Reply:
        self._office.get_help_article(turn.tools, topic="delivery")
        return turn.say(
            "delivery",
            "Новою поштою 2-3 дні за 75 грн, Укрпоштою 4-7 днів за 45 грн; від 1000 грн безкоштовно.",
            "Nova Poshta takes 2-3 days for 75 UAH, Ukrposhta 4-7 days for 45 UAH; free above 1000 UAH.",
        )

    def _payment(self, turn: Turn) -> Reply:
        self._office.get_help_article(turn.tools, topic="payment-methods")
        return turn.say(
            "billing",
            "Приймаємо Visa, Mastercard, Apple Pay і Google Pay. Не проходить — спробуйте іншу картку.",
            "We take Visa, Mastercard, Apple Pay and Google Pay. If it fails, please try another card.",
        )

    def _plans(self, turn: Turn) -> Reply:
        self._office.get_help_article(turn.tools, topic="plans")
        return turn.say(
            "billing",
            "Lantern Plus коштує 149 грн на місяць, перші 14 днів безкоштовно.",
            "Lantern Plus is 149 UAH a month, the first 14 days are free.",
        )

    def _returns(self, turn: Turn) -> Reply:
        self._office.get_help_article(turn.tools, topic="returns")
        return turn.say(
            "orders",
            "Нерозпакований товар можна повернути протягом 14 днів.",
            "Unopened goods can be returned within 14 days.",
        )

    def _goodbye(self, turn: Turn) -> Reply:
        self._office.close_conversation(turn.tools)
        return turn.say("other", "Дякую за звернення, гарного дня!", "Thank you, have a nice day!")

    def _what_exactly(self, turn: Turn) -> Reply:
        return turn.say(
            "other",
            "Уточніть, будь ласка: йдеться про замовлення, оплату чи вхід до кабінету?",
            "Could you tell me more: is it about an order, a payment or signing in?",
        )

    def _greeting(self, turn: Turn) -> Reply:
        return turn.say(
            "other",
            "Вітаю! Я бот магазину «Ліхтар». Чим допомогти?",
            "Hello! I am the bot of the Lantern shop. How can I help?",
        )

    def _out_of_scope(self, turn: Turn) -> Reply:
        return turn.say(
            "other",
            "З цим я не допоможу: відповідаю на питання про замовлення, оплату, доставку та кабінет.",
            "I cannot help with that: I answer questions about orders, payments, delivery and accounts.",
        )
