"""What routes are given: the caller, the services, the page; and how a request is read before that."""

from __future__ import annotations

import email.message
from collections.abc import Callable, Collection, Coroutine
from typing import Annotated, Any

from fastapi import Depends, Query, Request, Response, Security
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ValidationError
from typing_extensions import override

from proctor_contracts.base import unstorable
from proctor_contracts.schemas.common import FieldProblem
from proctor_store.paging import DEFAULT_TAKE, MAX_SKIP, MAX_TAKE, Page, read_cursor

from .auth import Caller, private_only
from .errors import ApiError, bad_request
from .jsonbody import read_json
from .problems import validation_error
from .wiring import Services

__all__ = ["JsonBody", "LongPaging", "Owner", "Paging", "ProctorRoute", "Reader", "Uses"]

_bearer = HTTPBearer(
    bearerFormat="sk_… or pk_…",
    description="An API key. A public key (pk_…) may only read runs, results and events, and push captures.",
    auto_error=False,
)


class ProctorRoute(APIRoute):
    """A route that knows its caller before it reads anything else."""

    @override
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handler(request: Request) -> Response:
            services: Services = request.app.state.services
            header = request.headers.get("authorization")
            request.state.caller = await services.authenticator.authenticate(header)
            _storable_query(request)
            return await handle(request)

        return handler


class JsonBody:
    """A dependency that reads the body strictly as a model; an empty body is `{}` where that is allowed.

    `bare` is the field that a bare array stands for; in the fields `spoken` stands what bots said.
    """

    def __init__(
        self,
        model: type[BaseModel],
        *,
        raw: bool = False,
        optional: bool = False,
        bare: str | None = None,
        spoken: Collection[str] = (),
    ) -> None:
        self.model = model
        self.optional = optional
        self._raw = raw
        self._bare = bare
        self._spoken = spoken

    async def __call__(self, request: Request) -> Any:
        """Read and validate; with `raw`, give the document back as it is.

        Raises:
            ApiError: 400 naming the fields, 413, 415.
        """
        body = await request.body()
        if not body and self.optional:
            document = {}
        else:
            _json_only(request.headers.get("content-type"))
            document = read_json(body, spoken=self._spoken)
        if self._bare is not None and isinstance(document, list):
            document = {self._bare: document}
        if not isinstance(document, dict):
            raise bad_request(detail="the body should be a JSON object")
        if self._raw:
            return document
        try:
            return self.model.model_validate(document)
        except ValidationError as error:
            raise validation_error(error.errors(include_url=False), document) from error


def _storable_query(request: Request) -> None:
    problems = [
        FieldProblem(path=name, message=reason, code="unstorable")
        for name, value in request.query_params.multi_items()
        if (reason := unstorable(value))
    ]
    if problems:
        raise bad_request(problems)


def _json_only(content_type: str | None) -> None:
    message = email.message.Message()
    message["content-type"] = content_type or ""
    subtype = message.get_content_subtype()
    json = message.get_content_maintype() == "application" and (
        subtype == "json" or subtype.endswith("+json")
    )
    charset = message.get_content_charset("utf-8")
    if content_type is None or not json or charset not in {"utf-8", "utf8"}:
        given = repr(content_type[:100]) if content_type else "none"
        raise ApiError(
            415, "unsupported_media_type", f"send application/json in UTF-8; Content-Type was {given}"
        )


def _reader(request: Request, _scheme: Annotated[object, Security(_bearer)]) -> Caller:
    caller: Caller = request.state.caller
    return caller


def _owner(caller: Annotated[Caller, Depends(_reader)]) -> Caller:
    return private_only(caller)


def _services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


Cursor = Annotated[
    str | None, Query(max_length=64, description="`meta.nextCursor` of the page before; instead of `skip`")
]
Skip = Annotated[int, Query(ge=0, le=MAX_SKIP)]


def _page(
    take: Annotated[int, Query(ge=1, le=MAX_TAKE)] = DEFAULT_TAKE, skip: Skip = 0, cursor: Cursor = None
) -> Page:
    return Page(take, skip, None if cursor is None else read_cursor(cursor))


def _long_page(
    take: Annotated[int, Query(ge=1, le=MAX_TAKE)] = MAX_TAKE, skip: Skip = 0, cursor: Cursor = None
) -> Page:
    return Page(take, skip, None if cursor is None else read_cursor(cursor))


Uses = Annotated[Services, Depends(_services)]
Reader = Annotated[Caller, Depends(_reader)]
Owner = Annotated[Caller, Depends(_owner)]
Paging = Annotated[Page, Depends(_page)]
LongPaging = Annotated[Page, Depends(_long_page)]
