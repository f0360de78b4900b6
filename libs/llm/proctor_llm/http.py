"""The bot's own HTTP endpoint, as the integration describes it."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

import aiohttp
import orjson

from proctor_contracts.base import Json
from proctor_contracts.endpoint import HttpEndpoint, SecretRef
from proctor_contracts.enums import Blame

from .calls import Caller, Tally
from .door import Door, SecretSource, Surroundings
from .errors import LlmError, LlmErrorCode
from .faults import connection_fault, too_large
from .http_reply import ReplyPaths, ShapeError, read_bubbles, read_calls, read_usage
from .replies import clean, excerpt, loads
from .retry import parse_retry_after
from .templates import Values, compile_template, template_values
from .types import ChatRequest, Completion, Finish

__all__ = ["MAX_REPLY_BYTES", "HttpClient"]

MAX_REPLY_BYTES = 4 * 1024 * 1024

_PEER = "the agent's endpoint"
_EXCERPT_BYTES = 2_000
_HEADERS = (("Content-Type", "application/json"), ("Accept", "application/json"))


class HttpClient:
    """Posts the rendered template and reads the reply by the endpoint's paths."""

    def __init__(
        self,
        *,
        endpoint: HttpEndpoint,
        door: Door,
        secrets: SecretSource,
        caller: Caller,
        surroundings: Surroundings,
    ) -> None:
        self._endpoint = endpoint
        self._door = door
        self._secrets = secrets
        self._caller = caller
        self._surroundings = surroundings
        self._paths = ReplyPaths.of(endpoint)
        self._body = compile_template(endpoint.body)
        self._headers = {
            name: value if isinstance(value, SecretRef) else compile_template(value)
            for name, value in endpoint.headers.items()
        }
        given = {name.lower() for name in endpoint.headers}
        self._default_headers = {name: value for name, value in _HEADERS if name.lower() not in given}
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=10.0)

    async def complete(self, request: ChatRequest, *, deadline: float) -> Completion:
        """Send one user turn; see LlmClient."""
        values = template_values(request)
        headers = self._render_headers(values)
        data = None if self._endpoint.body is None else _dump(self._body(values))

        async def attempt(tally: Tally) -> Completion:
            return await self._post(headers, data, tally, model=request.model)

        return await self._caller.call(
            attempt, model=request.model, deadline=deadline, try_seconds=self._endpoint.timeout_ms / 1000
        )

    async def prepare(self) -> None:
        """Nothing is loaded late."""

    async def aclose(self) -> None:
        """Hold nothing: the door owns the connections."""

    async def _post(
        self, headers: dict[str, str], data: bytes | None, tally: Tally, *, model: str
    ) -> Completion:
        clock = self._surroundings.monotonic
        endpoint = self._endpoint
        started = clock()
        try:
            async with self._door.request(
                endpoint.method, endpoint.url, headers=headers, data=data, timeout=self._timeout
            ) as response:
                raw = await _read(response)
                latency_ms = round((clock() - started) * 1000)
                if response.status >= HTTPStatus.MULTIPLE_CHOICES:
                    raise self._refusal(response.status, response.headers, raw)
                content_type = response.headers.get("Content-Type", "")
        except (aiohttp.ClientError, OSError) as error:
            # A time-out of the socket is an OSError too, and means the peer could not be reached.
            raise connection_fault(_PEER, error, blame=Blame.AGENT) from error
        except ValueError as error:
            # aiohttp refuses header values with line breaks, which a template may have brought in.
            message = f"cannot send the request: {error}"
            raise LlmError(LlmErrorCode.BAD_REQUEST, message, blame=Blame.INFRASTRUCTURE) from error
        return self._completion(raw, content_type, tally, model=model, latency_ms=latency_ms)

    def _completion(
        self, raw: bytes, content_type: str, tally: Tally, *, model: str, latency_ms: int
    ) -> Completion:
        try:
            reply = loads(raw)
        except ValueError as error:
            said = content_type.partition(";")[0] or "something"
            message = f"{_PEER} answered {said} that is not JSON ({error}): {excerpt(raw)}"
            raise LlmError(LlmErrorCode.UNEXPECTED_SHAPE, message, blame=Blame.AGENT) from error
        paths = self._paths
        usage = tally.usage = read_usage(reply, paths.usage)
        try:
            bubbles = read_bubbles(reply, paths.reply)
            calls, reported = read_calls(reply, paths)
        except ShapeError as error:
            message = f"{error}; the reply begins {excerpt(raw)}"
            raise LlmError(LlmErrorCode.UNEXPECTED_SHAPE, message, blame=Blame.AGENT) from error
        if not bubbles and not calls:
            message = f"{_PEER} answered with an empty text at {paths.reply.text}"
            raise LlmError(LlmErrorCode.EMPTY_REPLY, message, blame=Blame.AGENT)
        return Completion(
            text="\n".join(bubbles),
            bubbles=bubbles,
            finish=Finish.STOP,
            model=model,
            latency_ms=latency_ms,
            usage=usage,
            reported_calls=calls,
            tools_reported=reported,
            tools_gap=None if reported else paths.tools_gap(reply),
            outcomes=paths.outcomes_of(reply),
            session_id=paths.session_of(reply),
        )

    def _render_headers(self, values: Values) -> dict[str, str]:
        headers = dict(self._default_headers)
        for name, value in self._headers.items():
            if isinstance(value, SecretRef):
                secret = self._secrets.find(value.secret)
                if secret is None:
                    message = f"header {name}: {self._secrets.how_to_set(value.secret)}"
                    raise LlmError(LlmErrorCode.MISSING_KEY, message, blame=Blame.INFRASTRUCTURE)
                headers[name] = secret
            else:
                filled = value(values)
                headers[name] = filled if isinstance(filled, str) else _dump(filled).decode()
        return headers

    def _refusal(self, status: int, headers: Mapping[str, str], raw: bytes) -> LlmError:
        said = f": {excerpt(raw[:_EXCERPT_BYTES])}" if raw else ""
        message = f"{_PEER} answered {status}{said}"
        match status:
            case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN:
                message += "; check endpoint.headers and the secrets they name"
                return LlmError(LlmErrorCode.AUTH, message, blame=Blame.INFRASTRUCTURE)
            case HTTPStatus.TOO_MANY_REQUESTS:
                code, retryable = LlmErrorCode.RATE_LIMITED, True
            case _ if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                code, retryable = LlmErrorCode.PROVIDER_UNAVAILABLE, True
            case _ if status < HTTPStatus.BAD_REQUEST:
                message += "; redirects are not followed, so set endpoint.url to where it leads"
                code, retryable = LlmErrorCode.BAD_REQUEST, False
            case _:
                code, retryable = LlmErrorCode.BAD_REQUEST, False
        after = parse_retry_after(headers.get("Retry-After"), now=self._surroundings.now())
        return LlmError(code, message, blame=Blame.AGENT, retryable=retryable, retry_after=after)


async def _read(response: aiohttp.ClientResponse) -> bytes:
    announced = response.content_length
    if announced is not None and announced > MAX_REPLY_BYTES:
        response.close()
        raise too_large(_PEER, MAX_REPLY_BYTES, blame=Blame.AGENT)
    chunks: list[bytes] = []
    size = 0
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > MAX_REPLY_BYTES:
            response.close()
            raise too_large(_PEER, MAX_REPLY_BYTES, blame=Blame.AGENT)
        chunks.append(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _dump(value: Json) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:
        # A lone surrogate in a text or an integer beyond 64 bits.
        return orjson.dumps(clean(value))
