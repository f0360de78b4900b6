from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.support.repository import ROOT, relative

LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s#]+)(#[^)\s]*)?\)")
SERVICES = {"api", "runner", "judge", "scheduler", "alerter"}


def committed() -> list[Path]:
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed")
    listed = subprocess.run([git, "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def pages() -> list[Path]:
    return [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")]


def test_no_file_names_a_place_on_somebodys_machine() -> None:
    places = [f"{ROOT}/".encode(), f"{Path.home()}/".encode()]
    found = [relative(path) for path in committed() if any(place in path.read_bytes() for place in places)]
    assert found == []


def test_no_large_or_generated_file_is_committed() -> None:
    megabyte = 1024 * 1024
    assert [relative(path) for path in committed() if path.stat().st_size > megabyte] == []
    generated = {".pyc", ".db", ".sqlite", ".log"}
    assert [relative(path) for path in committed() if path.suffix in generated] == []


def test_links_between_pages_lead_somewhere() -> None:
    broken = []
    for page in pages():
        for target, _ in LINK.findall(page.read_text(encoding="utf-8")):
            if "://" not in target and not (page.parent / target).exists():
                broken.append(f"{relative(page)} -> {target}")
    assert broken == []


def test_decisions_are_numbered_without_gaps_and_listed() -> None:
    records = sorted((ROOT / "docs/adr").glob("[0-9]*.md"))
    numbers = [int(path.name[:4]) for path in records]
    assert numbers == list(range(1, len(numbers) + 1))
    listed = (ROOT / "docs/adr/README.md").read_text(encoding="utf-8")
    assert [path.name for path in records if path.name not in listed] == []


def test_the_compose_file_runs_every_service_from_one_dockerfile() -> None:
    document = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    services = document["services"]
    assert SERVICES | {"migrate", "postgres", "rabbitmq"} <= set(services)
    for name in SERVICES:
        assert services[name]["command"] == ["proctor", "serve", name]
        assert services[name]["build"]["args"] == {"SERVICE": name}
        assert services[name]["build"]["dockerfile"] == "deploy/Dockerfile"


def test_workers_in_the_compose_file_hold_no_database_credentials() -> None:
    document = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    for worker in ("runner", "judge"):
        assert "PROCTOR_AMQP_URL" in document["services"][worker]["environment"]
        assert "PROCTOR_DATABASE_URL" not in document["services"][worker]["environment"]


def test_the_check_that_every_change_passes_can_be_run() -> None:
    script = ROOT / ".ci/run"
    assert os.access(script, os.X_OK)
    targets = re.findall(r"^make ([a-z-]+)$", script.read_text(encoding="utf-8"), flags=re.MULTILINE)
    defined = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert {"lint", "test", "demo"} <= set(targets) <= set(defined)
