from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openpyxl import load_workbook

from proctor_casefiles.categories import default_categories
from proctor_casefiles.xlsx.reading import read_cases
from proctor_casefiles.xlsx.writing import LANGUAGES, write_cases
from proctor_contracts.base import unstorable
from proctor_contracts.cases import CaseFields


def case(**more: Any) -> CaseFields:
    return CaseFields.model_validate(
        {
            "ref": "RM-1",
            "name": "Вітання",
            "category": "Мова",
            "input": {"kind": "scripted_single", "message": "Привіт"},
            "assertions": [{"kind": "contains", "value": "Вітаю"}],
        }
        | more
    )


def read_back(*cases: CaseFields, language: str = "uk") -> list[CaseFields]:
    reading = read_cases(write_cases(cases, language=language), table=default_categories())
    assert [problem for draft in reading.drafts for problem in draft.problems] == []
    assert reading.warnings == ()
    return [CaseFields.model_validate(draft.fields) for draft in reading.drafts]


TEXT = st.text(max_size=40).filter(lambda text: unstorable(text) is None)
SAID = TEXT.filter(bool)
NAME = TEXT.filter(lambda text: bool(text.strip()))
ASSERTION = st.one_of(
    st.fixed_dictionaries(
        {"kind": st.just("contains"), "value": SAID}, optional={"weight": st.integers(1, 9)}
    ),
    st.fixed_dictionaries(
        {"kind": st.just("outcome"), "field": SAID, "equals": st.none() | SAID | st.booleans()}
    ),
    st.fixed_dictionaries({"kind": st.just("regex"), "pattern": SAID, "mustMatch": st.booleans()}),
    st.fixed_dictionaries({"kind": st.just("tool_call"), "toolName": SAID}, optional={"argsRegex": SAID}),
)
CASE = st.fixed_dictionaries(
    {
        "name": NAME,
        "category": NAME,
        "input": st.one_of(
            st.fixed_dictionaries({"kind": st.just("scripted_single"), "message": SAID}),
            st.builds(
                lambda texts: {"kind": "scripted_multi", "messages": [{"content": text} for text in texts]},
                st.lists(SAID, min_size=1, max_size=3),
            ),
        ),
        "assertions": st.lists(ASSERTION, min_size=1, max_size=3),
    },
    optional={
        "ref": NAME,
        "priority": st.sampled_from(["high", "medium", "low"]),
        "rubric": st.none() | SAID,
        "weight": st.integers(1, 10_000),
        "threshold": st.none() | st.integers(0, 100),
        "tags": st.lists(NAME, max_size=4),
        "isActive": st.booleans(),
        "critical": st.booleans(),
        "retryPolicy": st.none() | st.sampled_from(["any", "none", "all"]),
        "budget": st.none() | st.just({"maxCostCents": 0.5, "maxToolCalls": 0}),
        "reference": st.none() | st.builds(lambda text: {"messages": [{"content": text}]}, SAID),
    },
)


@pytest.mark.parametrize(
    "text", ["a  b", "a\u00a0b", "a\u200bb", "\u200b a\nb_x0041_", "a\u200db", "_x0041_ \t b"]
)
def test_ids_and_categories_come_back_with_what_nobody_sees(text: str) -> None:
    (back,) = read_back(case(ref=text, category=text, name=text))
    assert (back.ref, back.category, back.name) == (text, text, text)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(values=CASE, language=st.sampled_from(LANGUAGES))
def test_whatever_a_case_holds_comes_back_the_same(values: dict[str, Any], language: str) -> None:
    written = CaseFields.model_validate(values)
    assert read_back(written, language=language) == [written]


HARD = (
    '=HYPERLINK("http://x","y")', "+380441234567", "-1", "@всі", "\t=1+1", "\u200b=1+1", " =1", "＝1+1",
    "#REF!", "#N/A", "TRUE", "007", "1e5", "2026-05-13", "'=1", "рядок\r\nрядок", "\x07дзвінок", "_x000D_",
    "_x005F_x0041_", "x005F_", "кома; крапка\nз комою", "  ", "\u00a0", "🙂" * 50, "\ufffe", "]]><&\"'",
    "e\u0301", "None",
)  # fmt: skip


@pytest.mark.parametrize("text", HARD)
def test_texts_that_spreadsheets_change_or_run_come_back_the_same(text: str) -> None:
    written = case(
        rubric=text,
        input={"kind": "scripted_single", "message": text},
        **({} if not text.strip() else {"name": text, "category": text, "ref": text, "tags": [text]}),
    )
    assert read_back(written) == [written]


@pytest.mark.parametrize("text", HARD)
def test_nothing_is_written_as_a_formula(text: str) -> None:
    cells = {"name": text, "ref": text} if text.strip() else {}
    data = write_cases([case(rubric=text, input={"kind": "scripted_single", "message": text}, **cells)])
    sheet = load_workbook(io.BytesIO(data)).worksheets[0]
    kinds = {cell.data_type for row in sheet.iter_rows() for cell in row if cell.value is not None}
    assert kinds <= {"s", "inlineStr", "n"}
    risky = [
        cell
        for row in sheet.iter_rows(min_row=2)
        for cell in row
        if str(cell.value).lstrip()[:1] in {"=", "+", "@"}
    ]
    assert all(cell.quotePrefix for cell in risky)


def test_what_is_longer_than_a_cell_goes_on_in_further_columns() -> None:
    long = "слово _x0041_ 🙂 " * 9_000
    written = case(
        rubric="Опис _x0041_🙂"[:12] * 1_600,
        input={"kind": "scripted_single", "message": long[:100_000]},
        assertions=[{"kind": "judge", "rubric": f"{index} {' ' * 4_900}."} for index in range(30)],
        tags=[f"мітка {index} " * 6 for index in range(100)],
    )
    short = case(ref="RM-2")
    data = write_cases([written, short])
    assert read_back(written, short) == [written, short]
    sheet = load_workbook(io.BytesIO(data)).worksheets[0]
    titles = [cell.value for cell in sheet[1]]
    assert "Перевірки (JSON) 2" in titles
    assert max(len(str(cell.value)) for row in sheet.iter_rows() for cell in row) <= 32_767


def test_a_sheet_without_cases_has_headers_and_reads_as_none() -> None:
    assert read_back() == []


def test_headers_and_words_are_in_the_language_asked_for() -> None:
    shown = {}
    for language in LANGUAGES:
        sheet = load_workbook(io.BytesIO(write_cases([case(priority="high")], language=language))).worksheets[
            0
        ]
        shown[language] = (sheet.title, sheet["B1"].value, sheet["E2"].value, sheet["J2"].value)
    assert shown == {
        "uk": ("Кейси", "Категорія", "Високий", "так"),
        "en": ("Cases", "Category", "High", "yes"),
        "ru": ("Кейсы", "Категория", "Высокий", "да"),
    }


def test_a_plain_dialogue_is_read_where_people_write_it_and_exactly_where_it_is_not_plain() -> None:
    multi = case(
        input={
            "kind": "scripted_multi",
            "messages": [
                {"role": "user", "content": "Привіт"},
                {"role": "assistant", "content": "Так?"},
                {"content": "Ціна?"},
            ],
        }
    )
    assert read_back(multi) == [multi]
