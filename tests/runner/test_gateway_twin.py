"""The webhook twin and the stand-in server built on it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_contracts.agents import HandlerSnapshot
from proctor_contracts.effects import Action, HandlerEffect
from proctor_contracts.transcript import ToolCallRecord
from proctor_runner.gateway.standin import Recorded, answer
from proctor_runner.gateway.twin import Deleted, Memory, Patched, Stored, answer_read, answer_write


def effect(action: Action, entity: str = "order") -> HandlerEffect:
    return HandlerEffect(entity=entity, action=action)


CREATE, UPDATE, DELETE = effect(Action.CREATE), effect(Action.UPDATE), effect(Action.DELETE)


def test_what_is_created_is_found_by_its_key_and_as_the_latest() -> None:
    memory = Memory()
    first = answer_write(CREATE, {"id": "a", "city": "Київ"}, memory)
    second = answer_write(CREATE, {"city": "Львів"}, memory)
    assert first.answer == {"dryRun": True, "id": "a", "city": "Київ"}
    assert second.key == "dry-order-1"
    assert second.record == {"id": "dry-order-1", "city": "Львів"}
    assert memory.find("order", "a") == Stored("a", {"id": "a", "city": "Київ"})
    assert memory.find("order", None) == Stored("dry-order-1", {"id": "dry-order-1", "city": "Львів"})
    assert memory.find("order", "b") is None
    assert memory.find("refund", None) is None


def test_records_without_a_key_are_numbered_by_entity() -> None:
    memory = Memory()
    keys = [answer_write(effect(Action.CREATE, entity), {}, memory).key for entity in ("a", "a", "b")]
    assert keys == ["dry-a-1", "dry-a-2", "dry-b-1"]


def test_an_update_is_laid_over_what_was_created() -> None:
    memory = Memory()
    answer_write(CREATE, {"id": "a", "city": "Київ", "qty": 1}, memory)
    updated = answer_write(UPDATE, {"order_id": "a", "qty": 2}, memory)
    assert updated.record == {"id": "a", "city": "Київ", "qty": 2, "order_id": "a"}
    latest = answer_write(UPDATE, {"qty": 3}, memory)
    assert latest.key == "a"
    known = memory.find("order", "a")
    assert isinstance(known, Stored)
    assert answer_read(known)["qty"] == 3


def test_an_update_of_a_record_that_is_elsewhere_is_laid_over_what_is_really_there() -> None:
    memory = Memory()
    answer_write(UPDATE, {"id": "a", "qty": 2}, memory)
    known = memory.find("order", "a")
    assert known == Patched("a", {"id": "a", "qty": 2})
    assert answer_read(known, real={"id": "a", "qty": 1, "city": "Київ"}) == {
        "id": "a",
        "qty": 2,
        "city": "Київ",
        "dryRun": True,
    }
    assert answer_read(known, real="down") == {"id": "a", "qty": 2, "dryRun": True}


def test_what_is_deleted_stays_gone() -> None:
    memory = Memory()
    answer_write(CREATE, {"id": "a"}, memory)
    gone = answer_write(DELETE, {"order_id": "a"}, memory)
    assert gone.record is None
    assert gone.answer == {"dryRun": True, "order_id": "a", "deleted": True}
    assert memory.find("order", "a") == Deleted("a")
    assert answer_read(Deleted("a")) == {"dryRun": True, "found": False, "deleted": True, "id": "a"}


def test_arguments_neither_take_the_mark_away_nor_leave_a_record_without_an_id() -> None:
    memory = Memory()
    made = answer_write(CREATE, {"dryRun": False, "id": None}, memory)
    assert made.answer == {"dryRun": True, "id": "dry-order-1"}
    changed = answer_write(UPDATE, {"dryRun": False, "order_id": "z", "id": None}, memory)
    assert (changed.answer["dryRun"], changed.answer["id"]) == (True, "z")


def test_a_read_is_no_write() -> None:
    with pytest.raises(ValueError, match="writes nothing"):
        answer_write(effect(Action.READ), {}, Memory())


WRITES = st.lists(
    st.tuples(st.sampled_from([CREATE, UPDATE, DELETE]), st.sampled_from("abc"), st.integers(0, 9)),
    max_size=12,
)


@given(writes=WRITES)
def test_a_read_after_any_writes_shows_the_last_of_its_record(
    writes: list[tuple[HandlerEffect, str, int]],
) -> None:
    memory, model = Memory(), dict[str, dict[str, Any] | None]()
    for what, key, value in writes:
        answer_write(what, {"id": key, "n": value}, memory)
        model[key] = None if what is DELETE else {"id": key, "n": value}
    for key, record in model.items():
        known = memory.find("order", key)
        assert known is not None
        if record is None:
            assert isinstance(known, Deleted)
        else:
            assert answer_read(known) == {"dryRun": True, **record}
    if writes:
        latest = memory.find("order", None)
        assert latest is not None
        assert latest.key == writes[-1][1]


def handler(name: str, **more: Any) -> HandlerSnapshot:
    return HandlerSnapshot(id=UUID(int=9), name=name, **more)


NOTHING = Recorded.of(())


def test_a_stand_in_remembers_without_saying_that_it_is_one() -> None:
    memory = Memory()
    made = answer(handler("create_order"), {"city": "Київ"}, memory, NOTHING)
    assert made == {"city": "Київ", "id": "dry-order-1"}
    assert answer(handler("get_order"), {"order_id": "dry-order-1"}, memory, NOTHING)["city"] == "Київ"
    assert answer(handler("delete_order"), {"id": "dry-order-1"}, memory, NOTHING) == {
        "deleted": True,
        "id": "dry-order-1",
    }
    assert answer(handler("get_order"), {"id": "dry-order-1"}, memory, NOTHING)["found"] is False


def test_a_recorded_answer_goes_first_until_its_record_changes() -> None:
    memory = Memory()
    calls = [
        ToolCallRecord(
            name="get_order", args={"id": "a"}, result={"id": "a", "made": True, "dryRun": True}, dry_run=True
        ),
        ToolCallRecord(name="get_order", args={"id": "a"}, result={"id": "a", "city": "Київ", "qty": 1}),
        ToolCallRecord(name="get_order", args={"id": "b"}, error="timeout: no answer"),
        ToolCallRecord(name="get_order", args={"id": "c"}, result={"id": "c", "dryRun": True}, dry_run=True),
    ]
    recorded = Recorded.of(calls)
    read = handler("get_order", body={"id": "x", "city": "Одеса"})
    assert answer(read, {"id": "a"}, memory, recorded) == {"id": "a", "city": "Київ", "qty": 1}
    assert answer(read, {"id": "b"}, memory, recorded) == {"id": "b", "city": "Одеса"}
    assert answer(read, {"id": "c"}, memory, recorded) == {"id": "c"}
    answer(handler("update_order"), {"id": "a", "qty": 5}, memory, recorded)
    assert answer(read, {"id": "a"}, memory, recorded) == {"id": "a", "city": "Київ", "qty": 5}


def test_a_record_made_here_is_found_whatever_was_recorded_of_it_before() -> None:
    memory = Memory()
    missing = ToolCallRecord(name="get_order", args={"id": "a"}, result={"found": False, "error": "no order"})
    recorded = Recorded.of([missing])
    read = handler("get_order")
    assert answer(read, {"id": "a"}, memory, recorded) == {"found": False, "error": "no order"}
    answer(handler("create_order"), {"id": "a", "qty": 2}, memory, recorded)
    assert answer(read, {"id": "a"}, memory, recorded) == {"id": "a", "qty": 2}


def test_without_anything_else_the_schema_makes_an_answer() -> None:
    schema = {
        "type": "object",
        "properties": {
            "sku": {"type": "string", "example": "X-1"},
            "kind": {"enum": ["new", "used"]},
            "qty": {"type": "integer"},
            "to": {"type": "object", "properties": {"city": {"default": "Київ"}}},
            "odd": {},
        },
    }
    assert answer(handler("get_stock", parameters_schema=schema), {"sku": "Y"}, Memory(), NOTHING) == {
        "sku": "Y",
        "kind": "new",
        "qty": 1,
        "to": {"city": "Київ"},
        "odd": None,
    }
