"""A bucket of an object store, which shows a file only once it is whole."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import TYPE_CHECKING

from proctor_chassis.egress import Operator, Refused, check_url, decide, parse_target
from proctor_chassis.egress.door import Resolve, system_resolve
from proctor_contracts.egress import EgressRefused

if TYPE_CHECKING:
    from obstore.store import ClientConfig, ObjectStore, RetryConfig

__all__ = ["Bucket", "open_bucket"]

SMALL = 5 * 1024 * 1024
"""Files up to this size go in one request; object stores take no smaller parts of larger ones."""

_CLIENT: ClientConfig = {"timeout": timedelta(seconds=60), "connect_timeout": timedelta(seconds=10)}
_RETRIES: RetryConfig = {"max_retries": 3, "retry_timeout": timedelta(seconds=60)}


class Bucket:
    """A bucket with the prefix of its URL.

    `endpoint` is where the environment says that the store answers, if it says so. It counts as listed by the
    operator, and is looked at again before each file.
    """

    def __init__(
        self,
        store: ObjectStore,
        *,
        endpoint: str | None,
        rules: Operator,
        resolve: Resolve = system_resolve,
    ) -> None:
        self._store = store
        self._endpoint = endpoint
        self._rules = rules
        self._resolve = resolve

    async def store(self, name: str, parts: AsyncIterator[bytes]) -> None:
        """Send the file, a large one in parts; if that fails, the parts are given up.

        Raises:
            EgressRefused: when the endpoint's name leads to an address that is never allowed.
            obstore.exceptions.BaseError: when the store cannot be reached, or refuses.
        """
        from obstore import put_async  # noqa: PLC0415 - an extra that only buckets need

        await self._check()
        begun = bytearray()
        async for part in parts:
            begun += part
            if len(begun) > SMALL:
                break
        else:
            await put_async(self._store, name, bytes(begun))
            return

        async def whole() -> AsyncIterator[bytes]:
            yield bytes(begun)
            begun.clear()
            async for part in parts:
                yield part

        await put_async(self._store, name, whole(), use_multipart=True, chunk_size=SMALL, max_concurrency=1)

    async def _check(self) -> None:
        if self._endpoint is None:
            return
        target = check_url(self._rules, self._endpoint)
        verdict = decide(self._rules, target, await self._resolve(target.host, target.port))
        if isinstance(verdict, Refused):
            raise EgressRefused(verdict.code, verdict.reason)


def open_bucket(url: str, *, endpoint: str | None, rules: Operator) -> Bucket:
    """Open the bucket of an `s3://`, `gs://` or `az://` URL; keys are read from the store's own variables.

    Raises:
        ValueError: when the URL or a variable of the store cannot be used.
        EgressRefused: when the endpoint is no URL that may be called.
    """
    from obstore.exceptions import BaseError  # noqa: PLC0415 - an extra that only buckets need
    from obstore.store import from_url  # noqa: PLC0415 - as above

    client: ClientConfig = {**_CLIENT}
    try:
        if endpoint is None:
            store = from_url(url, client_options=client, retry_config=_RETRIES)
        else:
            # Read strictly first: what is refused there is not shown, as it may hold a password.
            target = parse_target(endpoint)
            if isinstance(target, Refused):
                raise EgressRefused(target.code, target.reason)
            rules = rules.allowing(endpoint)
            check_url(rules, endpoint)
            client["allow_http"] = target.url.scheme == "http"
            store = from_url(url, client_options=client, retry_config=_RETRIES, endpoint=endpoint)
    except BaseError as error:
        raise ValueError(str(error)) from error
    return Bucket(store, endpoint=endpoint, rules=rules)
