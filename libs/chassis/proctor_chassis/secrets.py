"""Secrets by reference: where their values come from, and keeping those values out of everything shown."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

__all__ = ["PROVIDER_KEYS", "Redactor", "Secrets", "mask_url"]

PROVIDER_KEYS = ("ANTHROPIC_API_KEY", "GROQ_API_KEY", "OPENAI_API_KEY")
"""Environment variables of the providers' own keys; they are redacted like any secret."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_PREFIX = "PROCTOR_SECRET_"
_SHORTEST = 4
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

    Values shorter than four characters are left alone: replacing them would shred ordinary text.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None

    @property
    def empty(self) -> bool:
        """Whether no secret is known, so that there is nothing to replace."""
        return self._pattern is None

    def add(self, name: str, value: str) -> None:
        """Learn one secret, also in the spellings it takes inside a URL or a JSON string."""
        spellings = {
            value,
            quote(value, safe="", errors="replace"),
            json.dumps(value)[1:-1],
            json.dumps(value, ensure_ascii=False)[1:-1],
        }
        new = {one for one in spellings if len(one) >= _SHORTEST and one not in self._names}
        if not new:
            return
        self._names.update(dict.fromkeys(new, name))
        # Longest first, so that a secret that begins with another is replaced whole.
        ordered = sorted(self._names, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, ordered)))

    def text(self, text: str) -> str:
        """Replace every known secret in a text."""
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda found: f"[secret:{self._names[found.group()]}]", text)

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


def _pair(text: str) -> tuple[str, str, str]:
    return text.partition("=")
