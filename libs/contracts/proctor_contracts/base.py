"""The base of every value that crosses a wire: frozen, camelCase outside, snake_case inside."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict
from pydantic.alias_generators import to_camel

__all__ = ["TRUSTED", "TYPED", "Json", "SafeText", "Strict", "Wire", "nested_deeper", "unstorable"]

Json = Any
"""A JSON value: None, bool, int, float, str, list or dict."""


class Wire(BaseModel):
    """A frozen value read leniently (unknown fields are ignored) so that old and new processes can talk."""

    model_config = ConfigDict(
        frozen=True,
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        extra="ignore",
        defer_build=True,
        allow_inf_nan=False,
        ser_json_inf_nan="null",
    )


class Strict(Wire):
    """A frozen value a user typed: an unknown field is an error, since it is most often a typing mistake."""

    model_config = ConfigDict(extra="forbid")


TRUSTED = {"trusted": True}
"""The validation context of what Proctor wrote itself: checks of what users type need not run again."""


def nested_deeper(value: Json, levels: int) -> bool:
    """Whether lists and objects stand in each other more than `levels` times; not recursive itself."""
    level = [value]
    for _ in range(levels):
        level = [
            item
            for one in level
            if isinstance(one, dict | list)
            for item in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return False
    return any(isinstance(one, dict | list) for one in level)


def unstorable(text: str) -> str | None:
    """Say why a text cannot be stored (NUL or a lone surrogate), or None when it can."""
    if "\x00" in text:
        return "contains a NUL character (U+0000), which cannot be stored; remove it"
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            return f"contains a lone surrogate at position {error.start}, which is not valid text; remove it"
    return None


def _storable(text: str) -> str:
    if reason := unstorable(text):
        raise ValueError(reason)
    return text


SafeText = Annotated[str, AfterValidator(_storable)]
"""A string that PostgreSQL and JSON can hold: no NUL, no lone surrogate."""


def _typed(value: Any) -> Any:
    if isinstance(value, bool | str):
        raise ValueError("should be a number")  # noqa: TRY004 - pydantic reports ValueErrors
    return value


TYPED = BeforeValidator(_typed)
"""Behind a number that a user typed: 70.0 is one, "70" is not, nor is true, which would silently be 1."""
