"""The JSON Schema of suite files, for editors."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from proctor_contracts.cases import CaseFields

from .model import FileReference, SuiteHeader

__all__ = ["suite_schema"]


class _SuiteFile(SuiteHeader):
    """A Proctor suite: the bot, how to run it, what a release needs, and the cases."""

    cases: Annotated[tuple[CaseFields | FileReference, ...], Field(default=())]
    golden: Annotated[
        str | FileReference | tuple[str, ...] | None,
        Field(default=None, description="Golden datasets: [{id, input, expected: {department, tools, …}}]"),
    ]


def suite_schema() -> dict[str, Any]:
    """Describe suite files as JSON Schema (2020-12), in the names written in them."""
    schema = _SuiteFile.model_json_schema(by_alias=True, mode="validation")
    # A prompt may stand in a file of its own; once loaded it is text, so only the written form says so.
    prompt = schema["$defs"]["SuiteIntegration"]["properties"]["agentPrompt"]
    prompt["anyOf"] = [{"type": prompt.pop("type")}, {"$ref": "#/$defs/FileReference"}]
    prompt.pop("maxLength", None)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "Proctor suite",
    }
