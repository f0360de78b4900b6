"""What the SDK adapters share: importing on first use, and turning an SDK's exceptions into ours."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from contextvars import ContextVar
from types import ModuleType
from typing import Any, cast

import orjson

from proctor_contracts.base import Json
from proctor_contracts.egress import EgressRefused
from proctor_contracts.enums import Blame

from .door import Door, Surroundings
from .errors import LlmError, LlmErrorCode
from .faults import connection_fault, provider_fault, too_large
from .repeating import MadeRequest, RawReply, RefusedError
from .replies import loads
from .transport import ReplyTooLargeError, http_client

__all__ = ["MAX_REPLY_BYTES", "Sdk", "require_model"]

MAX_REPLY_BYTES = 16 * 1024 * 1024

_Kind = tuple[str, bool]
_making: ContextVar[_Kind | None] = ContextVar("making", default=None)
"""The path, and whether a stream is wanted, of the call that an SDK is making in this task."""


class Sdk:
    """One vendor's SDK and its client, made on first use: the import alone takes a second or more.

    `build(sdk, http)` makes the client from the imported module and the HTTP client it is to use.
    """

    def __init__(
        self,
        *,
        name: str,
        http_module: str,
        key_name: str,
        door: Door,
        surroundings: Surroundings,
        build: Callable[[ModuleType, Any], Any],
    ) -> None:
        self.name = name
        self._http_module = http_module
        self._key_name = key_name
        self._door = door
        self._surroundings = surroundings
        self._build = build
        self._module: ModuleType | None = None
        self._httpx: Any = None
        self._client: Any = None
        self._made: dict[_Kind, MadeRequest] = {}
        self._first: dict[_Kind, asyncio.Event] = {}
        self._opening = asyncio.Lock()

    async def post(self, path: str, body: dict[str, Any], *, stream: bool = False) -> RawReply:
        """Send a body as it is and give the raw response; with `stream` its body is unread.

        This is the SDKs' own way past their request and response models, which cost more CPU than the call,
        warn about models that are merely old, and stumble over what a compatible gateway does differently.
        Once an SDK has made its request, later ones are sent as it made it; those that come meanwhile wait
        for that, which takes it milliseconds and would take each of them as many.
        """
        kind = (path, stream)
        if kind not in self._made and (first := self._first.get(kind)) is not None:
            await first.wait()
        made = self._made.get(kind)
        data = None if made is None else _encoded(body)
        if made is not None and data is not None:
            try:
                return await made.send(self._door, data, stream=stream, limit=MAX_REPLY_BYTES)
            except RefusedError as refused:
                said = _readable(refused.body)
                raise self.status_fault(refused.status, said, retry_after=refused.retry_after) from None
        client = await self.client()
        first = self._first.setdefault(kind, asyncio.Event())
        making = _making.set(kind)
        try:
            response = await client.post(path, cast_to=self._httpx.Response, body=body, stream=stream)
        finally:
            _making.reset(making)
            first.set()
            self._first.pop(kind, None)
        return cast("RawReply", response)

    async def client(self) -> Any:
        """Give the SDK's client."""
        if self._client is None:
            async with self._opening:
                if self._client is None:
                    # Off the loop: other conversations go on while the SDK is read from disk.
                    self._module = await asyncio.to_thread(self._import, self.name)
                    self._httpx = await asyncio.to_thread(self._import, self._http_module)
                    self._client = self._build(
                        self._module,
                        http_client(self._httpx, self._door, limit=MAX_REPLY_BYTES, sending=self._learn),
                    )
        return self._client

    async def aclose(self) -> None:
        """Close the SDK's client; the connections are the door's."""
        if self._client is not None:
            await self._client.close()
            self._client = None
            self._made.clear()

    def _learn(self, request: Any) -> None:
        """Keep what the SDK sends, before anybody knows what becomes of it."""
        kind = _making.get()
        if kind is not None and kind not in self._made:
            self._made[kind] = MadeRequest.of(request)
            if (first := self._first.get(kind)) is not None:
                first.set()

    def fault(self, error: Exception) -> LlmError | EgressRefused:
        """Name what an SDK call raised; anything that is not the SDK's or the wire's is raised again."""
        inner: BaseException | None = error
        while inner is not None:
            if isinstance(inner, EgressRefused):
                return inner
            if isinstance(inner, ReplyTooLargeError):
                return too_large(self.name, MAX_REPLY_BYTES, blame=Blame.PROVIDER)
            inner = inner.__cause__ or inner.__context__
        sdk = self._module
        if sdk is not None and isinstance(error, sdk.APIStatusError):
            return self.status_fault(
                error.status_code, error.body, retry_after=error.response.headers.get("retry-after")
            )
        if sdk is not None and isinstance(error, sdk.APIConnectionError):
            return connection_fault(self.name, error.__cause__ or error, blame=Blame.PROVIDER)
        if isinstance(error, OSError) or type(error).__module__.startswith("aiohttp"):
            return connection_fault(self.name, error, blame=Blame.PROVIDER)
        # A text that is no valid Unicode cannot be encoded; everything else unknown is a fault of our own.
        if isinstance(error, UnicodeError) or (sdk is not None and isinstance(error, sdk.APIError)):
            message = f"{self.name} cannot send the request: {error}"
            return LlmError(LlmErrorCode.BAD_REQUEST, message, blame=Blame.INFRASTRUCTURE)
        raise error

    def status_fault(self, status: int, body: Any, *, retry_after: str | None = None) -> LlmError:
        """Name an error the API answered with, or sent inside a stream that was open."""
        return provider_fault(
            provider=self.name,
            key_name=self._key_name,
            status=status,
            body=body,
            retry_after=retry_after,
            now=self._surroundings.now(),
        )

    def _import(self, name: str) -> ModuleType:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            message = f"{name} is not installed; the extra models brings it: pip install '.[models]'"
            raise LlmError(LlmErrorCode.PROVIDER_UNAVAILABLE, message, blame=Blame.INFRASTRUCTURE) from error


def _encoded(body: dict[str, Any]) -> bytes | None:
    try:
        return orjson.dumps(body)
    except TypeError:
        # A lone surrogate or a very large number: the SDK says what it thinks of it.
        return None


def _readable(raw: bytes) -> Json:
    try:
        return loads(raw)
    except ValueError:
        return raw.decode("utf-8", "replace")


def require_model(provider: str, model: str) -> None:
    """Refuse a call without a model before anything is sent.

    Raises:
        LlmError: `missing_model`, saying where to set it.
    """
    if not model:
        message = f"no model is named for {provider}: set `model` on the integration or the run"
        raise LlmError(LlmErrorCode.MISSING_MODEL, message, blame=Blame.INFRASTRUCTURE)
