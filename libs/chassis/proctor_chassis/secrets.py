"""Secrets by reference: where their values come from, and keeping those values out of everything shown."""

from __future__ import annotations

import binascii
import json
import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

__all__ = ["PROVIDER_KEYS", "Redactor", "Secrets", "mask_url"]

PROVIDER_KEYS = ("ANTHROPIC_API_KEY", "GROQ_API_KEY", "OPENAI_API_KEY")
"""Environment variables of the providers' own keys; they are redacted like any secret."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_PREFIX = "PROCTOR_SECRET_"
_SHORTEST = 4
_PIECE = 16
_SCHEME = re.compile(r"(bearer|basic|token|apikey|key) +(\S.*)", re.IGNORECASE | re.DOTALL)
_CREDENTIALS = re.compile(r"^([a-z][a-z0-9+.-]*://)[^/?#@]*@", re.IGNORECASE)


def mask_url(url: str) -> str:
    """Hide a URL's query values and credentials, which often are secrets that nobody declared as such."""
    masked = _CREDENTIALS.sub(r"\1***@", url)
    base, mark, query = masked.partition("?")
    if not mark:
        return masked
    query, hash_mark, fragment = query.partition("#")
    shown = "&".join(
        f"{name}=***" if value else name + equals for name, equals, value in map(_pair, query.split("&"))
    )
    return f"{base}?{shown}{hash_mark}{fragment}"


class Redactor:
    """Replaces known secret values by `[secret:NAME]`; costs nothing while it knows none.

    Values shorter than four characters are left alone: replacing them would shred ordinary text. What was
    cut short for showing is replaced too, where 16 characters of the beginning or the end are left of it.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._heads: dict[str, list[str]] = {}
        self._tails: dict[str, list[str]] = {}
        self._pattern: re.Pattern[str] | None = None

    @property
    def empty(self) -> bool:
        """Whether no secret is known, so that there is nothing to replace."""
        return self._pattern is None

    def add(self, name: str, value: str) -> None:
        """Learn one secret, also as it is spelt inside a URL or a JSON string, and as a bot reads it."""
        spellings = {spelling for part in _parts(value) for spelling in _spellings(part)}
        new = {one for one in spellings if len(one) >= _SHORTEST and one not in self._names}
        if not new:
            return
        self._names.update(dict.fromkeys(new, name))
        for one in new:
            if len(one) > _PIECE:
                self._heads.setdefault(one[:_PIECE], []).append(one)
                self._tails.setdefault(one[-_PIECE:], []).append(one)
        # Longest first, so that a secret that begins with another is replaced whole.
        ordered = sorted({*self._names, *self._heads, *self._tails}, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, ordered)))

    def text(self, text: str) -> str:
        """Replace every known secret in a text."""
        if self._pattern is None:
            return text
        parts: list[str] = []
        done = at = 0
        while found := self._pattern.search(text, at):
            name, start, end = self._extent(text, found.start(), found.end(), done)
            parts += (text[done:start], f"[secret:{name}]")
            done = at = end
        return "".join(parts) + text[done:] if parts else text

    def _extent(self, text: str, start: int, end: int, least: int) -> tuple[str, int, int]:
        """Name the secret that was hit and widen a piece of it to all of it that stands there."""
        hit = text[start:end]
        if (name := self._names.get(hit)) is not None:
            return name, start, end
        if (whole := self._heads.get(hit)) is not None:
            shared, secret = max((_shared(text[start : start + len(one)], one), one) for one in whole)
            return self._names[secret], start, start + shared
        reversed_text = text[least:end][::-1]
        shared, secret = max((_shared(reversed_text, one[::-1]), one) for one in self._tails[hit])
        return self._names[secret], end - shared, end

    def json(self, value: Any) -> Any:
        """Replace every known secret in a JSON value, keys included; the value itself is left untouched."""
        if self._pattern is None:
            return value
        match value:
            case str():
                return self.text(value)
            case dict():
                return {self.text(str(key)): self.json(item) for key, item in value.items()}
            case list() | tuple():
                return [self.json(item) for item in value]
            case _:
                return value


class Secrets:
    """Finds `{"secret": "NAME"}` in PROCTOR_SECRET_NAME or the file $PROCTOR_SECRETS_DIR/NAME.

    Embedded, where the environment is the user's own, a plain variable NAME will do as well. Every value
    handed out is known to the redactor first.
    """

    def __init__(self, *, environ: Mapping[str, str], embedded: bool, redactor: Redactor) -> None:
        self._environ = environ
        self._embedded = embedded
        self._redactor = redactor
        folder = environ.get("PROCTOR_SECRETS_DIR")
        self._folder = Path(folder) if folder else None
        for name, value in environ.items():
            if name.startswith(_PREFIX) or name in PROVIDER_KEYS:
                redactor.add(name.removeprefix(_PREFIX), value)

    def find(self, name: str) -> str | None:
        """Give a secret's value, or None when nothing sets it."""
        if not _NAME.fullmatch(name):
            return None
        value = self._environ.get(_PREFIX + name) or self._from_file(name)
        if value is None and self._embedded:
            value = self._environ.get(name) or None
        if value is not None:
            self._redactor.add(name, value)
        return value

    def how_to_set(self, name: str) -> str:
        """Say what to set so that a secret is found."""
        places = [f"the environment variable {_PREFIX}{name}"]
        if self._folder is not None:
            places.append(f"the file {self._folder / name}")
        if self._embedded:
            places.append(f"the environment variable {name}")
        return f"secret {name} is not set: set {' or '.join(places)}"

    def _from_file(self, name: str) -> str | None:
        if self._folder is None:
            return None
        try:
            text = (self._folder / name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        # Editors and `echo` end files with a line break that is no part of the secret.
        return text.rstrip("\r\n") or None


def _parts(value: str) -> Iterator[str]:
    """A header's value, and what a bot reads out of it: the token behind its scheme, a user's password."""
    yield value
    if (scheme := _SCHEME.fullmatch(value)) is None:
        return
    yield scheme[2]
    if scheme[1].lower() == "basic":
        try:
            pair = b64decode(scheme[2], validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return
        yield pair
        yield pair.partition(":")[2]


def _spellings(value: str) -> set[str]:
    return {
        value,
        quote(value, safe="", errors="replace"),
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        # As error texts quote it: a single quote is escaped only beside a double one.
        repr(value)[1:-1],
        repr(value + "\"'")[1:-4],
    }


def _shared(one: str, other: str) -> int:
    """Count the characters with which both begin."""
    return next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _pair(text: str) -> tuple[str, str, str]:
    return text.partition("=")
