from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_grading.canonical import ABSENT, canonical_json, js_number, value_at
from tests.grading.build import REGEX


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (2.0, "2"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (1e21, "1e+21"),
        (1e20, "100000000000000000000"),
        (123456.789, "123456.789"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (1.5e-10, "1.5e-10"),
        (-2.5, "-2.5"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (5e-324, "5e-324"),
        (math.inf, "null"),
        (math.nan, "null"),
    ],
)
def test_numbers_print_as_in_javascript(number: float, text: str) -> None:
    assert js_number(number) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_printed_number_reads_back_exactly(number: float) -> None:
    assert float(js_number(number)) == number


def test_json_is_compact_and_unescaped_and_keeps_its_order() -> None:
    value = {"b": [1.0, True, None, "їжак"], "a": {"x": 2.50}}
    assert canonical_json(value) == '{"b":[1,true,null,"їжак"],"a":{"x":2.5}}'
    assert canonical_json(value, sort_keys=True) == '{"a":{"x":2.5},"b":[1,true,null,"їжак"]}'


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_canonical_json_is_json_of_the_same_value(value: object) -> None:
    assert json.loads(canonical_json(value), parse_int=float) == value


def test_paths_lead_through_objects_and_lists() -> None:
    value = {"a": {"b": [{"c": 1}, None]}, "x.y": 2, "z": None}
    assert value_at(value, "a.b.0.c") == 1
    assert value_at(value, "x.y") == 2
    assert value_at(value, "z") is None
    for path in ("a.q", "a.b.7", "a.b.c", "z.z", "a.b.-1", "a.b.٣"):
        assert value_at(value, path) is ABSENT


def test_the_engine_prints_as_this_module_does() -> None:
    assert REGEX.search(r"^\{\"n\":2\}$", "", canonical_json({"n": 2.0})).__class__.__name__ == "RegexFound"
