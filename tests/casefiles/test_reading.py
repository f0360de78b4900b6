from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from proctor_casefiles.categories import default_categories
from proctor_casefiles.drafts import CaseDraft, FileRefused, Reading
from proctor_casefiles.xlsx.limits import Limits
from proctor_casefiles.xlsx.reading import read_cases
from tests.casefiles.workbooks import HEADER, cell, row, rows, sheet_xml, workbook
from tests.support.repository import ROOT

SHARED = ROOT.parent / "shared/fixtures/xlsx"
GOOD = ("RM-1", "Мова", "Вітається", "Вітається українською.", "Високий", "Привіт")


def read(data: bytes, **more: Any) -> Reading:
    return read_cases(data, table=default_categories(), **more)


def drafts(*values: Sequence[object], **more: Any) -> Sequence[CaseDraft]:
    return read(workbook(rows(*values)), **more).drafts


def cells(draft: CaseDraft) -> list[str | None]:
    return [problem.cell for problem in draft.problems]


def counts(reading: Reading) -> tuple[int, int]:
    bad = sum(bool(draft.problems) for draft in reading.drafts)
    return len(reading.drafts) - bad, bad


@pytest.mark.parametrize(
    "header",
    [
        HEADER,
        ("Ref", "Category", "Name", "Description", "Priority", "Message"),
        ("Код", "Категория", "Название", "Описание", "Приоритет", "Сообщение"),
        ("№", "КАТЕГОРІЯ", " назва\u00a0", "Опис*", "Пріоритет:\n", "\u200bПовідомлення"),
        ("ID кейсу", "Розділ", "Тест-кейс", "Очікуваний результат", "Важливість", "Запит користувача"),
        ("ID", "Категорiя", "Назва", "Опиc", "Прiоритет", "Повідомлення"),
        ("case_id", "Module", "Test case name", "Description", "Severity", "User query"),
        ("Test_case_ID", "Section", "Title", "Expected  result", "priority", "USER MESSAGE"),
    ],
)
def test_headers_are_known_in_three_languages_however_they_are_typed(header: Sequence[str]) -> None:
    (draft,) = drafts(header, GOOD)
    assert draft.problems == ()
    assert draft.fields == {
        "ref": "RM-1",
        "category": "Мова",
        "name": "Вітається",
        "rubric": "Вітається українською.",
        "priority": "high",
        "input": {"kind": "scripted_single", "message": "Привіт"},
    }


def test_the_header_may_stand_below_a_title() -> None:
    found = drafts(("Кейси бота, версія 3",), (), HEADER, GOOD)
    assert [draft.place for draft in found] == ["A4"]


def test_a_missing_column_is_named_with_what_it_may_be_called() -> None:
    with pytest.raises(FileRefused, match=r"«Категорія» \(Category.*«Повідомлення» \(Message") as caught:
        drafts(("ID", "Назва", "Опис"), ("1", "a", "b"))
    assert caught.value.code == "missing_columns"


def test_two_columns_of_one_meaning_are_refused_by_their_cells() -> None:
    with pytest.raises(FileRefused, match="B1 and D1 are both the column «Категорія»"):
        drafts(("ID", "Категорія", "Назва", "Category", "Повідомлення"), ("1", "a", "b", "c", "d"))


def test_of_two_columns_the_one_with_the_proper_name_counts() -> None:
    header = ("№", "ID", "Розділ", "Категорія", "Назва", "Питання", "Повідомлення 2", "№ з/п")
    reading = read(workbook(rows(header, (1, "RM-1", "x", "Мова", "Назва", "Привіт", "Ще", 5))))
    (draft,) = reading.drafts
    assert (draft.fields["ref"], draft.fields["category"]) == ("RM-1", "Мова")
    assert [line["content"] for line in draft.fields["input"]["messages"]] == ["Привіт", "Ще"]
    assert [one.cell for one in reading.warnings] == ["A1", "C1", "H1"]


def test_a_sheet_without_headers_is_no_case_file() -> None:
    with pytest.raises(FileRefused, match="searched: 'Кейси'") as caught:
        drafts(("продажі", "сума"), ("хліб", 12))
    assert caught.value.code == "no_headers"


def test_a_row_with_two_problems_names_both_cells() -> None:
    (draft,) = drafts(HEADER, ("RM-1", "Мова", None, "Опис", "терміново", "Привіт"))
    assert cells(draft) == ["C2", "E2"]
    assert "терміново" in draft.problems[1].message
    assert "high (високий)" in draft.problems[1].message


@pytest.mark.parametrize(("column", "empty"), [(1, "B2"), (2, "C2"), (5, "F2")])
def test_what_a_case_cannot_do_without_is_asked_for_at_its_cell(column: int, empty: str) -> None:
    values: list[object] = list(GOOD)
    values[column] = " \u00a0\u200b"
    (draft,) = drafts(HEADER, values)
    assert cells(draft) == [empty]


def test_numbers_dates_and_flags_are_read_as_people_see_them() -> None:
    data = workbook(
        rows(HEADER)
        + "".join(
            row(number, (shown, *GOOD[1:2], f"Кейс {number}", *GOOD[3:]))
            for number, shown in enumerate(
                (
                    cell("A2", "7.0", kind="n"),
                    cell("A3", "3.80440000000123E14", kind="n"),
                    cell("A4", "1", kind="b"),
                    cell("A5", "46155", kind="n", style=1),
                    cell("A6", "0.5", kind="n", style=2),
                    cell("A7", "7", kind="n", style=3),
                    cell("A8", "46155.5", kind="n", style=4),
                    cell("A9", "0.1", kind="n"),
                    "007 ",
                ),
                start=2,
            )
        )
    )
    refs = [draft.fields["ref"] for draft in read(data).drafts]
    assert refs == [
        "7", "380440000000123", "TRUE", "2026-05-13", "50%", "007", "2026-05-13 12:00:00", "0.1", "007",
    ]  # fmt: skip


def test_a_number_is_a_message_and_zero_is_not_empty() -> None:
    (draft,) = drafts(HEADER, ("RM-1", "Мова", 42, "Опис", "Низький", 0))
    assert draft.problems == ()
    assert draft.fields["name"] == "42"
    assert draft.fields["input"] == {"kind": "scripted_single", "message": "0"}


def test_one_id_in_three_spellings_is_one_and_every_repeat_names_both_rows() -> None:
    values = [
        (ref, "Мова", f"Кейс {index}", *GOOD[3:]) for index, ref in enumerate(("RM-7", "RM-7 ", "RM-7\u00a0"))
    ]
    found = drafts(HEADER, *values)
    assert [cells(draft) for draft in found] == [[], ["A3"], ["A4"]]
    assert "row 2 and row 4" in found[2].problems[0].message


def test_ids_that_only_look_alike_are_two_with_a_warning() -> None:
    found = drafts(HEADER, *((ref, *GOOD[1:]) for ref in ("RM-7", "RМ-7", "rm-7")))
    assert [draft.problems for draft in found] == [(), (), ()]
    assert ["looks like 'RM-7'" in one.message for draft in found for one in draft.warnings] == [True, True]


def test_rows_without_an_id_are_told_apart_by_name_and_message() -> None:
    told = (("Один", "Привіт"), ("Два", "Привіт"), ("Один", "Ціна?"), ("Один", "Привіт"))
    found = drafts(HEADER, *((None, "Мова", name, "Опис", None, message) for name, message in told))
    assert [cells(draft) for draft in found] == [[], [], [], ["C5"]]


def test_formulas_count_by_their_stored_value() -> None:
    names = (
        cell("C2", "<f>A1</f>", kind="str"),
        cell("C3", "<f>A1</f><v>Обчислено</v>", kind="str"),
        cell("C4", "=A1"),
        cell("C5", "<f>1/0</f><v>#DIV/0!</v>", kind="e"),
        cell("C6", "#REF!", kind="e"),
        cell("C7", "<f>A1</f><v></v>", kind="str"),
    )
    content = rows(HEADER) + "".join(
        row(number, (f"RM-{number}", "Мова", name, *GOOD[3:])) for number, name in enumerate(names, start=2)
    )
    found = read(workbook(content)).drafts
    assert [draft.fields["name"] for draft in found] == [None, "Обчислено", "=A1", None, None, None]
    assert [cells(draft) for draft in found] == [["C2"], [], [], ["C5"], ["C6"], ["C7"]]
    assert "without a stored value" in found[0].problems[0].message
    assert "#DIV/0!" in found[3].problems[0].message


def test_a_merged_category_holds_for_its_rows_and_for_no_other() -> None:
    content = rows(
        HEADER,
        *(
            (f"RM-{index}", "Мова" if index == 1 else None, f"Кейс {index}", *GOOD[3:])
            for index in range(1, 5)
        ),
    )
    merged = sheet_xml(content, after='<mergeCells><mergeCell ref="B2:B4"/></mergeCells>')
    found = read(workbook(("Кейси", "visible", merged))).drafts
    assert [draft.fields["category"] for draft in found] == ["Мова", "Мова", "Мова", None]
    assert [cells(draft) for draft in found] == [[], [], [], ["B5"]]


def test_a_merge_that_reaches_below_the_cases_makes_none() -> None:
    merged = sheet_xml(rows(HEADER, GOOD), after='<mergeCells><mergeCell ref="B2:B900"/></mergeCells>')
    assert counts(read(workbook(("Кейси", "visible", merged)))) == (1, 0)


def test_a_heading_across_columns_is_no_case() -> None:
    content = rows(HEADER, ("Розділ 1. Мова",), GOOD)
    merged = sheet_xml(content, after='<mergeCells><mergeCell ref="A2:F2"/></mergeCells>')
    reading = read(workbook(("Кейси", "visible", merged)))
    assert counts(reading) == (1, 0)
    assert [(one.cell, "heading" in one.message) for one in reading.warnings] == [("A2", True)]


@pytest.mark.parametrize(
    "again",
    [
        ("ID", "Категорія", "Назва", "Опис", "Повідомлення"),
        ("Ref", "Category", "Name", "Description", "Message"),
        (None, "Category ", "NAME", None, None),
    ],
)
def test_a_header_that_is_repeated_is_no_case(again: Sequence[object]) -> None:
    header = ("ID", "Категорія", "Назва", "Опис", "Повідомлення")
    good = ("RM-1", "Мова", "Назва", "Опис агента", "Повідомлення")
    reading = read(workbook(rows(header, again, good)))
    assert counts(reading) == (1, 0)
    assert [(one.cell, one.message) for one in reading.warnings] == [
        ("A2", "row 2 repeats the header: no case")
    ]


def test_what_cannot_be_seen_makes_no_other_id_and_no_other_category() -> None:
    unseen = ("RM\u200b-1\ufeff", "Поза\u00a0 компе\u00adтенцією", *GOOD[2:])
    first, second = drafts(HEADER, unseen, ("RM-1", *GOOD[1:]))
    assert (first.fields["ref"], first.fields["category"]) == ("RM-1", "Поза компетенцією")
    assert cells(second) == ["A3"]
    (spaced,) = drafts(HEADER, ("a \n b", *GOOD[1:]))
    assert spaced.fields["ref"] == "a b"


def test_a_choice_with_letters_of_another_alphabet_is_known() -> None:
    (draft,) = drafts(HEADER, (*GOOD[:4], "Cepeднiй", "Привіт"))
    assert draft.fields["priority"] == "medium"


def test_blank_rows_and_a_styled_tail_are_nothing() -> None:
    content = (
        rows(HEADER, GOOD)
        + row(4, (None, " ", "\u00a0"))
        + row(50, ("RM-2", *GOOD[1:]))
        + f'<row r="60000">{cell("A60000", None, style=1)}</row>'
    )
    wide = content.replace('<row r="4">', '<row r="3"><c r="XA3" s="1"/></row><row r="4">')
    assert [draft.place for draft in read(workbook(wide)).drafts] == ["A2", "A50"]


def test_hidden_sheets_are_not_read_and_hidden_rows_are() -> None:
    junk = sheet_xml(rows(HEADER, ("ZZ", *GOOD[1:])))
    content = rows(HEADER, GOOD).replace('<row r="2">', '<row r="2" hidden="1">')
    reading = read(
        workbook(
            ("Довідник", "hidden", junk), ("Кейси", "visible", sheet_xml(content)), ("А", "veryHidden", junk)
        )
    )
    assert [(draft.sheet, draft.fields["ref"]) for draft in reading.drafts] == [("Кейси", "RM-1")]
    assert reading.warnings == ()


def test_other_visible_sheets_are_left_out_with_a_warning_or_read_by_name() -> None:
    other = sheet_xml(rows(HEADER, ("RM-9", *GOOD[1:])))
    data = workbook(
        ("Інструкція", "visible", sheet_xml(rows(("Назва", "Опис"), ("x", "y")))),
        ("Кейси", "visible", sheet_xml(rows(HEADER, GOOD))),
        ("Ще", "visible", other),
    )
    reading = read(data)
    assert [draft.sheet for draft in reading.drafts] == ["Кейси"]
    assert "'Інструкція', 'Ще'" in reading.warnings[0].message
    assert [draft.fields["ref"] for draft in read(data, sheet="Ще ").drafts] == ["RM-9"]
    with pytest.raises(FileRefused, match="the workbook has 'Інструкція', 'Кейси', 'Ще'"):
        read(data, sheet="Кейси2")


def test_a_dimension_that_lies_loses_nothing() -> None:
    lying = sheet_xml(rows(HEADER, GOOD), dimension='<dimension ref="A1"/>')
    assert counts(read(workbook(("Кейси", "visible", lying)))) == (1, 0)


def test_cells_without_addresses_follow_each_other() -> None:
    bare = rows(HEADER, GOOD)
    for number in (1, 2):
        bare = bare.replace(f'<row r="{number}">', "<row>")
        for letter in "ABCDEF":
            bare = bare.replace(f' r="{letter}{number}"', "")
    assert [draft.fields["ref"] for draft in read(workbook(bare)).drafts] == ["RM-1"]


def test_shared_and_rich_strings_are_one_text() -> None:
    strings = [*HEADER, "RM-1", "Мова", "<r><t>Віта</t></r><r><rPr><b/></rPr><t>ється</t></r>"]
    shared = "".join(f"<si>{text if text.startswith('<') else f'<t>{text}</t>'}</si>" for text in strings)
    content = row(1, [cell(f"{'ABCDEF'[index]}1", index, kind="s") for index in range(6)]) + row(
        2, [*(cell(f"{'ABC'[index]}2", 6 + index, kind="s") for index in range(3)), *GOOD[3:]]
    )
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    data = workbook(content, parts={"xl/sharedStrings.xml": f'<sst xmlns="{main}">{shared}</sst>'})
    assert [draft.fields["name"] for draft in read(data).drafts] == ["Вітається"]


def test_dates_may_count_from_1904() -> None:
    content = rows(HEADER) + row(2, (cell("A2", "44693", kind="n", style=1), *GOOD[1:]))
    data = workbook(content, properties='<workbookPr date1904="1"/>')
    assert [draft.fields["ref"] for draft in read(data).drafts] == ["2026-05-13"]


def test_several_messages_are_a_conversation() -> None:
    header = (*HEADER[:5], "Повідомлення 1", "Повідомлення 2", "Message 3")
    (draft,) = drafts(header, (*GOOD[:5], "Привіт", None, "А ціна?"))
    assert draft.fields["input"] == {
        "kind": "scripted_multi",
        "messages": [{"role": "user", "content": "Привіт"}, {"role": "user", "content": "А ціна?"}],
    }


def test_an_expected_result_joins_the_description() -> None:
    (draft,) = drafts((*HEADER, "Очікуваний результат"), (*GOOD, "Називає ціну."))
    assert draft.fields["rubric"] == "Вітається українською.\n\nНазиває ціну."


def test_further_columns_are_read_in_peoples_words() -> None:
    header = (*HEADER, "Вага", "Поріг", "Теги", "Активний", "Критичний", "Повтори")
    (draft,) = drafts(header, (*GOOD, 3, "80 %", "smoke; мова,smoke", "ні", "Так", "NONE"))
    fields = draft.fields
    assert draft.problems == ()
    assert (fields["weight"], fields["threshold"], fields["tags"]) == (3, 80, ["smoke", "мова"])
    assert (fields["isActive"], fields["critical"], fields["retryPolicy"]) == (False, True, "none")
    (bad,) = drafts(header, (*GOOD, "важко", "1.5", "", "мабуть", "—", "завжди"))
    assert cells(bad) == ["G2", "H2", "J2", "L2"]


def test_columns_that_are_not_there_say_nothing() -> None:
    (draft,) = drafts(("Категорія", "Назва", "Повідомлення"), ("Мова", "Вітається", "Привіт"))
    assert set(draft.fields) == {"category", "name", "input"}


def test_unknown_columns_are_left_out_with_a_warning() -> None:
    reading = read(workbook(rows((*HEADER, "Коментар"), (*GOOD, "ok"))))
    assert [(one.cell, "'Коментар'" in one.message) for one in reading.warnings] == [("G1", True)]


def test_checks_may_be_given_as_json() -> None:
    header = (*HEADER, "Перевірки (JSON)")
    checks = [{"kind": "contains", "value": "RAMOSU"}]
    (draft,) = drafts(header, (*GOOD, json.dumps(checks)))
    assert (draft.fields["assertions"], draft.typical) == (checks, None)
    (broken,) = drafts(header, (*GOOD, "[{"))
    assert cells(broken) == ["G2"]
    assert (broken.fields.get("assertions"), broken.typical) == (None, None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[{"a": 1, "a": 2}]', "repeated"),
        ("[NaN]", "NaN"),
        ("[" * 100 + "]" * 100, "64"),
        ("[" * 30_000, "JSON"),
    ],
)
def test_json_that_means_two_things_or_none_is_refused(text: str, said: str) -> None:
    (draft,) = drafts((*HEADER, "Перевірки (JSON)"), (*GOOD, text))
    assert cells(draft) == ["G2"]
    assert said in draft.problems[0].message


def test_characters_written_as_escapes_are_read_back_and_nul_is_refused() -> None:
    found = drafts(
        HEADER, (*GOOD[:5], "рядок_x000D_\nще_x005F_x0041_"), ("RM-2", "Мова", "Ім'я_x0000_", *GOOD[3:])
    )
    assert found[0].fields["input"]["message"] == "рядок\r\nще_x0041_"
    assert found[1].fields["name"] == "Ім'я_x0000_"


def test_a_known_category_brings_its_checks_and_an_unknown_one_a_judge() -> None:
    known, fallback, nothing = drafts(
        HEADER,
        GOOD,
        ("RM-2", "Тон", "Чемний", "Бот чемний.", None, "Ну?"),
        ("RM-3", "Тон", "Чемний 3", None, None, "Ну?"),
    )
    assert known.typical is not None
    assert [one["kind"] for one in known.typical.assertions] == ["lang", "judge"]
    assert fallback.typical is not None
    assert fallback.typical.assertions == ({"kind": "judge", "rubric": "Бот чемний."},)
    assert (nothing.typical, cells(nothing)) == (None, ["D4"])


def test_reading_gives_up_after_its_time() -> None:
    data = workbook(rows(HEADER, GOOD))
    assert counts(read(data, limits=Limits(seconds=60))) == (1, 0)
    with pytest.raises(FileRefused) as caught:
        read(data, limits=Limits(seconds=-1))
    assert (caught.value.code, caught.value.too_large) == ("too_slow", True)


def shared_files() -> list[Any]:
    if not SHARED.is_dir():
        return [pytest.param("", {}, marks=pytest.mark.skip(reason="there are no shared fixtures here"))]
    manifest = json.loads((SHARED / "MANIFEST.json").read_text(encoding="utf-8"))
    return [pytest.param(name, entry["expected"], id=name) for name, entry in manifest.items()]


@pytest.mark.parametrize(("name", "expected"), shared_files())
def test_files_that_people_really_have_are_read_as_they_should_be(
    name: str, expected: dict[str, Any]
) -> None:
    data = (SHARED / name).read_bytes()
    if "http" in expected:
        with pytest.raises(FileRefused) as caught:
            read(data)
        assert caught.value.too_large == (expected["http"] == 413)
        assert caught.value.code == expected.get("code", "too_large")
        return
    reading = read(data)
    taken = [draft.fields for draft in reading.drafts if not draft.problems]
    assert len(taken) == expected["created"]
    assert len(reading.drafts) == expected["total"]
    for field, key in (("ref", "refs"), ("category", "categories"), ("priority", "priorities")):
        if key in expected:
            assert [fields[field] for fields in taken] == expected[key]
    names = {fields["ref"]: fields["name"] for fields in taken}
    assert expected.get("names", names).items() <= names.items()
