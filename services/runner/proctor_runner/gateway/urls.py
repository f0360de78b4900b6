"""Where a handler is called: absolute as it is, relative under the core's address, empty by its names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote, urlencode

import orjson

from proctor_contracts.base import Json

__all__ = ["CORE_URL", "core_url", "handler_url", "with_query"]

CORE_URL = "http://localhost:3010"
"""Where relative handlers are called when INTEG_CORE_URL is not set."""

_ABSOLUTE = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def core_url(environ: Mapping[str, str]) -> str:
    """Read INTEG_CORE_URL."""
    return environ.get("INTEG_CORE_URL", "").strip() or CORE_URL


def handler_url(url: str, *, core_url: str, integration: str, handler: str) -> str:
    """Resolve a handler's URL; names in it are percent-encoded, so that none can leave its place."""
    url = url.strip()
    if _ABSOLUTE.match(url):
        return url
    base = core_url.rstrip("/")
    if url:
        return f"{base}/{url.lstrip('/')}"
    return f"{base}/{quote(integration, safe='')}/webhook/{quote(handler, safe='')}"


def with_query(url: str, args: Mapping[str, Json]) -> str:
    """Add a call's arguments as a query: lists repeat their name, objects are JSON, null is left out."""
    pairs = [
        (name, _text(one))
        for name, value in args.items()
        for one in (value if isinstance(value, list) else [value])
        if one is not None
    ]
    if not pairs:
        return url
    base, mark, fragment = url.partition("#")
    query = urlencode(pairs, errors="replace")
    return f"{base}{'&' if '?' in base else '?'}{query}{mark}{fragment}"


def _text(value: Json) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
