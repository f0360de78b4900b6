"""The one way out: an aiohttp session whose connections go only to addresses that were just checked."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from functools import partial
from ipaddress import ip_address

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from typing_extensions import override
from yarl import URL

from proctor_contracts.egress import EgressRefused

from .policy import Address, Allowed, Refused, check_url, decide, parse_target
from .rules import Rules

__all__ = ["OutgoingDoor", "Resolve", "own_resolve", "system_resolve"]

Resolve = Callable[[str, int], Awaitable[tuple[Address, ...]]]
"""Host and port → every address the name has; an empty tuple or OSError when it has none."""

_NO_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=10.0)
_CHECKED_URLS = 512


async def system_resolve(host: str, port: int) -> tuple[Address, ...]:
    """Ask the system's resolver for every address of a host."""
    return await _resolved(None, host, port)


def own_resolve(*, threads: int) -> Resolve:
    """Ask the system's resolver on threads of its own.

    A lookup cannot be ended, and one that hangs would keep a thread from everything else that needs one.
    """
    pool = ThreadPoolExecutor(threads, thread_name_prefix="resolve")
    return partial(_resolved, pool)


async def _resolved(pool: ThreadPoolExecutor | None, host: str, port: int) -> tuple[Address, ...]:
    ask = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    found = await asyncio.get_running_loop().run_in_executor(pool, ask)
    return tuple(dict.fromkeys(ip_address(entry[4][0]) for entry in found))


class OutgoingDoor:
    """Sends requests under one rule set; a target outside it raises EgressRefused before anything is sent.

    The address that was checked is the address connected to: the connector's resolver is the check, so
    a second DNS answer is never used unchecked. Host and SNI stay the URL's. Redirects are not followed,
    proxies and netrc of the environment are not read.
    """

    def __init__(
        self,
        *,
        rules: Rules,
        resolve: Resolve = system_resolve,
        connections: int = 0,
        dns_ttl_seconds: int = 10,
    ) -> None:
        self._rules = rules
        self._resolve = resolve
        self._connections = connections
        self._dns_ttl_seconds = dns_ttl_seconds
        self._session: aiohttp.ClientSession | None = None
        self._checked: dict[str, URL] = {}

    def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        data: bytes | None = None,
        timeout: aiohttp.ClientTimeout = _NO_TIMEOUT,
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """Open one request; `async with` gives the response with its body unread.

        Raises:
            EgressRefused: from here for the URL itself, from entering the context for its addresses.
        """
        target = self._checked.get(url)
        if target is None:
            target = check_url(self._rules, url).url
            if len(self._checked) >= _CHECKED_URLS:
                self._checked.clear()
            self._checked[url] = target
        return self._open().request(
            method, target, headers=headers, data=data, timeout=timeout, allow_redirects=False
        )

    async def aclose(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open(self) -> aiohttp.ClientSession:
        # Made on first use: a session belongs to the running loop.
        if self._session is None:
            connector = aiohttp.TCPConnector(
                resolver=_CheckedResolver(rules=self._rules, resolve=self._resolve),
                limit=self._connections,
                ttl_dns_cache=self._dns_ttl_seconds,
                use_dns_cache=self._dns_ttl_seconds > 0,
            )
            self._session = aiohttp.ClientSession(
                connector=connector, trust_env=False, cookie_jar=aiohttp.DummyCookieJar(), timeout=_NO_TIMEOUT
            )
        return self._session


class _CheckedResolver(AbstractResolver):
    """Resolves and decides in one step, so that only allowed addresses ever reach the connector."""

    def __init__(self, *, rules: Rules, resolve: Resolve) -> None:
        self._rules = rules
        self._resolve = resolve

    @override
    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_UNSPEC,
    ) -> list[ResolveResult]:
        target = parse_target(str(URL.build(scheme="http", host=host, port=port or 80)))
        if isinstance(target, Refused):
            raise EgressRefused(target.code, target.reason)
        verdict = decide(self._rules, target, await self._resolve(host, port))
        match verdict:
            case Refused():
                raise EgressRefused(verdict.code, verdict.reason)
            case Allowed():
                return [_result(host, port, address) for address in verdict.addresses]

    @override
    async def close(self) -> None:
        """Hold nothing, close nothing."""


def _result(host: str, port: int, address: Address) -> ResolveResult:
    return ResolveResult(
        hostname=host,
        host=str(address),
        port=port,
        family=socket.AF_INET if address.version == 4 else socket.AF_INET6,  # noqa: PLR2004 - IP version
        proto=0,
        flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
    )
