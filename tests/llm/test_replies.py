from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_contracts.transcript import ToolCallRecord
from proctor_llm.replies import MAX_DEPTH, clean, clean_text, count, excerpt, loads, object_or_none


def test_nul_and_lone_surrogates_become_the_replacement_character() -> None:
    assert loads(b'{"a": "ok\\u0000", "\\u0000": 1}') == {"a": "ok\ufffd", "\ufffd": 1}
    assert loads(b'["x\\ud800y"]') == ["x\ufffdy"]
    assert loads(b'["\\ud83d\\ude00"]') == ["😀"]
    assert clean_text("a\x00\udfffb") == "a\ufffd\ufffdb"


def test_the_six_literal_characters_survive() -> None:
    assert loads(b'["\\\\u0000"]') == ["\\u0000"]


def test_numbers_that_are_not_finite_become_null() -> None:
    assert loads(b'{"price": NaN, "a": [Infinity, -Infinity, 1e999], "b": 1.5}') == {
        "price": None,
        "a": [None, None, None],
        "b": 1.5,
    }


def test_integers_beyond_64_bits_can_still_be_stored() -> None:
    for raw in (
        b"[123456789012345678901234567890]",
        b"[NaN, " + b"9" * 30 + b"]",
        b"[NaN, " + b"9" * 5000 + b"]",
    ):
        orjson.dumps(loads(raw))


@pytest.mark.parametrize("raw", [b"", b"<html>", b"{", b"[" * 20_000, b'{"a": 1} trailing', b"\xff\xfe"])
def test_what_is_not_json_is_a_value_error(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        loads(raw)


def test_strictly_read_a_number_that_is_no_json_is_refused_instead_of_becoming_null() -> None:
    for raw in (b'{"price": NaN}', b"[Infinity]", b"[-Infinity]"):
        with pytest.raises(ValueError, match=r"N|Infinity"):
            loads(raw, strict=True)
    assert loads(b'["x\\ud800y", 123456789012345678901234567890]', strict=True)[0] == "x\ufffdy"


def test_what_is_nested_deeper_than_messages_can_carry_is_refused() -> None:
    for opening, closing in ((b"[", b"]"), (b'{"a":', b"}")):
        middle = b"1"
        fits = loads(opening * MAX_DEPTH + middle + closing * MAX_DEPTH)
        ToolCallRecord.model_validate_json(ToolCallRecord(name="t", result=fits).model_dump_json())
        with pytest.raises(ValueError, match="deeper than"):
            loads(opening * (MAX_DEPTH + 1) + middle + closing * (MAX_DEPTH + 1))
    assert len(loads(b"[" + b",".join([b"[]"] * 500) + b"]")) == 500
    assert object_or_none('{"a":' * 200 + "1" + "}" * 200) is None


@pytest.mark.parametrize("more", ["", ", NaN"])
def test_what_is_nested_too_deep_to_be_written_again_is_not_read(more: str) -> None:
    for depth in (MAX_DEPTH + 1, 200, 900, 3_000):
        with pytest.raises(ValueError, match="nested"):
            loads(b"[" * depth + b"1" + more.encode() + b"]" * depth)
        assert object_or_none('{"a": ' + "[" * depth + "]" * depth + "}") is None
    assert loads(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    brackets = "[{" * 500
    assert loads(f'{{"answer": "{brackets}", "flat": [{"[]," * 200}[]]}}'.encode())["answer"] == brackets


@pytest.mark.parametrize(
    ("value", "read"),
    [(0, 0), (7, 7), (7.0, 7), (10**9, 10**9), (10**9 + 1, None), (2**63, None), (1e300, None), (-1, None),
     (True, None), ("7", None), (None, None), ([], None)],
)  # fmt: skip
def test_what_cannot_be_a_number_of_tokens_is_not_read_as_one(value: Any, read: int | None) -> None:
    assert count(value) == read


def test_arguments_are_an_object_or_nothing() -> None:
    assert object_or_none('{"a": 1}') == {"a": 1}
    assert object_or_none("") == {}
    for raw in ('{"a": ', "[]", '"x"', "null", "1"):
        assert object_or_none(raw) is None


def test_an_excerpt_is_one_short_clean_line() -> None:
    assert excerpt(b"<html>\n  <b>\x00</b>") == repr("<html> <b>\ufffd</b>")
    assert len(excerpt("й" * 5_000)) < 250
    assert len(excerpt(b"x" * 5_000)) < 250


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(alphabet=st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(json_values)
def test_whatever_a_peer_sends_can_be_stored(value: Any) -> None:
    for found in (loads(json.dumps(value).encode()), clean(value)):
        text = json.dumps(found, allow_nan=False, ensure_ascii=False)
        text.encode()
        assert "\\u0000" not in json.dumps(found).replace("\\\\", "")
