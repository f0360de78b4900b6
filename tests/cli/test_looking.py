from __future__ import annotations

import json
from pathlib import Path
from uuid import uuid4

import pytest

from proctor_cli.target import Target
from proctor_contracts.schemas.runs import RunDocument
from tests.cli.platforms import FAILED, PASSED, FakePlatform, command, suite


@pytest.fixture
def played(tmp_path: Path) -> FakePlatform:
    platform = FakePlatform()
    path = suite(tmp_path, *"abcdefghij")
    command(platform, "run", path)
    platform.verdict = lambda ref: FAILED if ref == "b" else PASSED
    command(platform, "run", path)
    return platform


def test_runs_are_listed_newest_first(played: FakePlatform) -> None:
    lines = command(played, "runs").out.splitlines()
    first, second = played.documents
    assert [line.split()[0] for line in lines] == [str(second), str(first)]
    assert "gate failed" in lines[0]
    assert len(command(played, "runs", "--take", "1").out.splitlines()) == 1
    as_json = json.loads(command(played, "runs", "--json").out)
    assert [run["id"] for run in as_json] == [str(second), str(first)]
    assert played.workers is False


def test_a_run_is_cancelled_by_its_id(played: FakePlatform) -> None:
    first = str(next(iter(played.documents)))
    ended = command(played, "cancel", first)
    assert ended.code == 0
    assert f"run {first} is completed; " in ended.out
    assert command(played, "cancel", "nonsense").code == 3


def test_a_gate_that_nobody_stated_is_told_alike_everywhere(played: FakePlatform) -> None:
    first = str(next(iter(played.documents)))
    words = "no gate stated: every case must pass"
    for args in (
        ("show", first),
        ("runs",),
        ("gate", first),
        ("export", first, "--format", "junit"),
        ("export", first, "--format", "markdown"),
    ):
        assert f"({words})" in command(played, *args).out, args


def test_no_runs_is_no_failure() -> None:
    ended = command(FakePlatform(), "runs")
    assert (ended.code, ended.out) == (0, "")
    assert json.loads(command(FakePlatform(), "runs", "--json").out) == []


def test_show_repeats_the_report_and_a_case_whole(played: FakePlatform) -> None:
    run = str(list(played.documents)[-1])
    assert "b is wrong" in command(played, "show", run).out
    whole = command(played, "show", run, "--case", "b")
    assert "agent" in whole.out
    assert "Вітаю!" in whole.out
    assert command(played, "show", run, "--case", "zz").code == 3
    assert command(played, "show", str(uuid4())).code == 3


def test_show_finds_a_case_by_its_name_and_lists_what_is_near(played: FakePlatform) -> None:
    _, second = map(str, played.documents)
    assert command(played, "show", second, "--case", "Case B").out.startswith("b · case b")
    missing = command(played, "show", second, "--case", "kase b")
    assert missing.code == 3
    assert "near it: b · case b" in missing.err


def test_diff_says_what_broke(played: FakePlatform) -> None:
    first, second = map(str, played.documents)
    assert "Newly broken (1)" in command(played, "diff", first, second).out
    assert "Fixed (1)" in command(played, "diff", second, first).out
    assert json.loads(command(played, "diff", first, second, "--json").out)["counts"]["broken"] == 1


def test_export_writes_every_format_to_stdout_or_a_file(played: FakePlatform, tmp_path: Path) -> None:
    first, second = map(str, played.documents)
    assert RunDocument.model_validate_json(command(played, "export", second).out).results
    assert command(played, "export", second, "--format", "junit").out.startswith("<?xml")
    assert "ref" in command(played, "export", second, "--format", "csv").out
    target = tmp_path / "new" / "comment.md"
    args = ("--format", "markdown", "-o", str(target), "--baseline", first)
    assert command(played, "export", second, *args).code == 0
    assert "Newly broken (1)" in target.read_text(encoding="utf-8")


def test_the_gate_decides_again_by_its_own_rule_a_suites_or_options(
    played: FakePlatform, tmp_path: Path
) -> None:
    first, second = map(str, played.documents)
    assert command(played, "gate", first).code == 0
    failed = command(played, "gate", second)
    assert failed.code == 1
    assert "90" in failed.out
    assert command(played, "gate", second, "--min-pass-rate", "0.9").code == 0
    assert command(played, "gate", second, "--min-pass-rate", "0.9", "--critical", "t-b").code == 0
    assert command(played, "gate", second, "--min-pass-rate", "0.9", "--critical", "Talk").code == 1
    mistyped = command(played, "gate", second, "--min-pass-rate", "0.9", "--critical", "Tolk")
    assert mistyped.code == 0
    assert "no case of this run has the tag or category 'Tolk'; did you mean Talk?" in mistyped.err
    lenient = suite(tmp_path, "a", head="integration: {name: x, provider: replay}\ngate: {}\ncases:\n")
    assert command(played, "gate", second, "--suite", lenient).code == 0
    assert command(played, "gate", first, "--max-p95-latency-ms", "10").code == 2


def test_every_command_takes_the_platform_behind_its_name(played: FakePlatform) -> None:
    options = ("--server", "http://x", "--key", "k", "--state", "s", "-q")
    assert command(played, "runs", *options).code == 0
    assert played.target == Target(server="http://x", key="k", state=Path("s"))
    played.target = None
    assert command(played, *options, "runs").code == 0
    assert played.target == Target(server="http://x", key="k", state=Path("s"))
