"""Spreadsheets over REST: what is written, what is said, and what is refused."""

from __future__ import annotations

import asyncio
import io
import tempfile
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import openpyxl
import pytest

from proctor_api.errors import ApiError
from proctor_api.usecases.imports import Imports
from proctor_api.usecases.validation import CaseChecks, Findings
from proctor_contracts.cases import CaseFields
from proctor_store.session import Database
from tests.api.conftest import BOTH, Api, Time, case

pytestmark = BOTH

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
HEADERS = ("ID", "Категорія", "Назва", "Опис", "Пріоритет", "Повідомлення")


def workbook(*rows: tuple[Any, ...], headers: tuple[str, ...] = HEADERS, title: str = "Кейси") -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = title
    sheet.append(headers)
    for row in rows:
        sheet.append(row)
    data = io.BytesIO()
    book.save(data)
    return data.getvalue()


def ukrainian(count: int) -> bytes:
    categories = ("Мова", "Ідентифікація", "Знижки", "Ескалація миттєва", "Поза компетенцією", "Доставка")
    return workbook(
        *(
            (
                f"RM-{number}",
                categories[number % len(categories)],
                f"Правило {number}",
                f"Бот дотримується правила {number}.",
                ("Високий", "Середній", "Низький")[number % 3],
                f"Питання номер {number}?",
            )
            for number in range(1, count + 1)
        )
    )


async def imported(api: Api, data: bytes, integration: str, status: int = 201, **fields: str) -> Any:
    response = await api(
        "POST",
        "/testing/cases/import",
        data={"integrationId": integration, **fields},
        files={"file": ("cases.xlsx", data, XLSX)},
    )
    assert response.status_code == status, response.text
    body = response.json()
    return body["data"] if status == 201 else body


async def exported(api: Api, integration: str, **query: str) -> bytes:
    response = await api("GET", "/testing/cases/export.xlsx", params={"integrationId": integration, **query})
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == XLSX
    return response.content


def counts(outcome: dict[str, Any]) -> dict[str, int]:
    return {name: outcome[name] for name in ("created", "updated", "skipped", "total")}


async def stored(api: Api, integration: str) -> dict[str, Any]:
    found = await api.data("GET", f"/testing/cases?integrationId={integration}")
    return {one["ref"] or one["name"]: one for one in found}


async def test_a_workbook_imported_twice_doubles_nothing(api: Api) -> None:
    integration = await api.integration()
    data = ukrainian(154)
    first = await imported(api, data, integration)
    assert counts(first) == {"created": 154, "updated": 0, "skipped": 0, "total": 154}
    before = await stored(api, integration)
    second = await imported(api, data, integration)
    assert counts(second) == {"created": 0, "updated": 0, "skipped": 154, "total": 154}
    assert second["unchanged"] == 154
    assert await stored(api, integration) == before
    assert len(before) == 154


async def test_a_dry_run_says_what_the_import_then_does(api: Api) -> None:
    integration = await api.integration()
    await imported(api, ukrainian(3), integration)
    before = await stored(api, integration)
    data = workbook(
        ("RM-1", "Мова", "Правило 1", "Інше правило.", "Високий", "Питання номер 1?"),
        ("RM-2", "Знижки", "Правило 2", "Бот дотримується правила 2.", "Низький", "Питання номер 2?"),
        ("RM-9", "Мова", "Нове", "Опис", None, "Привіт"),
        ("RM-10", None, "Без категорії", "Опис", "терміново", "Привіт"),
    )
    foreseen = await imported(api, data, integration, dryRun="true")
    assert foreseen["dryRun"] is True
    assert await stored(api, integration) == before
    done = await imported(api, data, integration)
    assert done | {"dryRun": True} == foreseen
    assert counts(done) == {"created": 1, "updated": 1, "skipped": 2, "total": 4}
    assert [(one["sheet"], one["cell"]) for one in done["problems"]] == [("Кейси", "B5"), ("Кейси", "E5")]


async def test_an_export_imported_again_changes_nothing(api: Api) -> None:
    integration = await api.integration()
    await imported(api, ukrainian(12), integration)
    rich = case(
        ref="=1+1", name="=cmd|'/c calc'!A1", category="-Мова", integrationId=integration, priority="low",
        input={"kind": "scripted_multi", "messages": [
            {"role": "user", "content": " =SUM(A1)\r\n"}, {"role": "assistant", "content": "_x000D_"},
            {"role": "user", "content": "'+1"}]},
        assertions=[{"kind": "contains", "value": "Вітаю", "weight": 3}, {"kind": "judge", "rubric": "=x"}],
        rubric="  опис\n", weight=7, threshold=0, tags=["@a", "b, c"], isActive=False, critical=True,
        retryPolicy="all", budget={"maxToolCalls": 3},
        reference={"messages": [{"content": "Вітаю"}, {"content": "Вітаю"}]},
    )  # fmt: skip
    await api.data("POST", "/testing/cases", rich, status=201)
    await api.data("POST", "/testing/cases", case(integrationId=integration, name="x" * 512), status=201)
    before = await stored(api, integration)
    for language in ("uk", "en", "ru"):
        again = await imported(api, await exported(api, integration, language=language), integration)
        assert again["problems"] == []
        assert counts(again) == {"created": 0, "updated": 0, "skipped": 14, "total": 14}
    assert await stored(api, integration) == before


async def test_an_export_makes_the_same_cases_elsewhere(api: Api) -> None:
    here, there = await api.integration("here"), await api.integration("there")
    await imported(api, ukrainian(8), here)
    assert (await imported(api, await exported(api, here), there))["created"] == 8
    ignored = {"id", "integrationId", "createdAt", "updatedAt", "revision"}
    assert [
        {name: value for name, value in one.items() if name not in ignored}
        for one in (await stored(api, there)).values()
    ] == [
        {name: value for name, value in one.items() if name not in ignored}
        for one in (await stored(api, here)).values()
    ]


async def test_an_export_holds_what_the_filters_take(api: Api) -> None:
    integration = await api.integration()
    await imported(api, ukrainian(12), integration)
    book = openpyxl.load_workbook(io.BytesIO(await exported(api, integration, category="Мова")))
    rows = list(book.worksheets[0].iter_rows(values_only=True))
    assert [row[0] for row in rows] == ["ID", "RM-6", "RM-12"]


async def test_an_unknown_integration_and_another_accounts_are_the_same(api: Api) -> None:
    integration = await api.integration()
    other = await api.another("other")
    assert (await imported(other, ukrainian(1), integration, 404))["code"] == "not_found"
    response = await other("GET", "/testing/cases/export.xlsx", params={"integrationId": integration})
    assert response.status_code == 404


async def test_a_public_key_imports_and_exports_nothing(api: Api) -> None:
    integration = await api.integration()
    key = await api.public_key()
    files = {"file": ("cases.xlsx", ukrainian(1), XLSX)}
    data = {"integrationId": integration}
    response = await api("POST", "/testing/cases/import", key=key, data=data, files=files)
    assert response.status_code == 403
    response = await api("GET", "/testing/cases/export.xlsx", params=data, key=key)
    assert response.status_code == 403


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"dry_run": "true"}, "dry_run"),
        ({"dryRun": "maybe"}, "dryRun"),
        ({"integrationId": "7"}, "integrationId"),
        ({"categories": "[]"}, "categories"),
    ],
)
async def test_a_field_that_is_wrong_or_misspelt_is_named(
    api: Api, fields: dict[str, str], path: str
) -> None:
    integration = await api.integration()
    form = {"integrationId": integration, **fields}
    problem = await imported(api, ukrainian(1), form.pop("integrationId"), 400, **form)
    assert [one["path"] for one in problem["errors"]] == [path]
    assert await stored(api, integration) == {}


async def test_a_file_that_is_missing_is_asked_for(api: Api) -> None:
    integration = await api.integration()
    response = await api("POST", "/testing/cases/import", files={"integrationId": (None, integration)})
    assert response.status_code == 400
    assert [one["path"] for one in response.json()["errors"]] == ["file"]


async def test_a_body_that_is_no_form_is_refused(api: Api) -> None:
    assert (await api.problem("POST", "/testing/cases/import", {}, status=415))["code"]
    broken = {"Content-Type": "multipart/form-data; boundary=x"}
    await api.problem("POST", "/testing/cases/import", content=b"--x\r\nnonsense", headers=broken)
    nameless = {"Content-Type": "multipart/form-data"}
    await api.problem("POST", "/testing/cases/import", content=b"--x", headers=nameless)


async def test_a_file_over_the_limit_is_refused_while_it_is_read(api: Api) -> None:
    integration = await api.integration()
    sent = 0

    async def chunks() -> Any:
        nonlocal sent
        yield (
            f'--x\r\nContent-Disposition: form-data; name="integrationId"\r\n\r\n{integration}\r\n'
            '--x\r\nContent-Disposition: form-data; name="file"; filename="a.xlsx"\r\n'
            "Content-Length: 10\r\n\r\n"
        ).encode()
        for _ in range(1_000):
            sent += 1
            yield bytes(65_536)

    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    problem = await api.problem(
        "POST", "/testing/cases/import", content=chunks(), headers=headers, status=413
    )
    assert problem["code"] == "too_large"
    assert await stored(api, integration) == {}


async def test_a_file_a_little_over_the_limit_is_too_large(api: Api) -> None:
    integration = await api.integration()
    data = bytes(5 * 1024 * 1024 + 1)
    problem = await imported(api, data, integration, 413)
    assert [one["path"] for one in problem["errors"]] == ["file"]


async def test_what_is_no_workbook_is_a_400_that_says_so(api: Api) -> None:
    integration = await api.integration()
    for data in (b"", b"ID;Name\n1;x\n", b"<table><tr><td>ID</td></tr></table>", b"PK\x03\x04" + bytes(90)):
        problem = await imported(api, data, integration, 400)
        assert "xlsx" in problem["code"]
        assert problem["errors"][0]["path"] == "file"
    assert await stored(api, integration) == {}


async def test_the_owner_has_to_be_the_keys_account(api: Api) -> None:
    integration = await api.integration()
    assert (await imported(api, ukrainian(1), integration, owner=str(api.caller.account_id)))["created"] == 1
    other = await api.another("other")
    await imported(api, ukrainian(1), integration, 404, owner=str(other.caller.account_id))
    await imported(api, ukrainian(1), integration, 404, owner="nobody")


async def test_checks_that_somebody_wrote_stay_and_made_up_ones_follow_the_file(api: Api) -> None:
    integration = await api.integration()
    rows = [(f"RM-{n}", "Доставка", f"Правило {n}", f"Правило {n}.", None, "Привіт") for n in (1, 2)]
    await imported(api, workbook(*rows), integration)
    own = [{"kind": "contains", "value": "2 дні"}]
    first = (await stored(api, integration))["RM-1"]
    await api.data("PATCH", f"/testing/cases/{first['id']}", {"assertions": own})
    changed = [(*row[:3], "Доставка за два дні.", *row[4:]) for row in rows]
    outcome = await imported(api, workbook(*changed), integration)
    assert counts(outcome) == {"created": 0, "updated": 2, "skipped": 0, "total": 2}
    now = await stored(api, integration)
    assert [one["value"] for one in now["RM-1"]["assertions"]] == ["2 дні"]
    assert [one["rubric"] for one in now["RM-2"]["assertions"]] == ["Доставка за два дні."]
    assert [one["cell"] for one in outcome["warnings"]] == ["D2"]


async def test_what_the_file_has_no_column_for_stays(api: Api) -> None:
    integration = await api.integration()
    await imported(api, workbook(("A", "Мова", "Назва", "Опис", "Високий", "Привіт")), integration)
    found = (await stored(api, integration))["A"]
    await api.data("PATCH", f"/testing/cases/{found['id']}", {"tags": ["mine"], "threshold": 90})
    headers = ("ID", "Категорія", "Назва", "Повідомлення")
    data = workbook(("A", "Мова", "Назва", "Добрий день"), headers=headers)
    assert (await imported(api, data, integration))["updated"] == 1
    now = (await stored(api, integration))["A"]
    assert (now["tags"], now["threshold"], now["priority"], now["rubric"]) == (["mine"], 90, "high", "Опис")
    assert now["input"]["message"] == "Добрий день"


async def test_rows_without_ids_are_found_again_by_name(api: Api) -> None:
    integration = await api.integration()
    rows = [(None, "Мова", f"Кейс {n}", "Опис", None, f"Питання {n}") for n in range(3)]
    assert (await imported(api, workbook(*rows), integration))["created"] == 3
    again = await imported(api, workbook(*rows), integration)
    assert (again["created"], again["unchanged"]) == (0, 3)
    numbered = [(f"N-{n}", *row[1:]) for n, row in enumerate(rows)]
    outcome = await imported(api, workbook(*numbered), integration)
    assert counts(outcome) == {"created": 0, "updated": 3, "skipped": 0, "total": 3}
    assert set(await stored(api, integration)) == {"N-0", "N-1", "N-2"}


async def test_a_row_that_cannot_be_saved_is_named_by_its_cell(api: Api) -> None:
    integration = await api.integration()
    headers = (*HEADERS, "Перевірки (JSON)", "Поріг")
    data = workbook(
        ("A", "Мова", "Назва", "Опис", None, "Привіт", '[{"kind": "regex", "pattern": "("}]', None),
        ("B", "Мова", "Назва 2", "Опис", None, "Привіт", '[{"kind": "nonsense"}]', 700),
        ("C", "x" * 65, "Назва 3", "Опис", None, "Привіт", None, None),
        ("D", "Мова", "Назва 4", "Опис", None, "Привіт", None, 90),
        headers=headers,
    )
    outcome = await imported(api, data, integration)
    assert counts(outcome) == {"created": 1, "updated": 0, "skipped": 3, "total": 4}
    assert [one["cell"] for one in outcome["problems"]] == ["G2", "G3", "H3", "B4"]
    assert "regex, contains" in outcome["problems"][1]["message"]


async def test_a_reference_that_fails_its_own_checks_is_refused_by_name(api: Api) -> None:
    integration = await api.integration()
    reference = '{"messages": [{"content": "Bye"}]}'
    headers = (*HEADERS, "Перевірки (JSON)", "Еталон (JSON)")
    checks = '[{"kind": "contains", "value": "Вітаю", "ref": "greets"}]'
    data = workbook(("A", "Мова", "Назва", "Опис", None, "Привіт", checks, reference), headers=headers)
    outcome = await imported(api, data, integration)
    (problem,) = outcome["problems"]
    assert problem["cell"] == "G2"
    assert "reference" in problem["message"]


async def test_a_table_of_categories_comes_with_the_file(api: Api) -> None:
    integration = await api.integration()
    table = (
        '{"categories": [{"names": ["Мова"], "assertions": [{"kind": "contains", "value": "{{name}}"}]}],'
        '"others": {"assertions": [{"kind": "judge", "rubric": "{{description}}"}]}}'
    )
    data = workbook(("A", "Мова", "RAMOSU", "Опис", None, "Привіт"))
    await imported(api, data, integration, categories=table)
    found = (await stored(api, integration))["A"]
    assert [(one["kind"], one["value"]) for one in found["assertions"]] == [("contains", "RAMOSU")]


async def test_an_upload_never_becomes_a_file(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    rolled: list[object] = []
    monkeypatch.setattr(tempfile.SpooledTemporaryFile, "rollover", rolled.append)
    integration = await api.integration()
    await imported(api, bytes(5 * 1024 * 1024), integration, 400)
    await imported(api, ukrainian(5), integration)
    assert rolled == []


async def test_two_processes_importing_one_file_at_once_double_nothing(
    api: Api, database: Database, time: Time, pattern_thread: ThreadPoolExecutor
) -> None:
    integration = UUID(await api.integration())
    checks = CaseChecks(executor=pattern_thread, examine=lambda _case, _bot: Findings())
    importers = [Imports(database=database, clock=time.now, checks=checks) for _ in range(3)]
    data = ukrainian(40)
    outcomes = await asyncio.gather(*(one.workbook(api.caller, integration, data) for one in importers))
    assert sorted(one.created for one in outcomes) == [0, 0, 40]
    assert sorted(one.unchanged for one in outcomes) == [0, 40, 40]
    assert len(await stored(api, str(integration))) == 40


async def test_who_is_always_overtaken_is_told_so(api: Api, database: Database, time: Time) -> None:
    integration = await api.integration()
    added = iter(range(100))

    def examine(_case: CaseFields, _bot: object) -> Findings:
        # Whenever this one has looked, another writer adds a case.
        name = f"Інший {next(added)}"
        adding = api.data("POST", "/testing/cases", case(integrationId=integration, name=name), status=201)
        asyncio.run_coroutine_threadsafe(adding, loop).result(30)
        return Findings()

    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(1) as own:
        importer = Imports(
            database=database, clock=time.now, checks=CaseChecks(executor=own, examine=examine)
        )
        with pytest.raises(ApiError) as caught:
            await importer.workbook(api.caller, UUID(integration), ukrainian(1))
    assert (caught.value.status, caught.value.code) == (409, "overtaken")
    assert "RM-1" not in await stored(api, integration)
