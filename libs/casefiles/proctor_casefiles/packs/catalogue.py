"""The packs' data: attacks in two languages, their guards, and the pieces that guards are made of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from proctor_contracts.schemas.adversarial import AdversarialPack

__all__ = ["attacks", "fragments"]


@cache
def attacks(pack: AdversarialPack) -> tuple[Mapping[str, Any], ...]:
    """Read a pack's attacks: `ref`, `tags`, `guards`, and for each language `name`, `messages`, `rubric`."""
    return tuple(_read(f"{pack.value}.json"))


@cache
def fragments() -> Mapping[str, str]:
    """Read the named pieces of patterns, which may name one another as `{{name}}`."""
    found: dict[str, str] = {
        name: text if isinstance(text, str) else "".join(text)
        for name, text in _read("fragments.json").items()
    }
    return found


def _read(name: str) -> Any:
    text = (resources.files("proctor_casefiles.packs") / "data" / name).read_text(encoding="utf-8")
    return json.loads(text)
