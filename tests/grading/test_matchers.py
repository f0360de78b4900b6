from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest
from pydantic import ValidationError

from proctor_contracts.matchers import read_matcher
from proctor_contracts.tool_assertions import ArgsMatch
from proctor_grading.canonical import ABSENT, same_json
from proctor_grading.matching import Undecided, all_of, any_of, described, meets, mismatches, settled
from tests.grading.build import REGEX, assertion


def fits(matcher: Any, value: Any) -> bool:
    answer = meets(read_matcher(matcher), value, REGEX)
    assert isinstance(answer, bool)
    return answer


@pytest.mark.parametrize(
    ("matcher", "yes", "no"),
    [
        (1, [1, 1.0], [True, "1", None, ABSENT, 2]),
        (True, [True], [1, "true", ABSENT]),
        ("їжак", ["їжак", "i\u0308жак".replace("i", "і")], ["Їжак", ABSENT, 1]),
        (None, [None], [ABSENT, 0, ""]),
        ({"eq": {"type": "x"}}, [{"type": "x"}], [{"type": "x", "a": 1}, "x"]),
        ({"eq": [1, {"a": 2.0}]}, [[1.0, {"a": 2}]], [[1], [True, {"a": 2}]]),
        ({"in": ["a", 2]}, ["a", 2.0], ["b", True, ABSENT]),
        ({"regex": "^2$"}, ["2", 2, 2.0], [22, None, ABSENT]),
        ({"regex": ".*"}, ["", False, {}], [None, ABSENT]),
        ({"regex": "^true$"}, [True, "true"], [1, "True"]),
        ({"regex": "REFUND", "flags": "i"}, ["a refund"], ["return"]),
        ({"gte": 2}, [2, 2.5, 10**20], [1.99, "2", True, None, ABSENT]),
        ({"gte": 1, "lte": 2}, [1, 2.0], [0.99, 2.01]),
        ({"lte": -1.5}, [-2], [-1]),
        ({"type": "integer"}, [1, 2.0], [1.5, True, "1"]),
        ({"type": "number"}, [1, 1.5], [False, "1"]),
        ({"type": "string"}, [""], [1, None, ABSENT]),
        ({"type": "boolean"}, [True], [1]),
        ({"type": "null"}, [None], [ABSENT, 0]),
        ({"type": "object"}, [{}], [[]]),
        ({"type": "array"}, [[]], [{}]),
        ({"any": True}, [0, "", False, []], [None, ABSENT]),
        ({"absent": True}, [None, ABSENT], [0, ""]),
        ({"city": "Львів"}, [{"city": "Львів", "street": "x"}], [{}, "Львів", ABSENT]),
        ({"type": "post", "city": {"regex": "^Л"}}, [{"type": "post", "city": "Львів"}], [{"type": "x"}]),
        ([1, {"any": True}], [[1, "x"]], [[1], [1, None], [1, 2, 3], "1"]),
        ({}, [{}, {"a": 1}], [[], ABSENT]),
    ],
)  # fmt: skip
def test_a_matcher_tells_values_apart(matcher: Any, yes: list[Any], no: list[Any]) -> None:
    assert [fits(matcher, value) for value in yes] == [True] * len(yes)
    assert [fits(matcher, value) for value in no] == [False] * len(no)
    assert described(read_matcher(matcher))


DEEP: Any = 1
for _ in range(40):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("matcher", "says"),
    [
        ({"regex": "x", "flag": "i"}, "mixes regex with flag"),
        ({"regex": "x", "gte": 1}, "holds gte and regex"),
        ({"eq": 1, "in": [1]}, "only one of"),
        ({"flags": "i"}, "flags belong to a regex"),
        ({"regex": ""}, "regex should be"),
        ({"regex": 5}, "regex should be"),
        ({"regex": "x", "flags": "i" * 9}, "flags should be"),
        ({"in": []}, "at least one value"),
        ({"in": "a"}, "should be a list"),
        ({"gte": 3, "lte": 1}, "gte (3) is above lte (1)"),
        ({"gte": "1"}, "gte should be a number"),
        ({"lte": True}, "lte should be a number"),
        ({"gte": float("inf")}, "gte should be a number"),
        ({"type": "courier"}, "{eq: {type: ...}}"),
        ({"type": ["string"]}, "type should be one of"),
        ({"any": False}, "any can only be true"),
        ({"absent": 1}, "absent can only be true"),
        (float("nan"), "not a JSON value"),
        ({"eq": [dt.date(2026, 1, 1)]}, "not a JSON value"),
        ({"eq": {1: 2}}, "not a text"),
        ("\x00", "NUL"),
        ({"a": {"b": "\ud800"}}, "surrogate"),
        ({"eq": DEEP}, "levels deep"),
        (DEEP, "levels deep"),
    ],
)
def test_a_matcher_that_cannot_be_meant_is_refused_where_it_stands(matcher: Any, says: str) -> None:
    with pytest.raises(ValidationError) as refused:
        assertion("tool_args", toolName="t", args={"a.b": matcher})
    (error,) = refused.value.errors()
    assert error["loc"] == ("tool_args", "args", "a.b")
    assert says in error["msg"]


def test_matchers_survive_storing_word_for_word() -> None:
    args = {
        "a": {"regex": "x", "flags": "i"},
        "b.c": {"eq": {"in": 1}},
        "d": [1, None, {"gte": 0.5}],
        "e": 2.0,
    }
    given = assertion("tool_args", toolName="t", args=args)
    stored = json.loads(given.model_dump_json(by_alias=True))
    assert stored["args"] == args
    assert assertion(**stored) == given


ARGS = {"id": 7, "client": {"name": "Оля", "phones": ["050", "067"]}}


@pytest.mark.parametrize(
    ("wanted", "exact", "contains", "within"),
    [
        ({"id": 7, "client.name": "Оля", "client.phones": ["050", "067"]}, True, True, True),
        ({"id": 7, "client": {"name": "Оля", "phones": ["050", "067"]}}, True, True, True),
        ({"id": 7, "client": {"any": True}}, True, True, True),
        ({"id": 7}, False, True, False),
        ({"client": {"name": "Оля"}}, False, True, False),
        ({"id": 7, "client": {"name": "Оля"}}, False, True, False),
        ({"id": 7, "client": {"any": True}, "note": "x"}, False, False, True),
        ({"id": 7, "client": {"name": "Оля", "phones": ["050", "067"], "vip": True}}, False, False, True),
        ({"id": 7, "client.name": "Оля", "client.phones.0": "050"}, False, True, False),
        (
            {"id": 7, "client.name": "Оля", "client.phones.0": "050", "client.phones.1": "067"},
            True,
            True,
            True,
        ),
        ({"id": 7, "client": {"any": True}, "note": {"absent": True}}, True, True, True),
        ({"id": 8, "client": {"any": True}}, False, False, False),
        ({}, False, True, False),
    ],
)
def test_arguments_are_the_same_at_least_or_at_most(
    wanted: dict[str, Any], *, exact: bool, contains: bool, within: bool
) -> None:
    read = {path: read_matcher(matcher) for path, matcher in wanted.items()}
    assert {mode: settled(mismatches(read, ARGS, match=mode, regex=REGEX)) for mode in ArgsMatch} == {
        ArgsMatch.EXACT: exact,
        ArgsMatch.CONTAINS: contains,
        ArgsMatch.WITHIN: within,
    }


def test_a_key_that_holds_dots_is_one_step() -> None:
    read = {"a.b": read_matcher(1)}
    assert settled(mismatches(read, {"a.b": 1}, match=ArgsMatch.EXACT, regex=REGEX)) is True


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"n": True}, {"n": 1}, False),
        (False, 0, False),
        (1, 1.0, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ([1, 2], [2, 1], False),
        (None, False, False),
        (2**60, float(2**60), True),
        (2**60 + 1, float(2**60), False),
    ],
)
def test_json_values_are_compared_by_type_and_number(one: Any, other: Any, *, same: bool) -> None:
    assert same_json(one, other) is same
    assert same_json(other, one) is same


def test_what_is_undecided_gives_way_to_what_settles_the_matter() -> None:
    open_ = Undecided("regex_timeout", "slow")
    assert any_of([False, open_, True]) is True
    assert any_of([False, open_]) is open_
    assert any_of([]) is False
    assert all_of([True, open_, False]) is False
    assert all_of([True, open_]) is open_
    assert all_of([]) is True
