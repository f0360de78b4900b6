"""How a template becomes text: named pieces, and the disguises that attacks wear."""

from __future__ import annotations

import base64
import codecs
import re
from collections.abc import Callable, Mapping

__all__ = ["disguised", "escaped", "filled", "pieced", "woven"]

_PLACE = re.compile(r"\{\{(?:(\w+):)?([^{}]+)\}\}")
_TAGS = 0xE0000

# Letters of one script that look like letters of the other.
_LATIN, _CYRILLIC = "ABCEHIKMOPTXaceiopxys", "АВСЕНІКМОРТХасеіорхуѕ"  # noqa: RUF001 - look-alikes on purpose
_ALIKE = str.maketrans(_LATIN + _CYRILLIC, _CYRILLIC + _LATIN)
_SPECIAL = re.compile(r"[\\^$.*+?()\[\]{}|/]")


def woven(pieces: Mapping[str, str]) -> dict[str, str]:
    """Put named pieces into one another; names that are no piece stay for `filled`.

    Raises:
        ValueError: when pieces name one another in a circle.
    """
    done: dict[str, str] = {}

    def whole(name: str, around: tuple[str, ...]) -> str:
        if name in around:
            raise ValueError(f"pieces name one another in a circle: {' -> '.join((*around, name))}")
        if name not in done:
            inside = (*around, name)
            done[name] = pieced(
                pieces[name], {key: whole(key, inside) for key in _named(pieces[name]) if key in pieces}
            )
        return done[name]

    return {name: whole(name, ()) for name in pieces}


def pieced(template: str, pieces: Mapping[str, str]) -> str:
    """Put in the pieces that a template names; every other name stays."""
    return _PLACE.sub(
        lambda found: pieces.get(found[2], found[0]) if found[1] is None else found[0], template
    )


def _named(template: str) -> set[str]:
    return {found[2] for found in _PLACE.finditer(template) if found[1] is None}


def filled(template: str, values: Mapping[str, str]) -> str:
    """Put values where a template names them, and disguise what it asks to: `{{brand}}`, `{{base64:…}}`.

    Raises:
        KeyError: for a name or a disguise that there is not.
    """
    return _PLACE.sub(lambda found: _put(found, values), template)


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
    "template": lambda text: "{{%s}}" % text,  # noqa: UP031 - braces in an f-string would be four
}
