from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest
import yaml

from proctor_cli.suite.load import load_suite
from proctor_contracts.assertions import Assertion, JsonWhere, LatencyMetric
from proctor_contracts.base import Strict
from proctor_contracts.cases import CaseFields
from proctor_contracts.enums import Provider
from proctor_contracts.gate import GateSettings
from tests.support.repository import ROOT, python_files

VARIABLE = re.compile(r"\bPROCTOR_[A-Z][A-Z_]*[A-Z]\b")
METRIC = re.compile(r"`(proctor_[a-z_]+)`")
# Prefixes of names, and variables of the test servers' own.
FAMILIES = {"PROCTOR_SECRET"}
# Words in the table of checks that are values of a field, not fields.
CHOICES = (LatencyMetric, JsonWhere)


def sources() -> str:
    files = (*python_files("libs", "services"), ROOT / "deploy/Dockerfile", ROOT / "docker-compose.yml")
    return "\n".join(path.read_text(encoding="utf-8") for path in files)


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def operations() -> str:
    return page("docs/operations.md")


def fenced(language: str) -> list[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def test_every_documented_variable_is_read_somewhere() -> None:
    known = set(VARIABLE.findall(sources())) | FAMILIES
    assert set(VARIABLE.findall(operations())) - known == set()


def test_every_variable_that_is_read_is_documented() -> None:
    read = set(VARIABLE.findall("\n".join(path.read_text() for path in python_files("libs", "services"))))
    placeholders = {"PROCTOR_SECRET_NAME"}
    assert read - set(VARIABLE.findall(operations())) - FAMILIES - placeholders == set()


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


def kinds() -> dict[str, type[Strict]]:
    """Every kind of check and its model."""
    members = get_args(get_args(Assertion)[0])
    return {member.model_fields["kind"].default: member for member in members}


@pytest.mark.parametrize("name", ["README.md", "docs/suites.md"])
def test_every_kind_of_check_is_named(name: str) -> None:
    text = page(name)
    assert len(kinds()) >= 14
    assert [kind for kind in kinds() if f"`{kind}`" not in text] == []


def test_the_fields_that_a_check_is_said_to_have_exist() -> None:
    rows = re.findall(r"^\| (`[a-z_`, ]+) \|([^|]*)\|", page("docs/suites.md"), flags=re.MULTILINE)
    checked = 0
    for names, fields in rows:
        for kind in re.findall(r"`([a-z_]+)`", names):
            if kind not in kinds():
                continue
            known = {field.alias or name for name, field in kinds()[kind].model_fields.items()}
            known |= {value for choice in CHOICES for value in choice}
            assert set(re.findall(r"`([A-Za-z0-9]+)`", fields)) - known == set(), kind
            checked += 1
    assert checked == len(kinds())


def test_every_field_of_a_case_and_a_gate_is_explained() -> None:
    text = page("docs/suites.md")
    fields = [*CaseFields.model_fields.items(), *GateSettings.model_fields.items()]
    assert [name for name, field in fields if f"{field.alias or name}" not in text] == []
