"""Golden datasets, suites and other text files on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from proctor_contracts.schemas.imports import CaseFormat, ImportOutcome, ImportProblem
from tests.casefiles.golden import THREE
from tests.cli.platforms import FakePlatform, command, refusal
from tests.cli.test_embedded import proctor

CASE = """\
  - name: case {number}
    category: Мова
    input: {{kind: scripted_single, message: hi}}
    assertions: [{{kind: contains, value: '{text}'}}]
"""
BOT = "integration: {name: bot, provider: replay}\n"


def suite(folder: Path, count: int = 2, text: str = "x") -> Path:
    path = folder / "suite.yaml"
    cases = "".join(CASE.format(number=number, text=text) for number in range(count))
    path.write_text(f"{BOT}cases:\n{cases}", encoding="utf-8")
    return path


def sent_cases(platform: FakePlatform) -> list[list[dict[str, Any]]]:
    parcels: list[list[dict[str, Any]]] = []
    for one in platform.imported:
        data = one["data"]
        assert isinstance(data, bytes)
        parcels.append(json.loads(data))
    return parcels


@pytest.mark.parametrize(
    "format_", [CaseFormat.GOLDEN, CaseFormat.PROMPTFOO, CaseFormat.JSONL, CaseFormat.CASES]
)
def test_a_file_is_sent_as_what_the_option_says(tmp_path: Path, format_: CaseFormat) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"[]")
    platform = FakePlatform()
    ended = command(platform, "import-cases", f"--{format_}", str(path), "--integration", "bot", "--dry-run")
    assert ended.code == 0
    (sent,) = platform.imported
    assert (sent["format_"], sent["data"], sent["dry_run"]) == (format_, b"[]", True)


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ((), "give one file"),
        (("--golden", "{f}", "--jsonl", "{f}", "--integration", "bot"), "give one file"),
        (("--golden", "{f}"), "--integration is required"),
        (("--golden", "{f}", "--integration", "bot", "--sheet", "A"), "belong to --xlsx"),
    ],
)
def test_wrong_usage_is_told(tmp_path: Path, args: tuple[str, ...], told: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"[]")
    ended = command(FakePlatform(), "import-cases", *(arg.format(f=path) for arg in args))
    assert (ended.code, told in ended.err) == (3, True)


def test_a_suite_brings_its_integration_and_handlers(tmp_path: Path) -> None:
    platform = FakePlatform()
    assert command(platform, "import-cases", "--suite", str(suite(tmp_path))).code == 0
    assert platform.integration is not None
    assert platform.integration.name == "bot"
    (cases,) = sent_cases(platform)
    assert [one["name"] for one in cases] == ["case 0", "case 1"]
    assert all(one["ref"].startswith("case-") for one in cases)


def test_a_suite_can_go_into_another_integration(tmp_path: Path) -> None:
    platform = FakePlatform()
    args = ("import-cases", "--suite", str(suite(tmp_path)), "--integration", "other")
    assert command(platform, *args).code == 0
    assert platform.integration is not None
    assert platform.integration.name == "other"


def test_a_large_suite_goes_in_parcels_and_problems_point_at_its_lines(tmp_path: Path) -> None:
    outcome = ImportOutcome(
        created=5, updated=1, skipped=2, total=8, unchanged=1,
        problems=(ImportProblem(path="1.assertions.0.value", message="is odd"),),
    )  # fmt: skip
    platform = FakePlatform(outcome=outcome)
    path = suite(tmp_path, count=900, text="x" * 9_000)
    ended = command(platform, "import-cases", "--suite", str(path), "--json")
    parcels = sent_cases(platform)
    assert len(parcels) == 3
    assert [one["name"] for parcel in parcels for one in parcel] == [
        f"case {number}" for number in range(900)
    ]
    assert all(len(one["data"]) < 5 * 1024 * 1024 for one in platform.imported)  # type: ignore[arg-type]  # bytes
    found = json.loads(ended.out)
    assert (found["created"], found["total"]) == (15, 24)
    second = len(parcels[0]) + 1
    line = 2 + 4 * second + 4
    assert found["problems"][1]["path"] == f"{path}:{line}: cases.{second}.assertions.0.value"
    assert ended.code == 1


def test_a_suite_that_cannot_be_loaded_is_not_sent(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(BOT + "cases: [{name: a}]\n", encoding="utf-8")
    platform = FakePlatform()
    ended = command(platform, "import-cases", "--suite", str(path))
    assert (ended.code, platform.imported) == (3, [])
    assert f"{path}:2: cases.0" in ended.err


def test_a_dry_run_of_a_suite_makes_no_integration(tmp_path: Path) -> None:
    platform = FakePlatform(refuse={"find_integration": refusal(404, "not_found")})
    ended = command(platform, "import-cases", "--suite", str(suite(tmp_path)), "--dry-run")
    assert (ended.code, platform.integration, platform.imported) == (0, None, [])
    assert ended.out == "2 cases: would be 2 created, 0 updated, 0 unchanged, 0 left out\n"


def test_text_files_go_into_a_platform_in_one_process(tmp_path: Path) -> None:
    path = suite(tmp_path, count=2_100)
    first = proctor(tmp_path, "import-cases", "--suite", str(path))
    assert (first.returncode, first.stdout) == (
        0,
        "2100 cases: 2100 created, 0 updated, 0 unchanged, 0 left out\n",
    ), first.stderr
    (tmp_path / "golden.json").write_text(json.dumps([*THREE, {"id": "x"}]), encoding="utf-8")
    args = ("import-cases", "--golden", "golden.json", "--integration", "bot")
    golden = proctor(tmp_path, *args)
    assert golden.returncode == 1
    assert golden.stdout == "4 cases: 3 created, 0 updated, 0 unchanged, 1 left out\n"
    assert "3.expected: is required" in golden.stderr
    again = proctor(tmp_path, "import-cases", "--suite", str(path))
    assert again.stdout == "2100 cases: 0 created, 0 updated, 2100 unchanged, 0 left out\n"
