from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from proctor_cli.suite.schema import suite_schema
from tests.cli.platforms import SUITE, FakePlatform, command, suite


def test_help_lists_every_command_and_imports_none_of_them() -> None:
    script = (
        "import sys; from proctor_cli.main import run; code = run(['--help']);"
        "heavy = {'pydantic', 'yaml', 'aiohttp', 'sqlalchemy', 'proctor_api', 'proctor_contracts'};"
        "heavy &= set(sys.modules);"
        "print(sorted(heavy)); sys.exit(code)"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ended.returncode == 0
    assert ended.stdout.endswith("[]\n")
    for name in (
        "run",
        "up",
        "serve",
        "validate",
        "init",
        "runs",
        "show",
        "cancel",
        "diff",
        "export",
        "gate",
        "migrate",
    ):
        assert f"\n  {name} " in ended.stdout


@pytest.mark.parametrize("args", [("rum",), ("run",), ("run", "no-such-file.yaml"), ("serve", "nobody")])
def test_wrong_usage_ends_with_3(args: tuple[str, ...]) -> None:
    assert command(FakePlatform(), *args).code == 3


def test_a_mistyped_command_is_guessed() -> None:
    assert "did you mean run?" in command(FakePlatform(), "rnu").err


def test_validate_says_what_is_fine(tmp_path: Path) -> None:
    ended = command(FakePlatform(), "validate", suite(tmp_path, "a", "b"))
    assert ended.code == 0
    assert "2 cases (2 active), no problems" in ended.out


def test_validate_finds_patterns_and_references_that_cannot_work(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(
        SUITE
        + """\
  - ref: A
    name: a
    category: c
    input: {kind: scripted_single, message: m}
    assertions:
      - {kind: regex, pattern: "("}
      - {kind: tool_call, toolName: pay}
  - ref: B
    name: b
    category: c
    input: {kind: scripted_single, message: m}
    assertions: [{kind: contains, value: right}]
    reference: {messages: [{content: wrong}]}
""",
        encoding="utf-8",
    )
    ended = command(FakePlatform(), "validate", str(path))
    assert ended.code == 3
    assert f"{path}:12: cases.0.assertions.0.pattern" in ended.err
    assert f"{path}:18: cases.1.assertions.0: the reference solution does not pass" in ended.err
    assert "warning:" in ended.err


def test_validate_prints_the_schema() -> None:
    ended = command(FakePlatform(), "validate", "--schema")
    assert json.loads(ended.out) == suite_schema()
    assert command(FakePlatform(), "validate").code == 3


def test_init_writes_once_and_never_over_what_is_there(tmp_path: Path) -> None:
    assert command(FakePlatform(), "init", str(tmp_path / "new")).code == 0
    written = (tmp_path / "new" / "suite.yaml").read_text(encoding="utf-8")
    (tmp_path / "new" / "suite.yaml").write_text("mine", encoding="utf-8")
    ended = command(FakePlatform(), "init", str(tmp_path / "new"))
    assert ended.code == 3
    assert "is there already" in ended.err
    assert (tmp_path / "new" / "suite.yaml").read_text(encoding="utf-8") == "mine"
    assert command(FakePlatform(), "init", str(tmp_path / "new"), "--force").code == 0
    assert (tmp_path / "new" / "suite.yaml").read_text(encoding="utf-8") == written
