from __future__ import annotations

import re
from pathlib import Path

import yaml

from proctor_cli.suite.load import load_suite
from proctor_contracts.enums import Provider
from tests.support.repository import ROOT, python_files

VARIABLE = re.compile(r"\bPROCTOR_[A-Z][A-Z_]*[A-Z]\b")
METRIC = re.compile(r"`(proctor_[a-z_]+)`")
# Prefixes of names, and variables of the test servers' own.
FAMILIES = {"PROCTOR_SECRET"}


def sources() -> str:
    files = (*python_files("libs", "services"), ROOT / "deploy/Dockerfile", ROOT / "docker-compose.yml")
    return "\n".join(path.read_text(encoding="utf-8") for path in files)


def operations() -> str:
    return (ROOT / "docs/operations.md").read_text(encoding="utf-8")


def fenced(language: str) -> list[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def test_every_documented_variable_is_read_somewhere() -> None:
    known = set(VARIABLE.findall(sources())) | FAMILIES
    assert set(VARIABLE.findall(operations())) - known == set()


def test_every_documented_metric_is_counted_somewhere() -> None:
    text = sources()
    documented = {name.removesuffix("_total") for name in METRIC.findall(operations())}
    assert len(documented) > 5
    assert [name for name in documented if f'"{name}"' not in text] == []


def test_the_suite_in_the_readme_can_be_loaded(tmp_path: Path) -> None:
    (text,) = fenced("yaml")
    path = tmp_path / "suite.yaml"
    path.write_text(text, encoding="utf-8")
    suite = load_suite(path, {})
    assert len(suite.cases) == len(yaml.safe_load(text)["cases"])
    assert suite.integration.provider is Provider.HTTP
    assert list(suite.warnings) == []


def test_every_kind_of_check_is_named_in_the_readme() -> None:
    schema = (ROOT / "libs/contracts/proctor_contracts/assertions.py").read_text(encoding="utf-8")
    kinds = set(re.findall(r'kind: Literal\["([a-z_]+)"\]', schema))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(kinds) >= 14
    assert [kind for kind in kinds if f"`{kind}`" not in readme] == []
