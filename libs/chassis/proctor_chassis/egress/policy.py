"""The egress decision: pure, on a rule set, a parsed URL and the addresses its host resolved to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import assert_never

from yarl import URL

from proctor_contracts.egress import EgressRefused

from .rules import Operator, PublicOnly, Rules, host_key

__all__ = [
    "Address",
    "Allowed",
    "Refusal",
    "Refused",
    "Target",
    "check_url",
    "decide",
    "parse_target",
    "read_address",
]

Address = IPv4Address | IPv6Address


class Refusal(StrEnum):
    """Why a request may not leave."""

    BAD_URL = "bad_url"
    BAD_SCHEME = "bad_scheme"
    CREDENTIALS = "credentials_in_url"
    AMBIGUOUS_HOST = "ambiguous_host"
    UNRESOLVED = "host_not_resolved"
    NOT_PUBLIC = "address_not_public"
    NOT_LISTED = "host_not_listed"
    UNSAFE = "address_never_allowed"


@dataclass(frozen=True, slots=True)
class Target:
    """A URL as it will be requested; `literal` is its host when that is an IP address."""

    url: URL
    host: str
    port: int
    literal: Address | None


@dataclass(frozen=True, slots=True)
class Allowed:
    """The request may go to exactly these addresses; none yet when the host is still unresolved."""

    addresses: tuple[Address, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """The request may not leave; `reason` says why and what to change."""

    code: Refusal
    reason: str


_FORBIDDEN = re.compile(r"[\x00-\x20\x7f-\xa0\\\u2028\u2029\ud800-\udfff]")
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_LONGEST_HOST = 253
_NUMBER = re.compile(r"(0x[0-9a-f]*|[0-9]+)")
_LOCAL_NAMES = ("localhost", ".localhost", ".local", ".internal", ".localdomain", ".home.arpa")

# ipaddress leaves some of these open in some releases; each carries or may reach another network.
_V4_CLOSED = tuple(
    IPv4Network(one) for one in ("192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "100.64.0.0/10")
)
_V6_CLOSED = tuple(
    IPv6Network(one)
    for one in (
        "2001::/23",
        "2001:db8::/32",
        "2002::/16",
        "3fff::/20",
        "5f00::/16",
        "64:ff9b::/96",
        "64:ff9b:1::/48",
    )
)
_V6_GLOBAL = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_METADATA = frozenset(
    ip_address(one) for one in ("169.254.169.254", "169.254.170.2", "100.100.100.200", "fd00:ec2::254")
)


def read_address(text: str) -> Address | None:
    """Read a canonical IP literal; None for names and for odd spellings such as 127.1."""
    try:
        return ip_address(text)
    except ValueError:
        return None


def parse_target(url: str) -> Target | Refused:
    """Read a URL strictly: whatever two parsers might read differently is refused."""
    parsed = _read_url(url)
    if isinstance(parsed, Refused):
        return parsed
    host = host_key(parsed.raw_host or "")
    literal = read_address(host)
    if not host or not parsed.port or "%" in host:
        return Refused(Refusal.BAD_URL, "the URL has no host, a zone in it, or a port that cannot be used")
    if literal is None:
        labels = host.split(".")
        if _NUMBER.fullmatch(labels[-1]):
            return Refused(
                Refusal.AMBIGUOUS_HOST, f"{host!r} is a number that some resolvers read as an address"
            )
        if len(host) > _LONGEST_HOST or not all(_LABEL.fullmatch(one) for one in labels):
            return Refused(Refusal.BAD_URL, f"{host!r} is not a host name")
    return Target(parsed, host, parsed.port, literal)


def _read_url(url: str) -> URL | Refused:
    if found := _FORBIDDEN.search(url):
        return Refused(Refusal.BAD_URL, f"the URL holds a forbidden character at position {found.start()}")
    scheme, separator, rest = url.partition("://")
    if not separator or scheme.lower() not in {"http", "https"}:
        return Refused(Refusal.BAD_SCHEME, "the URL must start with http:// or https://")
    if "@" in re.split(r"[/?#]", rest, maxsplit=1)[0]:
        return Refused(Refusal.CREDENTIALS, "the URL holds credentials; send them as a header secret instead")
    try:
        return URL(url)
    except (ValueError, UnicodeError):
        return Refused(Refusal.BAD_URL, "the URL cannot be read")


def decide(rules: Rules, target: Target, addresses: Sequence[Address] | None) -> Allowed | Refused:
    """Decide whether a request may go to a target whose host resolved to these addresses.

    `addresses` is None before resolution (when a URL is saved): then only what the URL itself shows is
    judged. A literal host is its own address. With several addresses every one must be allowed.
    """
    found: Sequence[Address] | None = (target.literal,) if target.literal is not None else addresses
    if found is not None and not found:
        return Refused(Refusal.UNRESOLVED, f"{target.host} does not resolve to an address")
    match rules:
        case PublicOnly():
            return _public_only(target, found)
        case Operator():
            return _operator(rules, target, found)
        case _:
            assert_never(rules)


def check_url(rules: Rules, url: str) -> Target:
    """Read a URL and judge what it shows by itself, without resolving: the check for when one is saved.

    Raises:
        EgressRefused: with a stable code and what to change.
    """
    target = parse_target(url)
    if isinstance(target, Refused):
        raise EgressRefused(target.code, target.reason)
    verdict = decide(rules, target, None)
    if isinstance(verdict, Refused):
        raise EgressRefused(verdict.code, verdict.reason)
    return target


def _public_only(target: Target, found: Sequence[Address] | None) -> Allowed | Refused:
    if target.host == _LOCAL_NAMES[0] or target.host.endswith(_LOCAL_NAMES[1:]):
        return Refused(
            Refusal.NOT_PUBLIC, f"{target.host} is a local name; only public addresses may be reached"
        )
    for address in found or ():
        if not _is_public(address):
            return Refused(
                Refusal.NOT_PUBLIC,
                f"{_where(target, address)} is not public; only public addresses may be reached",
            )
    return Allowed(tuple(found or ()))


def _operator(rules: Operator, target: Target, found: Sequence[Address] | None) -> Allowed | Refused:
    listed = rules.lists(target.host, target.port)
    for address in found or ():
        plain = _unmapped(address)
        if any(plain in network for network in rules.networks if network.version == plain.version):
            continue
        if _is_never(plain):
            cure = "it is reached only when its network itself is in PROCTOR_EGRESS_ALLOW"
            return Refused(Refusal.UNSAFE, f"{_where(target, address)} is never allowed by name: {cure}")
        if listed or (rules.loopback and plain.is_loopback):
            continue
        cure = f"add {target.host} (or its network) to PROCTOR_EGRESS_ALLOW"
        return Refused(Refusal.NOT_LISTED, f"{_where(target, address)} is not on the operator's list: {cure}")
    return Allowed(tuple(found or ()))


def _unmapped(address: Address) -> Address:
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _is_never(address: Address) -> bool:
    """Addresses that a listed name must not lead to by accident: metadata, link-local, multicast, 0.0.0.0."""
    if isinstance(address, IPv6Address):
        inner = address.sixtofour or (IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else None)
        if inner is not None and _is_never(inner):
            return True
    return address.is_unspecified or address.is_multicast or address.is_link_local or address in _METADATA


def _is_public(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return (
            address.is_global
            and not (address.is_multicast or address.is_reserved)
            and not any(address in network for network in _V4_CLOSED)
            and address not in _METADATA
        )
    # Mapped, NAT64, 6to4 and Teredo forms carry an IPv4 address past a check: none of them is accepted.
    return (
        address.scope_id is None
        and address in _V6_GLOBAL
        and address.is_global
        and not any(address in network for network in _V6_CLOSED)
    )


def _where(target: Target, address: Address) -> str:
    return str(address) if target.literal is not None else f"{target.host} ({address})"
