from __future__ import annotations

import json
from pathlib import Path
from uuid import uuid4

import pytest

from proctor_contracts.enums import Provider
from proctor_contracts.ids import new_id
from proctor_contracts.stability import StabilityReport
from proctor_contracts.verdicts import Stability
from tests.cli.platforms import FakePlatform, command, suite
from tests.reports.test_stability import steadiness


@pytest.fixture
def played(tmp_path: Path) -> FakePlatform:
    platform = FakePlatform()
    command(platform, "run", suite(tmp_path, "a"))
    platform.steady = StabilityReport(
        integration_id=platform.bot, like=new_id(), provider=Provider.HTTP, runs=8,
        counts={Stability.FLAKY: 1}, cases=(steadiness("ppfppppp"),),
    )  # fmt: skip
    return platform


def test_the_newest_runs_bot_is_read(played: FakePlatform) -> None:
    ended = command(played, "flaky", "--runs", "8", "--take", "3")
    assert (ended.code, played.asked_stability) == (0, [(played.bot, None, 8, 3)])
    assert "✓✓✗✓✓✓✓✓" in ended.out
    assert "first attempts of 8 runs" in ended.out


def test_a_run_says_under_which_conditions(played: FakePlatform) -> None:
    (run,) = played.documents
    assert command(played, "flaky", str(run)).code == 0
    assert played.asked_stability[0][:2] == (played.bot, run)
    assert command(played, "flaky", str(run), "--bot", "x").code == 3
    assert command(played, "flaky", str(uuid4())).code != 0


def test_a_bot_is_found_by_name_or_id(played: FakePlatform) -> None:
    name = next(iter(played.documents.values())).run.integration_name
    for bot in (name, str(played.bot)):
        assert command(played, "flaky", "--bot", bot).code == 0
    unknown = command(played, "flaky", "--bot", "nobody")
    assert (unknown.code, "no run of a bot 'nobody'" in unknown.err) == (3, True)


def test_it_can_be_read_by_scripts(played: FakePlatform) -> None:
    found = json.loads(command(played, "flaky", "--json").out)
    assert found["cases"][0]["stability"] == "flaky"


def test_no_runs_are_no_failure() -> None:
    ended = command(FakePlatform(), "flaky")
    assert (ended.code, ended.out) == (0, "")
