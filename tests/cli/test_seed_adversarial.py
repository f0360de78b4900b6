"""`proctor seed-adversarial`: into the platform, or into a file that needs none."""

from __future__ import annotations

import json
from pathlib import Path

import yaml
from aiohttp import web

from proctor_cli.suite.checks import checked
from proctor_cli.suite.load import load_suite
from proctor_contracts.schemas.adversarial import (
    AdversarialLocale,
    AdversarialPack,
    SeedAdversarial,
    SeedOutcome,
)
from tests.cli.platforms import FakePlatform, command
from tests.cli.test_case_files import server
from tests.cli.test_embedded import proctor
from tests.reports.documents import uid

SUITE = """\
integration: {name: bot, provider: replay, agentPrompt: Sell shoes and be kind to whoever asks you for help.}
judge: {provider: anthropic, model: claude-sonnet-4-5}
cases: [{file: security.yaml}]
"""


def test_the_platform_gets_what_was_asked_for() -> None:
    platform = FakePlatform()
    ended = command(
        platform,
        *("seed-adversarial", "--integration", "bot", "--locale", "both", "--pack", "extended"),
        *("--brand", "Acme", "--brand-cyr", "Акме", "--competitor", "Globex", "--competitor", "C++"),
        *("--without", "judge"),
    )
    assert (ended.code, ended.out) == (0, "8 cases: 8 created, 0 skipped\n")
    (wanted,) = platform.seeded
    assert wanted.integration_id == platform.bot
    assert (wanted.locale, wanted.pack) == (AdversarialLocale.BOTH, AdversarialPack.EXTENDED)
    assert (wanted.brand, wanted.brand_cyr, wanted.competitors) == ("Acme", "Акме", ("Globex", "C++"))
    assert not wanted.judge


def test_the_defaults_are_the_apis() -> None:
    platform = FakePlatform()
    ended = command(platform, "seed-adversarial", "--integration", "bot", "--json")
    assert json.loads(ended.out) == {"created": 8, "skipped": 0, "total": 8, "warnings": []}
    (wanted,) = platform.seeded
    assert (wanted.locale, wanted.pack) == (AdversarialLocale.UK, AdversarialPack.CORE)
    assert (wanted.brand, wanted.competitors, wanted.judge) == (None, (), True)


async def test_a_server_is_sent_only_what_was_given() -> None:
    seen: list[object] = []

    async def take(request: web.Request) -> web.Response:
        seen.append(await request.json())
        return web.json_response({"data": {"created": 8, "skipped": 0, "total": 8}}, status=201)

    async with server(("POST", "/api/testing/cases/seed-adversarial", take)) as platform:
        outcome = await platform.seed_adversarial(SeedAdversarial(integration_id=uid(1), brand="Acme"))
    assert outcome == SeedOutcome(created=8, skipped=0, total=8)
    assert seen == [{"integrationId": str(uid(1)), "brand": "Acme"}]


def test_a_platform_in_one_process_is_seeded_twice(tmp_path: Path) -> None:
    assert proctor(tmp_path, "init").returncode == 0
    assert proctor(tmp_path, "run", "suite.yaml").returncode == 0
    name = yaml.safe_load((tmp_path / "suite.yaml").read_text(encoding="utf-8"))["integration"]["name"]
    said = [proctor(tmp_path, "seed-adversarial", "--integration", name).stdout for _ in range(2)]
    assert said == ["8 cases: 8 created, 0 skipped\n", "8 cases: 0 created, 8 skipped\n"]


def test_a_file_is_taken_in_by_a_suite(tmp_path: Path) -> None:
    for pack, count in (("core", 16), ("extended", 40)):
        file = tmp_path / "security.yaml"
        ended = command(
            FakePlatform(),
            *("seed-adversarial", "--out", str(file), "--locale", "both", "--pack", pack, "--force"),
            *("--brand", "Acme", "--brand-cyr", "Акме", "--competitor", "Globex", "--tool", "get_order"),
        )
        assert ended.code == 0
        assert f"wrote {count} cases" in ended.out
        (tmp_path / "suite.yaml").write_text(SUITE, encoding="utf-8")
        suite = load_suite(tmp_path / "suite.yaml", {})
        assert len(suite.cases) == count
        assert checked(suite).problems == []


def test_what_a_file_cannot_check_can_be_left_out(tmp_path: Path) -> None:
    file = tmp_path / "security.yaml"
    parts = ("--without", "tools", "--without", "prompt", "--without", "judge")
    ended = command(
        FakePlatform(),
        "seed-adversarial",
        "--out",
        str(file),
        "--pack",
        "extended",
        "--brand",
        "Acme",
        *parts,
    )
    assert ended.code == 0
    assert "tool calls of this bot are not recorded" in ended.err
    text = file.read_text(encoding="utf-8")
    assert not any(
        f"kind: {kind}\n" in text for kind in ("tool_policy", "tool_call", "no_prompt_leak", "judge")
    )


def test_a_file_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    file = tmp_path / "security.yaml"
    file.write_text("mine", encoding="utf-8")
    ended = command(FakePlatform(), "seed-adversarial", "--out", str(file))
    assert ended.code == 3
    assert "--force" in ended.err
    assert file.read_text(encoding="utf-8") == "mine"


def test_wrong_usage_is_named(tmp_path: Path) -> None:
    out = ("--out", str(tmp_path / "security.yaml"))
    for options, says in (
        ((), "--out"),
        ((*out, "--integration", "bot"), "--out"),
        (("--integration", "bot", "--tool", "get_order"), "--tool"),
        (("--integration", "bot", "--without", "tools"), "--without"),
        ((*out, "--locale", "pl"), "--locale"),
        ((*out, "--brand", "x" * 65), "--brand"),
        ((*out, "--brand-cyr", "x" * 65), "--brand-cyr"),
        ((*out, "--brand", "Acme", "--competitor", "acm"), "'acm'"),
        ((*out, "--competitor", "x" * 65), "--competitor"),
    ):
        ended = command(FakePlatform(), "seed-adversarial", *options)
        assert ended.code == 3
        assert says in ended.err
    assert list(tmp_path.iterdir()) == []
