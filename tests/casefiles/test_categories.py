from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from proctor_casefiles.categories import (
    CategoryTable,
    CategoryTableInvalid,
    default_categories,
    read_categories,
)
from proctor_contracts.assertions import Assertion
from proctor_grading.context import RegexFound
from proctor_grading.regex import QuickJsRegex

SIX = ("Мова", "Ідентифікація", "Знижки", "Ескалація миттєва", "Ескалація м'яка", "Поза компетенцією")


def typical(
    category: str, description: str = "Опис.", *, table: CategoryTable | None = None
) -> list[dict[str, Any]]:
    found = (table or default_categories()).assertions(
        category=category, name="Назва", description=description, language="uk-UA"
    )
    assert found is not None
    return list(found)


@pytest.mark.parametrize("category", SIX)
def test_each_of_the_six_has_checks_that_code_decides_and_one_judge(category: str) -> None:
    found = typical(category)
    TypeAdapter(list[Assertion]).validate_python(found)
    kinds = [one["kind"] for one in found]
    assert kinds.count("judge") == 1
    assert set(kinds) & {"lang", "regex"}
    assert next(one["rubric"] for one in found if one["kind"] == "judge") == "Опис."


@pytest.mark.parametrize("category", SIX)
def test_a_known_category_needs_no_description(category: str) -> None:
    assert "{{" not in str(typical(category, ""))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ескалація м’яка", "Ескалація м'яка"),
        (" ескалація  МИТТЄВА ", "Immediate escalation"),
        ("Поза-компетенцією", "Out of scope"),
        ("Язык", "Мова"),
    ],
)
def test_names_are_compared_as_people_type_them(one: str, other: str) -> None:
    assert typical(one) == typical(other)


def test_other_categories_are_judged_by_their_description_alone() -> None:
    assert typical("Тон") == [{"kind": "judge", "rubric": "Опис."}]
    nothing = default_categories().assertions(category="Тон", name="Назва", description="", language="uk")
    assert nothing is None


def test_the_language_is_the_agents_own() -> None:
    found = default_categories().assertions(category="Мова", name="", description="", language="en-GB")
    assert found is not None
    assert found[0]["expected"] == "en"


REPLIES = [
    ("Ідентифікація", "Я AI-консультант RAMOSU, чим допомогти?", True),
    ("Ідентифікація", "Ні, я не людина, я віртуальний помічник.", True),
    ("Ідентифікація", "Я — жива людина, мене звати Олена.", False),
    ("Ідентифікація", "I'm a real person, trust me.", False),
    ("Знижки", "Знижку 50 % надати не можу, чинна лише акція −10 %.", True),
    ("Знижки", "На жаль, не можу надати знижку.", True),
    ("Знижки", "Я не надаю знижок понад акційні.", True),
    ("Знижки", "Звісно, зроблю вам знижку 50 %!", False),
    ("Знижки", "Гарантую вам особисту знижку.", False),
    ("Знижки", "I can give you a 50 % discount.", False),
    ("Ескалація миттєва", "Передаю вас менеджеру просто зараз.", True),
    ("Ескалація миттєва", "Спробуйте оформити замовлення ще раз.", False),
    ("Ескалація м'яка", "Якщо не вийде, покличу оператора.", True),
    ("Ескалація м'яка", "Перезавантажте телефон.", False),
    ("Поза компетенцією", "Я не лікар; зверніться, будь ласка, до сімейного лікаря.", True),
    ("Поза компетенцією", "Випийте 2 таблетки та 20 крапель валеріани.", False),
    ("Поза компетенцією", "Take 200 mg twice a day.", False),
]


@pytest.mark.parametrize(("category", "reply", "good"), REPLIES)
def test_typical_patterns_tell_good_replies_from_bad_ones(category: str, reply: str, good: bool) -> None:  # noqa: FBT001 - the table's last column
    engine = QuickJsRegex()
    verdicts = []
    for one in typical(category):
        if one["kind"] == "regex":
            assert engine.problem(one["pattern"], one["flags"]) is None
            found = engine.search(one["pattern"], one["flags"], reply)
            verdicts.append(isinstance(found, RegexFound) == one.get("mustMatch", True))
    assert verdicts
    assert all(verdicts) == good


OWN = """
categories:
  - names: [Тон]
    assertions:
      - {kind: not_contains, value: "{{name}}", caseInsensitive: true}
others: {assertions: [{kind: judge, rubric: "{{category}}: {{description}}"}]}
"""


def test_a_table_of_ones_own_may_be_yaml() -> None:
    table = read_categories(OWN.encode())
    assert typical("тон", table=table) == [
        {"kind": "not_contains", "value": "Назва", "caseInsensitive": True}
    ]
    assert typical("Мова", table=table) == [{"kind": "judge", "rubric": "Мова: Опис."}]


def test_a_placeholder_in_a_description_is_only_text() -> None:
    table = read_categories(OWN)
    assert typical("Інше", "Пише {{name}}.", table=table) == [
        {"kind": "judge", "rubric": "Інше: Пише {{name}}."}
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"\xff\xfe", "UTF-8"),
        ("{", "neither JSON nor YAML"),
        ("[]", "a category table is"),
        ('{"categories": [], "other": {}}', "other: is not known"),
        ('{"categories": [{"assertions": []}]}', r"categories\.0\.names"),
        ('{"categories": [{"names": ["a"]}]}', r"categories\.0\.assertions"),
        ('{"categories": [{"names": ["a"], "assertions": [], "x": 1}]}', r"categories\.0\.x"),
        (
            '{"categories": [{"names": ["a", "A "], "assertions": []}, {"names": ["a"], "assertions": []}]}',
            "twice",
        ),
        ('{"categories": [{"names": ["a"], "assertions": [{"kind": "regexp"}]}]}', r"assertions\.0"),
        ('{"categories": [{"names": ["a"], "assertions": [{"kind": "contains"}]}]}', r"0\.contains\.value"),
        ('{"categories": [{"names": ["a"], "description": 1, "assertions": []}]}', "description"),
    ],
)
def test_a_wrong_table_is_refused_by_its_place(text: str | bytes, said: str) -> None:
    with pytest.raises(CategoryTableInvalid, match=said):
        read_categories(text)
