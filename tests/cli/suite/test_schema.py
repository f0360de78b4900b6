from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from proctor_cli.suite.schema import suite_schema

ROOT = Path(__file__).parents[3]


def test_the_published_schema_is_the_one_the_code_makes() -> None:
    published = json.loads((ROOT / "docs" / "suite.schema.json").read_text(encoding="utf-8"))
    assert published == suite_schema(), "write it anew: proctor validate --schema > docs/suite.schema.json"


def test_the_example_suite_is_valid_by_the_schema_and_typing_errors_are_not() -> None:
    schema = suite_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    suite = yaml.safe_load((ROOT / "examples" / "support-bot" / "suite.yaml").read_text(encoding="utf-8"))
    jsonschema.validate(suite, schema)
    suite["integration"]["agentPromt"] = "x"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(suite, schema)
