"""Addresses of webhooks as they may be shown: whoever holds the whole one can post there."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

__all__ = ["MASK", "masked_url", "without_address"]

MASK = "***"
"""Stands for a part that is not shown; no address that is sent to holds it."""

_WHOLE_PATH_IS_SECRET = ("hooks.slack.com",)
_LONG = 20
_TELLING = 6
"""Characters from which a part of an address is looked for in a text; less stands in every other word."""

_SECRET_LOOKING = re.compile(r"(?=.*[0-9A-Z]).{8,}")


def masked_url(url: str) -> str:
    """Show an address without what may be secret in it: credentials, values of the query, tokens in its path.

    A segment of the path counts as a token when it is long, or holds digits or capitals and is not short.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return MASK
    user, _, host = parts.netloc.rpartition("@")
    shown = f"{parts.scheme}://{f'{MASK}@' if user else ''}{host}"
    hidden = (parts.hostname or "").endswith(_WHOLE_PATH_IS_SECRET)
    shown += "/".join(_segment(one, hidden=hidden) for one in parts.path.split("/"))
    if parts.query:
        shown += "?" + "&".join(_pair(one) for one in parts.query.split("&"))
    return shown + (f"#{MASK}" if parts.fragment else "")


def without_address(text: str, url: str) -> str:
    """Give a text without an address, or any part of it that `masked_url` would not show."""
    text = text.replace(url, masked_url(url))
    for part in sorted(_secrets(url), key=len, reverse=True):
        text = text.replace(part, MASK)
    return text


def _secrets(url: str) -> set[str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return set()
    hidden = (parts.hostname or "").endswith(_WHOLE_PATH_IS_SECRET)
    found = [parts.netloc.rpartition("@")[0], parts.query, parts.fragment]
    found += [one for one in parts.path.split("/") if _segment(one, hidden=hidden) != one]
    found += [one.rpartition("=")[2] for one in parts.query.split("&")]
    return {each for one in found for each in (one, unquote(one)) if len(each) >= _TELLING}


def _segment(text: str, *, hidden: bool) -> str:
    secret = hidden or len(text) >= _LONG or _SECRET_LOOKING.fullmatch(text)
    return MASK if text and secret else text


def _pair(text: str) -> str:
    name, equals, _ = text.partition("=")
    # A query that is a single word may be the token itself.
    return f"{name}={MASK}" if equals else MASK
