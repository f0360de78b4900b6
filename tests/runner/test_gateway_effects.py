"""What a handler does to the world, read from its name, and which record a call is about."""

from __future__ import annotations

from uuid import UUID

import pytest

from proctor_contracts.agents import HandlerSnapshot
from proctor_contracts.effects import Action, HandlerEffect
from proctor_runner.gateway.effects import effect_of, key_of, singular


def handler(
    name: str, *, side_effect: bool | None = None, effect: HandlerEffect | None = None
) -> HandlerSnapshot:
    return HandlerSnapshot(id=UUID(int=9), name=name, is_side_effect=side_effect, effect=effect)


@pytest.mark.parametrize(
    ("name", "action", "entity"),
    [
        ("create_refund", "create", "refund"),
        ("refund.create", "create", "refund"),
        ("createRefunds", "create", "refund"),
        ("Create-Refund", "create", "refund"),
        ("issue refunds", "create", "refund"),
        ("send_sms", "create", "sms"),
        ("update_order_address", "update", "order_address"),
        ("order.status.update", "update", "order_status"),
        ("setDeliveryAddresses", "update", "delivery_address"),
        ("cancel_order", "delete", "order"),
        ("delete.user", "delete", "user"),
        ("get_order_status", "read", "order_status"),
        ("order.status", "read", "order"),
        ("search.products", "read", "product"),
        ("list_categories", "read", "category"),
        ("check_stock", "read", "stock"),
        ("bulk_update_orders", "update", "bulk_order"),
        ("createURL", "create", "url"),
        ("create", "create", "create"),
    ],
)
def test_a_name_says_what_is_done_to_what(name: str, action: str, entity: str) -> None:
    found = effect_of(handler(name))
    assert (found.action, found.entity) == (action, entity)


@pytest.mark.parametrize("flag", [None, True])
def test_a_name_without_a_verb_creates_what_it_is_called_when_it_counts_as_side_effect(
    flag: bool | None,  # noqa: FBT001 - a parameter of the test
) -> None:
    found = effect_of(handler("escalation.payment", side_effect=flag))
    assert (found.action, found.entity) == (Action.CREATE, "escalation_payment")
    assert effect_of(handler("escalation.payment", side_effect=False)).action is Action.READ


def test_other_scripts_and_names_of_no_letters_have_an_entity_too() -> None:
    assert effect_of(handler("Створити Повернення")).entity == "створити_повернення"
    assert effect_of(handler("…")).entity == "…"


def test_what_a_handler_says_itself_wins() -> None:
    said = HandlerEffect(entity="refund", action=Action.CREATE, key="ticket")
    assert effect_of(handler("get_order", effect=said)) is said


@pytest.mark.parametrize(
    ("args", "key"),
    [
        ({"id": 7, "order_id": 8}, "7"),
        ({"order_id": "A-1", "user_id": "u"}, "A-1"),
        ({"orderId": "A-1", "userId": "u"}, "A-1"),
        ({"ticketId": 5.0}, "5"),
        ({"ticketId": 5, "userId": 6}, None),
        ({"ticketId": 5, "paid": "yes"}, "5"),
        ({"orderid": "x"}, "x"),
        ({"id": True}, None),
        ({"id": None, "amount": 3}, None),
        ({"id": {"nested": 1}}, None),
        ({}, None),
    ],
)
def test_the_key_is_the_argument_that_names_the_record(args: dict[str, object], key: str | None) -> None:
    assert key_of(HandlerEffect(entity="order", action=Action.READ), args) == key


def test_a_stated_key_is_the_only_one_looked_at() -> None:
    effect = HandlerEffect(entity="order", action=Action.READ, key="number")
    assert key_of(effect, {"number": 3, "id": 4}) == "3"
    assert key_of(effect, {"id": 4}) is None


def test_an_entity_of_two_words_has_its_key_in_both_spellings() -> None:
    effect = HandlerEffect(entity="order_item", action=Action.READ)
    assert key_of(effect, {"order_item_id": 1, "orderId": 2}) == "1"
    assert key_of(effect, {"orderItemId": 1, "orderId": 2}) == "1"


@pytest.mark.parametrize(
    ("plural", "one"),
    [
        ("refunds", "refund"),
        ("boxes", "box"),
        ("status", "status"),
        ("address", "address"),
        ("s", "s"),
        ("bus", "bus"),
    ],
)
def test_plurals(plural: str, one: str) -> None:
    assert singular(plural) == one
