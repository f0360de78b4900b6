"""Bodies are read strictly, and hostile ones in bounded time."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_api.errors import ApiError
from proctor_api.jsonbody import MAX_DEPTH, read_json

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=20,
)


def refusal(body: bytes) -> ApiError:
    with pytest.raises(ApiError) as caught:
        read_json(body)
    assert caught.value.status == 400
    return caught.value


@given(JSON)
def test_storable_json_comes_through_unchanged(value: Any) -> None:
    assert read_json(json.dumps(value).encode()) == value
    assert read_json(json.dumps(value, ensure_ascii=False).encode()) == value


@given(st.binary(max_size=200) | st.text(alphabet='{}[]",:\\u0d8 1eE+.-nta', max_size=200).map(str.encode))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    refused = None
    try:
        read_json(body)
    except ApiError as error:
        refused = error
    assert refused is None or refused.status == 400


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 20_000,
        b"[" * 20_000 + b"]" * 20_000,
        b'{"a":' * 65 + b"1" + b"}" * 65,
        b'["\\"' + b"[" * 100 + b'", ' + b"[" * 65,
        b'"' + b'\\"' * 900_000,
        b'["' * 900_000,
    ],
)
def test_deep_or_endless_nesting_is_refused_in_linear_time(body: bytes) -> None:
    refusal(body)


def test_the_deepest_allowed_body_is_read_and_brackets_in_strings_are_no_depth() -> None:
    assert read_json(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH) is not None
    assert refusal(b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1)).code == "json_too_deep"
    assert read_json(json.dumps(["[" * 500, '\\"{' * 500]).encode()) == ["[" * 500, '\\"{' * 500]


def test_a_repeated_key_is_refused_by_its_name() -> None:
    error = refusal(b'{"threshold": 1, "a": {"b": 2}, "threshold": 2}')
    assert (error.code, error.errors[0].path) == ("repeated_key", "threshold")
    assert refusal(b'{"a": [{"x": 1, "x": 1}]}').errors[0].path == "x"
    assert read_json(b'[{"x": 1}, {"x": 1}]') == [{"x": 1}, {"x": 1}]


@pytest.mark.parametrize("body", [b'{"a": NaN}', b"[Infinity]", b"[-Infinity]", b"{'a': 1}", b"", b"[1,]"])
def test_what_is_not_json_is_refused(body: bytes) -> None:
    assert refusal(body).code == "invalid_json"


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b'{"name": "a\\u0000b"}', "name"),
        (b'{"tags": ["ok", "a\\uD800"]}', "tags.1"),
        (b'{"body": {"deep": [{"x": "\\udc00"}]}}', "body.deep.0.x"),
        (b'{"body": {"n": 1e999}}', "body.n"),
        (b'{"body": {"n": 9223372036854775808}}', "body.n"),
    ],
)
def test_what_cannot_be_stored_is_refused_naming_the_field(body: bytes, path: str) -> None:
    error = refusal(body)
    assert [one.path for one in error.errors] == [path]


def test_a_key_that_cannot_be_stored_is_refused_too() -> None:
    assert "NUL" in refusal(b'{"body": {"a\\u0000": 1}}').errors[0].message


def test_six_literal_characters_and_whole_pairs_are_text() -> None:
    assert read_json(b'{"a": "\\\\u0000", "b": "\\ud83d\\ude00"}') == {"a": "\\u0000", "b": "\U0001f600"}


def test_other_encodings_are_refused_and_a_byte_order_mark_is_not() -> None:
    assert refusal('{"a": "ї"}'.encode("cp1251")).code == "invalid_encoding"
    assert refusal('{"a": 1}'.encode("utf-16")).status == 400
    assert read_json(b"\xef\xbb\xbf{}") == {}


def test_a_number_of_ten_thousand_digits_is_refused() -> None:
    assert refusal(b"[" + b"9" * 10_000 + b"]").status == 400
