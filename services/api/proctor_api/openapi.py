"""The OpenAPI document: what runs, with problems as they are answered and without what never is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from proctor_contracts.schemas.common import Problem

from .dependencies import JsonBody
from .responses import PROBLEM

__all__ = ["openapi_document"]

_REF = "#/components/schemas/{model}"
_NEVER = ("HTTPValidationError", "ValidationError")


def openapi_document(app: FastAPI, routers: Iterable[APIRouter], *, prefix: str) -> dict[str, Any]:
    """Describe the routes; every operation may answer with a problem, and 422 is never used."""
    document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for router in routers:
        for route in router.routes:
            if isinstance(route, APIRoute) and (body := _body(route)) is not None:
                _describe_body(document, f"{prefix}{route.path}", route.methods or (), body)
    problem = Problem.model_json_schema(mode="serialization", ref_template=_REF)
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


def _body(route: APIRoute) -> JsonBody | None:
    calls = (dependency.call for dependency in route.dependant.dependencies)
    return next((call for call in calls if isinstance(call, JsonBody)), None)


def _describe_body(document: dict[str, Any], path: str, methods: Iterable[str], body: JsonBody) -> None:
    schemas = document["components"]["schemas"]
    schema = body.model.model_json_schema(mode="validation", ref_template=_REF)
    for name, part in schema.pop("$defs", {}).items():
        schemas.setdefault(name, part)
    schemas.setdefault(body.model.__name__, schema)
    content = {"application/json": {"schema": {"$ref": _REF.format(model=body.model.__name__)}}}
    for method in methods:
        operation = document["paths"][path][method.lower()]
        operation["requestBody"] = {"required": not body.optional, "content": content}
