"""The two versions of the example's prompt as its README shows them: through the command, offline."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.examples.test_readme_lines import running_platform

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/support-bot"
PROCTOR = Path(sys.executable).with_name("proctor")
PATIENCE = 60
BROKEN = {"late-parcel", "broken-lamp", "refund-term", "english", "english-angry", "human"}


def compare(folder: Path, *args: str, code: int = 0, **env: str) -> str:
    given = {name: value for name, value in os.environ.items() if not name.startswith("PROCTOR_")}
    done = subprocess.run(
        [PROCTOR, "compare", str(EXAMPLE), *args], cwd=folder, env={**given, "NO_COLOR": "1", **env},
        timeout=PATIENCE, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + ("" if code == 0 else done.stderr)


def test_it_says_which_cases_broke_with_what_evidence(tmp_path: Path) -> None:
    said = compare(tmp_path, "--versions", "v1,v2")
    broken = said.partition("Broken (6)")[2]
    assert all(f"✗ {ref} ·" in broken for ref in BROKEN)
    for line in (
        "worse by 50 points",
        'matches "300 грн"',
        "pass rate 100 % -> 50 %",
        "seen: Ой, як прикро!",
    ):
        assert line in said
    assert "6 of 12 cases end differently" in said


def test_versions_are_made_once_and_named_by_number_where_there_is_no_file(tmp_path: Path) -> None:
    first: Any = json.loads(compare(tmp_path, "--versions", "v1,v2", "--json"))
    again: Any = json.loads(compare(tmp_path, "--versions", "2,v1", "--json"))
    assert [cell["versionNumber"] for cell in first["cells"]] == [1, 2]
    assert [cell["versionNumber"] for cell in again["cells"]] == [2, 1]
    assert again["pairs"][0]["verdict"] == "better"
    assert set(again["pairs"][0]["fixed"]) == set(first["pairs"][0]["broken"]) == BROKEN


def test_an_unknown_version_is_wrong_usage(tmp_path: Path) -> None:
    assert "no version 'v9'" in compare(tmp_path, "--versions", "v1,v9", code=3)


def test_it_works_against_a_server_too(tmp_path: Path) -> None:
    replies = {"PROCTOR_REPLAY_DIR": str(EXAMPLE / "replies")}
    with running_platform(tmp_path / "state", **replies) as (url, key):
        said = compare(tmp_path, "--versions", "v1,v2", PROCTOR_SERVER=url, PROCTOR_API_KEY=key)
    assert "worse by 50 points" in said
