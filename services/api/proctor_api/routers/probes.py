"""/healthz, /readyz and /metrics for whoever runs the service, and the description of its messages."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import orjson
from fastapi import APIRouter, Request, Response

from proctor_api.probes import Probes
from proctor_chassis.metrics import CONTENT_TYPE

__all__ = ["router"]

router = APIRouter(include_in_schema=False)


@router.get("/healthz")
async def healthz() -> Response:
    """Say that the process answers."""
    return _json({"status": "ok"})


@router.get("/readyz")
async def readyz(request: Request) -> Response:
    """Say whether requests can be served, and how the parts are."""
    probes: Probes = request.app.state.probes
    ready, facts = await probes.readiness()
    return _json(facts, status=200 if ready else 503)


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """Show what is counted, in the text form of Prometheus."""
    probes: Probes = request.app.state.probes
    return Response(await probes.metrics(), media_type=CONTENT_TYPE)


@router.get("/api/asyncapi.json")
async def asyncapi() -> Response:
    """Describe what travels over the message broker (AsyncAPI 3.0)."""
    found = (files("proctor_contracts") / "asyncapi.json").read_bytes()
    return Response(found, media_type="application/json")


def _json(body: dict[str, Any], *, status: int = 200) -> Response:
    return Response(orjson.dumps(body), status, media_type="application/json")
