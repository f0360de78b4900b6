"""Naming versions and writing the matrix that the command asks for."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from proctor_cli.comparing import compare_request, named_versions, suite_of
from proctor_cli.exits import ExitCode, Stop
from proctor_contracts.enums import Provider
from proctor_contracts.schemas.runs import RunCreate
from tests.cli.platforms import FakePlatform


async def test_a_file_becomes_a_draft_once_and_numbers_name_what_is_there(tmp_path: Path) -> None:
    platform = FakePlatform()
    agent = (await platform.agent_of(platform.bot)).id
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts/short.md").write_text("Коротко.\n", encoding="utf-8")
    (tmp_path / "prompts/v7.txt").write_text("one", encoding="utf-8")
    found = await named_versions(platform, agent, ["v1", "short", "2", "short", "v7"], tmp_path)
    assert [version.version_number for version in found] == [1, 2, 2, 2, 1]
    assert (found[1].prompt, found[1].notes) == ("Коротко.\n", "prompts/short.md")
    assert len(platform.kept) == 2


@pytest.mark.parametrize("name", ["v9", "nobody", "v0"])
async def test_a_name_that_is_neither_file_nor_number_is_wrong_usage(name: str, tmp_path: Path) -> None:
    platform = FakePlatform()
    agent = (await platform.agent_of(platform.bot)).id
    with pytest.raises(Stop) as stopped:
        await named_versions(platform, agent, [name], tmp_path)
    assert stopped.value.code is ExitCode.USAGE


async def test_every_version_is_played_with_every_model_by_what_the_suite_says() -> None:
    platform = FakePlatform()
    agent = (await platform.agent_of(platform.bot)).id
    versions = [*await platform.versions(agent)] * 2
    run = RunCreate(
        integration_id=uuid4(), case_ids=(case := uuid4(),), repeats=3, budget_cents=10.9, pool="high",
        concurrency=7,
    )  # fmt: skip
    models = [(Provider.OPENAI, "gpt"), (Provider.ANTHROPIC, "claude")]
    body = compare_request(run, versions, models)
    assert [(cell.provider, cell.model, cell.pool) for cell in body.matrix] == [
        (Provider.OPENAI, "gpt", "high"),
        (Provider.ANTHROPIC, "claude", "high"),
    ] * 2
    assert (body.case_ids, body.repeats, body.budget_cents, body.concurrency) == ((case,), 3, 10, 7)
    assert body.baseline == 0
    own = compare_request(RunCreate(integration_id=uuid4()), versions, [])
    assert [cell.model_fields_set for cell in own.matrix] == [{"prompt_version_id"}] * 2


def test_a_folder_means_its_matrix_suite_before_its_other_one(tmp_path: Path) -> None:
    with pytest.raises(Stop):
        suite_of(tmp_path)
    (tmp_path / "suite.yaml").touch()
    assert suite_of(tmp_path) == tmp_path / "suite.yaml"
    (tmp_path / "compare.yaml").touch()
    assert suite_of(tmp_path) == tmp_path / "compare.yaml"
    assert suite_of(tmp_path / "suite.yaml") == tmp_path / "suite.yaml"
