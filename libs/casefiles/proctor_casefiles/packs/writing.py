"""How a template becomes text: named pieces, and the disguises that attacks wear."""

from __future__ import annotations

import base64
import codecs
import re
from collections.abc import Callable, Mapping

__all__ = ["disguised", "escaped", "filled"]

_PLACE = re.compile(r"\{\{(?:(\w+):)?([^{}]+)\}\}")
_DEEPEST = 8
_TAGS = 0xE0000

# Letters of one script that look like letters of the other.
_LATIN, _CYRILLIC = "ABCEHIKMOPTXaceiopxys", "АВСЕНІКМОРТХасеіорхуѕ"  # noqa: RUF001 - look-alikes on purpose
_ALIKE = str.maketrans(_LATIN + _CYRILLIC, _CYRILLIC + _LATIN)
_SPECIAL = re.compile(r"[\\^$.*+?()\[\]{}|/]")


def filled(template: str, values: Mapping[str, str]) -> str:
    """Put values where a template names them, and disguise what it asks to: `{{brand}}`, `{{base64:…}}`.

    A value may name others.

    Raises:
        KeyError: for a name or a disguise that there is not.
    """
    for _ in range(_DEEPEST):
        if "{{" not in template:
            break
        template = _PLACE.sub(lambda found: _put(found, values), template)
    return template


def _put(found: re.Match[str], values: Mapping[str, str]) -> str:
    disguise, name = found.groups()
    return values[name] if disguise is None else _DISGUISES[disguise](name)


def escaped(text: str) -> str:
    """Write a text as a pattern that means it literally, in JavaScript with the flag u or without."""
    return re.sub(r"\s+", r"\\s+", _SPECIAL.sub(r"\\\g<0>", text))


def disguised(name: str) -> str:
    """Write a name with one letter of another script that looks the same; else with a space nobody sees."""
    for at, letter in enumerate(name):
        if (twin := letter.translate(_ALIKE)) != letter:
            return name[:at] + twin + name[at + 1 :]
    return f"{name[:1]}\u200b{name[1:]}"


def _tags(text: str) -> str:
    return "".join(chr(_TAGS + ord(letter)) for letter in text)


_DISGUISES: Mapping[str, Callable[[str], str]] = {
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "rot13": lambda text: codecs.encode(text, "rot13"),
    "tags": _tags,
}
