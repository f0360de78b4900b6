"""The two rule sets: what the operator listed, and public addresses only for what users type in."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from urllib.parse import urlsplit

import idna

__all__ = ["Operator", "PublicOnly", "Rules", "host_key"]

PROVIDER_BASE_URLS = {
    "ANTHROPIC_BASE_URL": "https://api.anthropic.com",
    "GROQ_BASE_URL": "https://api.groq.com",
    "OPENAI_BASE_URL": "https://api.openai.com",
}
"""Variable of a provider's base URL → the address its SDK uses without it; both count as listed."""

LISTED_URLS = ("INTEG_CORE_URL",)
"""Variables whose URL counts as listed when they are set."""


def host_key(host: str) -> str:
    """Fold a host name to the one form it is compared in: lower case, ASCII, no trailing dot."""
    host = host.strip().strip("[]").rstrip(".").lower()
    if host.isascii():
        return host
    try:
        return idna.encode(host, uts46=True).decode()
    except idna.IDNAError:
        return host


@dataclass(frozen=True, slots=True)
class Operator:
    """Rule set 1, for agent endpoints and handlers: only what is listed, and loopback where embedded.

    `hosts` are names (any port), `suffixes` come from `*.example.com`, `origins` are host and port pairs.
    """

    hosts: frozenset[str] = frozenset()
    suffixes: tuple[str, ...] = ()
    origins: frozenset[tuple[str, int]] = frozenset()
    networks: tuple[IPv4Network | IPv6Network, ...] = ()
    loopback: bool = False

    def lists(self, host: str, port: int) -> bool:
        """Whether this host (in `host_key` form) is listed by name on this port."""
        return host in self.hosts or (host, port) in self.origins or host.endswith(self.suffixes)

    def allowing(self, *entries: str) -> Operator:
        """List more: host names, `*.suffix`, `host:port`, addresses, networks in CIDR form, or URLs.

        Raises:
            ValueError: naming the entry that cannot be read.
        """
        hosts, suffixes, origins = set(self.hosts), list(self.suffixes), set(self.origins)
        networks = list(self.networks)
        for entry in (one.strip() for one in entries):
            if "://" in entry:
                origins.add(_origin(entry))
            elif (network := _network(entry)) is not None:
                networks.append(network)
            elif entry.startswith("*."):
                suffixes.append("." + host_key(entry[2:]))
            elif "/" in entry or entry in {"", "*"}:
                raise ValueError(f"{entry!r} is neither a host, a network (10.0.0.0/8) nor *.example.com")
            elif ":" in entry:
                host, _, port = entry.rpartition(":")
                if not port.isdecimal():
                    raise ValueError(f"{entry!r} is not host:port")
                origins.add((host_key(host), int(port)))
            else:
                hosts.add(host_key(entry))
        return Operator(
            hosts=frozenset(hosts),
            suffixes=tuple(suffixes),
            origins=frozenset(origins),
            networks=tuple(networks),
            loopback=self.loopback,
        )

    @classmethod
    def from_environ(cls, environ: Mapping[str, str], *, embedded: bool) -> Operator:
        """Read PROCTOR_EGRESS_ALLOW (commas or spaces), the providers' base URLs and INTEG_CORE_URL."""
        listed: Iterable[str] = environ.get("PROCTOR_EGRESS_ALLOW", "").replace(",", " ").split()
        providers = [environ.get(name) or default for name, default in PROVIDER_BASE_URLS.items()]
        urls = [environ[name] for name in LISTED_URLS if environ.get(name)]
        return cls(loopback=embedded).allowing(*listed, *providers, *urls)


@dataclass(frozen=True, slots=True)
class PublicOnly:
    """Rule set 2, for what users type in (hooks, resources, webhooks): public addresses and nothing else."""


Rules = Operator | PublicOnly


def _network(entry: str) -> IPv4Network | IPv6Network | None:
    try:
        return ipaddress.ip_network(entry.strip("[]"), strict=False)
    except ValueError:
        return None


def _origin(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError as error:
        raise ValueError(f"{url!r} has no readable port") from error
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(f"{url!r} is not an http(s) URL")
    return host_key(parts.hostname), port or (443 if parts.scheme == "https" else 80)
