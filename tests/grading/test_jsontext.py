from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_grading.jsontext import JsonText, documents, finite, parse


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": "шаблон {ім\'я} збережено; } не зайва"} Сподіваюсь, це допомогло!', 1),
        ('проза {not json} далі {"a": 1}', 1),
        ('{"a": 1,}', 1),
        ('{"a": [1, 2,], }', 1),
        ('{"a": "кома,}"}', 1),
        ('незакрита { дужка, потім {"a": 1}', 1),
        ('{"a": 1} і {"b": {"c": 2}}', 2),
        ('{"a": NaN}', 0),
        ('{"a": 1e999}', 0),
        ('{"a": 1, "a": 2}', 0),
        ('{"a": "обрізан', 0),
        ("[]", 0),
        ('"passed"', 0),
        ("", 0),
        ("{" * 5000, 0),
        ("[" * 200_000, 0),
    ],
)
def test_whole_objects_are_found_in_prose(text: str, found: int) -> None:
    assert len(documents(text)) == found


def test_deep_nesting_is_not_json() -> None:
    deep = '{"a":' * 50_000 + "1" + "}" * 50_000
    assert documents(deep) == []
    with pytest.raises(JsonText, match="deep"):
        parse(deep)


@pytest.mark.parametrize("depth", [400, 600, 900])
def test_nesting_that_the_parser_still_reads_is_no_crash(depth: int) -> None:
    deep = '{"a":' * depth + "1" + "}" * depth
    assert parse(deep) is not None
    assert len(documents(deep)) == 1
    with pytest.raises(JsonText, match="too large"):
        parse("[" * depth + "1e999" + "]" * depth)


def test_commas_inside_strings_stay() -> None:
    assert documents('{"a": "x,}",}') == [{"a": "x,}"}]


def test_arrays_are_found_when_asked_for() -> None:
    assert documents('Ось [1, 2] та {"a": [3]}', "{[") == [[1, 2], {"a": [3]}]


@given(
    st.lists(st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.text())), max_size=4),
    st.text(alphabet=st.characters(exclude_characters="{}")),
)
def test_written_objects_come_back(values: list[dict[str, object]], prose: str) -> None:
    text = prose + prose.join(json.dumps(value, ensure_ascii=False) + " " for value in values)
    assert documents(text) == values


@pytest.mark.parametrize(
    ("value", "expected"),
    [([1.5, {"a": None}], True), ([float("nan")], False), ({"a": [float("inf")]}, False)],
)
def test_finite_looks_everywhere(value: object, *, expected: bool) -> None:
    assert finite(value) is expected
