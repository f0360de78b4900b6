"""Names that every provider accepts for tools whose own names may hold dots, spaces or Cyrillic."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

__all__ = ["Aliases"]

_ALLOWED = re.compile(r"[A-Za-z0-9_-]{1,64}")
_OTHER = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST = 64
_DIGEST = 8


class Aliases:
    """A reversible map between tools' own names and `[A-Za-z0-9_-]{1,64}`, unique within one request.

    A name that is allowed keeps itself; another becomes its readable part and a digest of the whole name,
    so an alias does not depend on which other tools there are or in what order.
    """

    def __init__(self, names: Iterable[str]) -> None:
        names = list(dict.fromkeys(names))
        own = {name for name in names if _ALLOWED.fullmatch(name)}
        self._alias = {name: name for name in own}
        self._name = dict(self._alias)
        for name in names:
            if name not in own:
                alias = _alias(name, taken=self._name.keys())
                self._alias[name], self._name[alias] = alias, name

    def alias(self, name: str) -> str:
        """Give the alias of a tool; one that is not on the list (an old call in a history) gets its own."""
        known = self._alias.get(name)
        if known is not None:
            return known
        return name if _ALLOWED.fullmatch(name) else _alias(name, taken=())

    def name(self, alias: str) -> str:
        """Give a tool's own name; an alias the model made up is its own name."""
        return self._name.get(alias, alias)


def _alias(name: str, *, taken: Iterable[str]) -> str:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    readable = _OTHER.sub("_", name)[: _LONGEST - _DIGEST - 1].strip("_")
    length = _DIGEST
    while True:
        alias = f"{readable or 'tool'}_{digest[:length]}"[-_LONGEST:]
        if alias not in taken:
            return alias
        # Only a tool that was named like an alias on purpose comes here; a longer digest settles it.
        length += 1
