"""Spreadsheets on the command line: what is sent, what is said, how it ends."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import openpyxl
import pytest
from aiohttp import web

from proctor_cli.client import PlatformRefused
from proctor_cli.remote import RemotePlatform, open_remote
from proctor_contracts.schemas.imports import ImportOutcome, ImportProblem
from tests.cli.platforms import FakePlatform, command, refusal
from tests.cli.test_embedded import proctor
from tests.reports.documents import uid

OUTCOME = ImportOutcome(
    created=47,
    updated=105,
    skipped=2,
    total=154,
    unchanged=1,
    problems=(ImportProblem(sheet="Кейси", cell="B5", message="«Категорія» is empty"),),
    warnings=(ImportProblem(sheet="Кейси", cell="H1", message="the column 'Автор' was left out"),),
)


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "cases.xlsx"
    path.write_bytes(b"a workbook")
    return path


def test_an_import_names_each_cell_and_counts(book: Path) -> None:
    platform = FakePlatform(outcome=OUTCOME)
    ended = command(platform, "import-cases", "--xlsx", str(book), "--integration", "bot", "--owner", "me")
    assert ended.code == 1
    assert ended.out == "154 cases: 47 created, 105 updated, 1 unchanged, 1 left out\n"
    assert ended.err.splitlines() == [
        "warning: Кейси!H1: the column 'Автор' was left out",
        "Кейси!B5: «Категорія» is empty",
    ]
    (sent,) = platform.imported
    assert (sent["data"], sent["dry_run"], sent["owner"]) == (b"a workbook", False, "me")
    assert platform.workers is False


def test_a_dry_run_says_what_would_be(book: Path, tmp_path: Path) -> None:
    table = tmp_path / "table.json"
    table.write_text("{}")
    platform = FakePlatform(outcome=OUTCOME.model_copy(update={"problems": ()}))
    args = (
        "--xlsx",
        str(book),
        "--integration",
        "bot",
        "--dry-run",
        "--sheet",
        "A",
        "--categories",
        str(table),
    )
    ended = command(platform, "import-cases", *args)
    assert ended.code == 0
    assert "154 cases: would be 47 created" in ended.out
    (sent,) = platform.imported
    assert (sent["dry_run"], sent["sheet"], sent["categories"]) == (True, "A", b"{}")


def test_an_outcome_is_printed_as_json(book: Path) -> None:
    platform = FakePlatform(outcome=OUTCOME)
    ended = command(platform, "import-cases", "--xlsx", str(book), "--integration", "bot", "--json")
    assert json.loads(ended.out)["problems"][0]["cell"] == "B5"
    assert ended.err == ""


def test_a_file_that_cannot_be_taken_is_wrong_usage(book: Path) -> None:
    platform = FakePlatform(refuse={"find_integration": refusal(400, "not_xlsx")})
    ended = command(platform, "import-cases", "--xlsx", str(book), "--integration", "bot")
    assert (ended.code, "not_xlsx" in ended.err) == (3, True)
    with book.open("wb") as file:
        file.truncate(5 * 1024 * 1024 + 1)
    ended = command(FakePlatform(), "import-cases", "--xlsx", str(book), "--integration", "bot")
    assert (ended.code, "larger than" in ended.err) == (3, True)


def test_an_export_is_written(tmp_path: Path) -> None:
    target = tmp_path / "out.xlsx"
    args = ("--integration", "bot", "-o", str(target), "--category", "Мова", "--language", "en")
    assert command(FakePlatform(), "export-cases", *args).code == 0
    assert target.read_bytes() == "[('category', 'Мова'), ('language', 'en')]".encode()
    inside_a_file = str(target / "b.xlsx")
    nowhere = command(FakePlatform(), "export-cases", "--integration", "bot", "-o", inside_a_file)
    assert nowhere.code == 3


@asynccontextmanager
async def server(
    *routes: tuple[str, str, Callable[[web.Request], Awaitable[web.StreamResponse]]],
) -> AsyncIterator[RemotePlatform]:
    app = web.Application()
    for method, path, handler in routes:
        app.router.add_route(method, path, handler)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        async with open_remote(url=f"http://127.0.0.1:{runner.addresses[0][1]}", key="sk_1") as platform:
            yield platform
    finally:
        await runner.cleanup()


async def test_a_server_is_sent_a_form() -> None:
    seen: dict[str, object] = {}

    async def take(request: web.Request) -> web.Response:
        form = await request.post()
        for name, value in form.items():
            seen[name] = value
            if isinstance(value, web.FileField):
                seen[name] = (value.filename, value.file.read())
        return web.json_response({"data": OUTCOME.model_dump(mode="json")}, status=201)

    async with server(("POST", "/api/testing/cases/import", take)) as platform:
        outcome = await platform.import_cases(
            uid(1), b"a workbook", name="кейси.xlsx", dry_run=True, categories=b"{}"
        )
    assert outcome == OUTCOME
    assert seen == {
        "integrationId": str(uid(1)),
        "dryRun": "true",
        "file": ("кейси.xlsx", b"a workbook"),
        "categories": ("categories", b"{}"),
    }


async def test_a_servers_workbook_comes_as_bytes_and_an_integration_by_its_name() -> None:
    async def export(request: web.Request) -> web.Response:
        assert request.query["language"] == "ru"
        return web.Response(body=b"PK\x03\x04\xff\xfe")

    async def none(_request: web.Request) -> web.Response:
        return web.json_response({"data": [], "meta": {"total": 0, "take": 1}})

    routes = (("GET", "/api/testing/cases/export.xlsx", export), ("GET", "/api/integrations", none))
    async with server(*routes) as platform:
        assert await platform.export_cases(uid(1), language="ru") == b"PK\x03\x04\xff\xfe"
        with pytest.raises(PlatformRefused, match="no such integration"):
            await platform.find_integration("nobody")


def test_a_spreadsheet_goes_in_and_out_of_a_platform_in_one_process(tmp_path: Path) -> None:
    assert proctor(tmp_path, "init").returncode == 0
    assert proctor(tmp_path, "run", "suite.yaml").returncode == 0
    name = next(
        line.split(":", 1)[1].strip()
        for line in (tmp_path / "suite.yaml").read_text(encoding="utf-8").splitlines()
        if line.strip().startswith("name:")
    )
    written = proctor(tmp_path, "export-cases", "--integration", name, "-o", "out.xlsx")
    assert written.returncode == 0, written.stderr
    args = ("import-cases", "--xlsx", "out.xlsx", "--integration", name, "--owner", "local")
    again = proctor(tmp_path, *args)
    assert (again.returncode, again.stdout) == (
        0,
        "3 cases: 0 created, 0 updated, 3 unchanged, 0 left out\n",
    ), again.stderr
    book = openpyxl.load_workbook(tmp_path / "out.xlsx")
    book.worksheets[0].append(["NEW-1"])
    book.save(tmp_path / "out.xlsx")
    wrong = proctor(tmp_path, *args, "--dry-run")
    assert wrong.returncode == 1
    assert "B5" in wrong.stderr
    assert proctor(tmp_path, *args[:-1], "somebody").returncode == 3
