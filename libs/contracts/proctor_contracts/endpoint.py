"""How an agent is reached over HTTP: where to post, what to send, and where the answer is in the reply."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from .base import TRUSTED, Json, SafeText, Strict, unstorable
from .enums import Provider

__all__ = [
    "PLACEHOLDERS", "HttpEndpoint", "JsonPath", "SecretRef", "checked_headers", "endpoint_problem",
    "parse_path", "placeholders",
]  # fmt: skip

PLACEHOLDERS = ("message", "messages", "prompt", "conversationId", "externalUserId")
"""The names a template may use as `{{name}}`."""

_PLACEHOLDER = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
_STEP = re.compile(r"""\.([^.\[\]"'\s]+)|\[(\d{1,6})\]|\["([^"]+)"\]|\['([^']+)'\]""")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")
_FRAMING = frozenset({"content-length", "transfer-encoding"})
_BODY_DEPTH = 64


def parse_path(text: str) -> tuple[str | int, ...]:
    """Read `$.a.b[0]` (also `$["a.b"]`) into its steps: names and indexes.

    Raises:
        ValueError: saying where the path stops making sense.
    """
    if not text.startswith("$"):
        raise ValueError(f"a path starts with $, as in $.answer or $.choices[0].text; got {text!r}")
    steps: list[str | int] = []
    at = 1
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None:
            raise ValueError(
                f"cannot read the path {text!r} from position {at} ({text[at:][:20]!r}): "
                'use .name, [0] or ["odd name"]; wildcards and filters are not supported'
            )
        name, index, double, single = match.groups()
        steps.append(int(index) if index is not None else name or double or single)
        at = match.end()
    return tuple(steps)


def placeholders(text: str) -> list[str]:
    """List the names between double braces in a text, in order."""
    return [match.group(1) for match in _PLACEHOLDER.finditer(text)]


def _checked_path(text: str) -> str:
    parse_path(text)
    return text


JsonPath = Annotated[str, Field(max_length=300), AfterValidator(_checked_path)]
"""A path of the form `$.a.b[0]`, checked when it is read."""


class SecretRef(Strict):
    """A secret by name; the value comes from the process's environment or a file, never from a row."""

    secret: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$")


def checked_headers(headers: Mapping[str, str | SecretRef]) -> Mapping[str, str | SecretRef]:
    """Give headers back when they can be sent.

    Raises:
        ValueError: naming the header that cannot.
    """
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not a header name")
        if name.lower() in _FRAMING:
            raise ValueError(f"{name} says where a body ends, and is written by whoever sends it")
        if isinstance(value, str) and not _HEADER_VALUE.fullmatch(value):
            raise ValueError(f"the value of {name} holds a control character or a line break")
    return headers


class HttpEndpoint(Strict):
    """Where and how to reach an agent over HTTP.

    For provider `openai` only `url` (the base URL) and `headers` count. `headers` values and strings in
    `body` are templates over PLACEHOLDERS; a string that is nothing but a placeholder keeps its JSON type.
    """

    url: SafeText = Field(min_length=1, max_length=2000)
    method: Literal["GET", "POST", "PUT", "PATCH"] = "POST"
    headers: dict[str, SafeText | SecretRef] = Field(default_factory=dict)
    body: Json = None
    reply_path: JsonPath | None = None
    tool_calls_path: JsonPath | None = None
    tool_calls_optional: bool = False
    outcome_paths: dict[str, JsonPath] = Field(default_factory=dict)
    usage_path: JsonPath | None = None
    session_path: JsonPath | None = None
    timeout_ms: int = Field(default=60_000, ge=1, le=600_000)

    @field_validator("method", mode="before")
    @classmethod
    def _upper(cls, value: Any) -> Any:
        return value.upper() if isinstance(value, str) else value

    @field_validator("url")
    @classmethod
    def _fixed_http_url(cls, url: str) -> str:
        if not url.lower().startswith(("http://", "https://")):
            raise ValueError("is an absolute http:// or https:// URL")
        if "{{" in url:
            raise ValueError("holds no {{placeholders}}: send them in the body or a header")
        return url

    @field_validator("headers")
    @classmethod
    def _sendable(cls, headers: dict[str, str | SecretRef]) -> dict[str, str | SecretRef]:
        checked_headers(headers)
        for name, value in headers.items():
            if isinstance(value, str):
                _check_placeholders(value, where=f"header {name}")
        return headers

    @field_validator("body")
    @classmethod
    def _known_placeholders(cls, body: Json, info: ValidationInfo) -> Json:
        # What comes over the bus was checked when it was saved, and comes once for every case.
        if info.context != TRUSTED:
            _check_body(body, where="body", depth=0)
        return body


def endpoint_problem(provider: Provider, endpoint: HttpEndpoint | None) -> str | None:
    """Say what an integration's endpoint lacks for its provider, or None when it will do."""
    if provider is not Provider.HTTP:
        return None
    if endpoint is None:
        return "endpoint is required for provider http: {url, body, replyPath, …}"
    if endpoint.reply_path is None:
        return (
            "endpoint.replyPath is required for provider http: where in the reply is the answer, as $.answer"
        )
    if endpoint.body is None and endpoint.method != "GET":
        return 'endpoint.body is required for provider http: what to send, as {"message": "{{message}}"}'
    return None


def _check_placeholders(text: str, *, where: str) -> None:
    for name in placeholders(text):
        if name not in PLACEHOLDERS:
            known = ", ".join(f"{{{{{one}}}}}" for one in PLACEHOLDERS)
            raise ValueError(f"{where}: unknown placeholder {{{{{name}}}}}; known are {known}")


def _check_body(value: Json, *, where: str, depth: int) -> None:
    if depth > _BODY_DEPTH:
        raise ValueError(f"is nested deeper than {_BODY_DEPTH} levels")
    match value:
        case str():
            if reason := unstorable(value):
                raise ValueError(f"{where} {reason}")
            _check_placeholders(value, where=where)
        case dict():
            for key, item in value.items():
                _check_body(item, where=f"{where}.{key}", depth=depth + 1)
        case list():
            for index, item in enumerate(value):
                _check_body(item, where=f"{where}[{index}]", depth=depth + 1)
        case _:
            pass
