"""The API over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from typing_extensions import override

from proctor_contracts.schemas.common import FieldProblem
from proctor_store.paging import BadPage
from proctor_store.session import StoreUnavailable

from .errors import ApiError, bad_request, not_found, unavailable
from .middleware import BodyLimit, Heads, RequestId, Surprises
from .openapi import openapi_document
from .probes import Probes
from .problems import validation_error
from .responses import problem_response
from .routers import (
    agents,
    alerts,
    bite,
    captures,
    cases,
    compares,
    events,
    imports,
    integrations,
    keys,
    packs,
    probes,
    replay,
    runs,
    schedules,
)
from .sse import HEARTBEAT_SECONDS
from .wiring import Services

__all__ = ["Lifespan", "create_app"]

Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]

_PREFIX = "/api"
_ROUTERS = (
    integrations.router,
    keys.router,
    imports.router,
    packs.router,
    replay.router,
    cases.router,
    captures.router,
    bite.router,
    runs.router,
    events.router,
    agents.router,
    compares.router,
    schedules.router,
    alerts.router,
)


class _App(FastAPI):
    @override
    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            self.openapi_schema = openapi_document(self, _ROUTERS, prefix=_PREFIX)
        return self.openapi_schema


def create_app(
    services: Services,
    probes_: Probes,
    *,
    lifespan: Lifespan | None = None,
    heartbeat_seconds: float = HEARTBEAT_SECONDS,
) -> FastAPI:
    """Attach routes, errors and middlewares to the use cases."""
    app = _App(
        title="Proctor",
        version="1",
        description="Tests conversational AI agents: integrations, cases, runs, results and live events.",
        openapi_url="/api/openapi.json",
        docs_url="/api/docs",
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    app.state.services = services
    app.state.probes = probes_
    app.state.heartbeat_seconds = heartbeat_seconds
    for router in _ROUTERS:
        app.include_router(router, prefix=_PREFIX)
    app.include_router(probes.router)
    _answer_errors(app)
    # The last one added is the outermost: an id first, then a net for surprises, then the size of the body.
    app.add_middleware(Heads)
    app.add_middleware(BodyLimit)
    app.add_middleware(Surprises)
    app.add_middleware(RequestId)
    return app


def _answer_errors(app: FastAPI) -> None:
    def problem(request: Request, error: ApiError) -> Response:
        return problem_response(error, getattr(request.state, "request_id", None))

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, ApiError)  # noqa: S101 - registered for this class below
        return problem(request, error)

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)  # noqa: S101 - as above
        return problem(request, _invalid(error))

    async def bad_page(request: Request, error: Exception) -> Response:
        assert isinstance(error, BadPage)  # noqa: S101 - as above
        return problem(request, bad_request([FieldProblem(path=error.field, message=error.message)]))

    async def away(request: Request, _error: Exception) -> Response:
        return problem(request, unavailable("the database cannot be reached; nothing was written, try again"))

    async def framework(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101 - as above
        response = problem(request, _framework(request, error))
        if error.headers:
            response.headers.update(error.headers)
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED and (methods := _allowed(request.url.path)):
            response.headers["allow"] = ", ".join(methods)
        return response

    app.add_exception_handler(ApiError, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(BadPage, bad_page)
    app.add_exception_handler(StoreUnavailable, away)
    app.add_exception_handler(HTTPException, framework)


def _allowed(path: str) -> list[str]:
    """List what a path knows, over all its routes; the framework names only the methods of the first."""
    below = path.removeprefix(_PREFIX)
    found = {
        method
        for router in _ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute) and route.path_regex.fullmatch(below)
        for method in route.methods or ()
    }
    return sorted(found | {"HEAD"} if "GET" in found else found)


def _invalid(error: RequestValidationError) -> ApiError:
    errors = error.errors()
    if any(one["loc"][0] == "path" for one in errors):
        return not_found("row")
    for one in errors:
        one["loc"] = one["loc"][1:]
    document = error.body if isinstance(error.body, dict) else {}
    return validation_error(errors, document)


def _framework(request: Request, error: HTTPException) -> ApiError:
    match error.status_code:
        case HTTPStatus.NOT_FOUND:
            return ApiError(404, "no_such_route", f"there is nothing at {request.url.path}")
        case HTTPStatus.METHOD_NOT_ALLOWED:
            return ApiError(
                405, "method_not_allowed", f"{request.method} is not possible at {request.url.path}"
            )
        case status:
            return ApiError(status, "refused", str(error.detail))
