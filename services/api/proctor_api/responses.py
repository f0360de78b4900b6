"""Answers as bytes: envelopes, pages with their link, problems."""

from __future__ import annotations

from http import HTTPStatus

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from proctor_contracts.schemas.common import Data, Meta, Problem

from .errors import ApiError

__all__ = ["PROBLEM", "answer", "enveloped", "nothing", "page_answer", "problem_response"]

PROBLEM = "application/problem+json"


def answer(model: BaseModel, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Write a model out as it stands; it is not validated a second time."""
    body = model.model_dump_json(by_alias=True)
    return Response(body, status, headers, media_type="application/json")


def enveloped(value: object, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Write `{"data": value}`."""
    return answer(Data[object].model_construct(data=value), status=status, headers=headers)


def page_answer(request: Request, model: BaseModel, meta: Meta) -> Response:
    """Write a page, with the link to the next one."""
    headers = {}
    if meta.next_cursor is not None:
        following = request.url.remove_query_params("skip").include_query_params(cursor=meta.next_cursor)
        headers["Link"] = f'<{following.path}?{following.query}>; rel="next"'
    return answer(model, headers=headers)


def nothing() -> Response:
    """Say that it is gone."""
    return Response(status_code=204)


def problem_response(error: ApiError, request_id: str | None) -> Response:
    """Write an error as RFC 9457 problem details."""
    problem = Problem(
        title=HTTPStatus(error.status).phrase,
        status=error.status,
        detail=error.detail,
        code=error.code,
        errors=error.errors,
        request_id=request_id,
    )
    headers: dict[str, str] = {}
    if error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    if error.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = 'Bearer realm="proctor"'
    body = problem.model_dump_json(by_alias=True)
    return Response(body, error.status, headers, media_type=PROBLEM)
