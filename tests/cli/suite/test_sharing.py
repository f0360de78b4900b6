from __future__ import annotations

from proctor_cli.suite.sharing import SharedNames
from proctor_contracts.assertions import Contains


def test_models_given_the_same_fields_share_one_set_of_names() -> None:
    names = SharedNames()
    first, second = Contains(value="a"), Contains(value="b")
    other = Contains(value="a", weight=2)
    for one in (first, second, other):
        names.share(one)
    assert first.__pydantic_fields_set__ is second.__pydantic_fields_set__
    assert other.model_dump(exclude_unset=True) == {"value": "a", "weight": 2}


def test_a_copy_with_another_field_leaves_the_others_as_they_were() -> None:
    names = SharedNames()
    first, second = Contains(value="a"), Contains(value="b")
    for one in (first, second):
        names.share(one)
    assert first.model_copy(update={"weight": 3}).model_fields_set == {"value", "weight"}
    assert first.model_fields_set == second.model_fields_set == {"value"}
