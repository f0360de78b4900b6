from __future__ import annotations

from pathlib import Path

import pytest

from proctor_api.settings import categories_from_env
from proctor_chassis.settings import SettingsError

NAME = "PROCTOR_CASE_CATEGORIES"
TABLE = 'categories: [{names: [Доставка], assertions: [{kind: contains, value: "{{name}}"}]}]\n'


def test_an_installation_may_have_a_table_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "categories.yaml"
    path.write_text(TABLE, encoding="utf-8")
    table = categories_from_env({NAME: str(path)})
    assert table is not None
    made = table.assertions(category="доставка", name="2 дні", description="", language="uk")
    assert made == ({"kind": "contains", "value": "2 дні"},)
    assert categories_from_env({}) is None


@pytest.mark.parametrize("text", [None, "[]", "categories: [{names: [x], assertions: [{kind: nonsense}]}]"])
def test_a_table_that_cannot_be_used_stops_the_start_by_its_name(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "categories.yaml"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=NAME):
        categories_from_env({NAME: str(path)})
