"""The OpenAPI document: what runs, with problems as they are answered and without what never is."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from proctor_contracts.schemas.common import Problem

from .responses import PROBLEM

__all__ = ["openapi_document"]

_NEVER = ("HTTPValidationError", "ValidationError")


def openapi_document(app: FastAPI) -> dict[str, Any]:
    """Describe the routes; every operation may answer with a problem, and 422 is never used."""
    document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    problem = Problem.model_json_schema(mode="serialization", ref_template="#/components/schemas/{model}")
    schemas.update(problem.pop("$defs", {}))
    schemas["Problem"] = problem
    for name in _NEVER:
        schemas.pop(name, None)
    failure = {
        "description": "What went wrong and what to do about it (RFC 9457)",
        "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for path in document.get("paths", {}).values():
        for operation in path.values():
            operation["responses"].pop("422", None)
            operation["responses"]["default"] = failure
    return document
