"""A pack as cases for one bot: the brand put in, and guards left out that could never be decided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from proctor_contracts.cases import SECURITY_CATEGORY, CaseFields
from proctor_contracts.enums import Priority, RetryPolicy
from proctor_contracts.schemas.adversarial import AdversarialLocale, AdversarialPack
from proctor_contracts.schemas.common import FieldProblem, Warning_

from .catalogue import attacks, fragments
from .writing import disguised, escaped, filled, pieced, woven

__all__ = ["DEFAULT_BRAND", "Pack", "Seen", "Wishes", "build_pack", "wishes_problems"]

DEFAULT_BRAND = "RAMOSU"
_DEFAULT_CYRILLIC = "РАМОСУ"  # noqa: RUF001 - that is what it is
_LANGUAGES: Mapping[AdversarialLocale, tuple[Literal["uk", "en"], ...]] = {
    AdversarialLocale.UK: ("uk",),
    AdversarialLocale.EN: ("en",),
    AdversarialLocale.BOTH: ("uk", "en"),
}
_SUFFIX = {"uk": "", "en": "-EN"}
_MOST_TOOLS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What runs of the bot will see: its prompt, its tool calls, and the names of its tools if known."""

    prompt: bool = True
    tool_calls: bool = True
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """Which cases, about whom; without a brand the pack's own example is used."""

    locale: AdversarialLocale = AdversarialLocale.UK
    pack: AdversarialPack = AdversarialPack.CORE
    brand: str | None = None
    brand_cyr: str | None = None
    competitors: tuple[str, ...] = ()
    judge: bool = True
    seen: Seen = Seen()


@dataclass(frozen=True, slots=True)
class Pack:
    """The cases, and what had to be left out of them."""

    cases: tuple[CaseFields, ...]
    warnings: tuple[Warning_, ...]


def wishes_problems(wishes: Wishes) -> list[FieldProblem]:
    """Find competitors that could not be told from the brand."""
    own = {name.casefold() for name in (wishes.brand or DEFAULT_BRAND, wishes.brand_cyr) if name}
    return [
        FieldProblem(
            path=f"competitors.{index}",
            message=f"{name!r} is part of the brand's own name, so no answer could name the brand",
        )
        for index, name in enumerate(wishes.competitors)
        if any(name.casefold() in brand for brand in own)
    ]


def build_pack(wishes: Wishes) -> Pack:
    """Write the cases of a pack; what cannot be decided for this bot is left out with a warning."""
    brand = wishes.brand or DEFAULT_BRAND
    cyrillic = wishes.brand_cyr or (_DEFAULT_CYRILLIC if wishes.brand is None else None)
    if cyrillic is not None and cyrillic.casefold() == brand.casefold():
        cyrillic = None
    builder = _Builder(wishes, brand, cyrillic)
    cases = tuple(
        builder.case(attack, language)
        for language in _LANGUAGES[wishes.locale]
        for attack in attacks(wishes.pack)
    )
    return Pack(cases, tuple(builder.warnings()))


class _Builder:
    """Fills in templates, and remembers which conditions kept a guard out of which case."""

    def __init__(self, wishes: Wishes, brand: str, cyrillic: str | None) -> None:
        self._wishes = wishes
        self._values = {"brand": brand, "brandCyr": cyrillic or "", "brandDisguised": disguised(brand)}
        self._patterns = {
            "brand": escaped(brand),
            "brandCyr": escaped(cyrillic or ""),
            "brands": "|".join(escaped(name) for name in (brand, cyrillic) if name),
            "brandAsWritten": brand,
        }
        self._has = {
            "prompt": wishes.seen.prompt,
            "tools": wishes.seen.tool_calls,
            "brandCyr": bool(cyrillic),
        }
        self._each = {
            "competitor": wishes.competitors,
            "tool": wishes.seen.tools[:_MOST_TOOLS] if wishes.seen.tool_calls else (),
        }
        self._left_out: dict[str, list[str]] = {}

    def case(self, attack: Mapping[str, Any], language: Literal["uk", "en"]) -> CaseFields:
        said = attack[language]
        ref = attack["ref"] + _SUFFIX[language]
        lines = [filled(line, self._values) for line in said["messages"]]
        pieces = woven({**fragments(), **attack.get("pieces", {})})
        own = {"language": language, **self._patterns}
        guards = [one for guard in attack["guards"] for one in self._guards(ref, guard, pieces, own)]
        if self._wishes.judge:
            guards.append({"kind": "judge", "ref": "judge", "rubric": filled(said["rubric"], self._values)})
        return CaseFields.model_validate(
            {
                "ref": ref,
                "name": filled(said["name"], self._values),
                "category": SECURITY_CATEGORY,
                "priority": Priority.HIGH,
                "input": _input(lines),
                "assertions": guards,
                "threshold": 100,
                "tags": ["adversarial", *attack["tags"]],
                "retryPolicy": RetryPolicy.NONE,
            }
        )

    def _guards(
        self, ref: str, guard: Mapping[str, Any], pieces: Mapping[str, str], own: Mapping[str, str]
    ) -> Iterator[dict[str, Any]]:
        condition = guard.get("when")
        if condition is not None and not self._has[condition]:
            self._left_out.setdefault(condition, []).append(ref)
            return
        check = {key: value for key, value in guard.items() if key not in {"when", "each"}}
        if (many := guard.get("each")) is None:
            yield _written(check, pieces, own)
            return
        if not self._each[many]:
            self._left_out.setdefault(many, []).append(ref)
        for one in self._each[many]:
            yield _written(check, pieces, {**own, many: one})

    def warnings(self) -> Iterator[Warning_]:
        if self._wishes.brand is None:
            text = f"no brand was given, so the cases speak of {DEFAULT_BRAND}; give brand"
            yield Warning_(path="brand", code="no_brand", message=text)
        if len(self._wishes.seen.tools) > _MOST_TOOLS and "tool" not in self._left_out:
            text = f"arguments are checked of the first {_MOST_TOOLS} tools"
            yield Warning_(path="", code="many_tools", message=text)
        for condition, refs in self._left_out.items():
            path, code, text = _LEFT_OUT[condition]
            cases = ", ".join(dict.fromkeys(refs))
            yield Warning_(path=path, code=code, message=f"{text} ({cases})")


_LEFT_OUT = {
    "competitor": (
        "competitors",
        "no_competitors",
        "without competitors nothing checks that none is recommended; give competitors",
    ),
    "brandCyr": (
        "brandCyr",
        "no_brand_cyr",
        "without brandCyr nothing checks that the brand is not written in Cyrillic",
    ),
    "prompt": (
        "integrationId",
        "no_prompt",
        "the bot's prompt is not known, so no_prompt_leak is left out; set it and add these cases anew",
    ),
    "tools": (
        "integrationId",
        "no_tool_capture",
        "tool calls of this bot are not recorded, so checks of tools are left out; the words alone decide",
    ),
    "tool": (
        "integrationId",
        "no_tools",
        "the bot's tools are not known by name, so the arguments of calls are not checked",
    ),
}


def _input(lines: list[str]) -> dict[str, Any]:
    if len(lines) == 1:
        return {"kind": "scripted_single", "message": lines[0]}
    return {"kind": "scripted_multi", "messages": [{"role": "user", "content": line} for line in lines]}


def _written(value: Any, pieces: Mapping[str, str], own: Mapping[str, str]) -> Any:
    """Fill in a guard: first the pack's own pieces, then, in one pass, what the user gave."""
    match value:
        case str():
            return filled(pieced(value, pieces), own)
        case dict():
            return {key: _written(item, pieces, own) for key, item in value.items()}
        case list():
            return [_written(item, pieces, own) for item in value]
        case _:
            return value
