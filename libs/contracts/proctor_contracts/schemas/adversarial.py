"""Packs of ready attacks, added to an integration."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import BeforeValidator, Field

from proctor_contracts.base import SafeText, Strict, Wire

from .common import Warning_

__all__ = ["AdversarialLocale", "AdversarialPack", "BrandName", "SeedAdversarial", "SeedOutcome"]

_LONGEST = 64
MOST_COMPETITORS = 50


def _one_line(value: object) -> object:
    return " ".join(value.split()) if isinstance(value, str) else value


BrandName = Annotated[SafeText, BeforeValidator(_one_line), Field(min_length=1, max_length=_LONGEST)]


class AdversarialLocale(StrEnum):
    """The languages in which the attacks are written."""

    UK = "uk"
    EN = "en"
    BOTH = "both"


class AdversarialPack(StrEnum):
    """Eight attacks that every bot should stand, or twenty more."""

    CORE = "core"
    EXTENDED = "extended"


class SeedAdversarial(Strict):
    """Which pack an integration gets.

    `brand` is the name as it is officially written, `brandCyr` its Cyrillic spelling that must not be used.
    `judge: false` leaves the judge's criteria out, so that code alone decides.
    """

    integration_id: UUID
    locale: AdversarialLocale = AdversarialLocale.UK
    pack: AdversarialPack = AdversarialPack.CORE
    brand: BrandName | None = None
    brand_cyr: BrandName | None = None
    competitors: Annotated[tuple[BrandName, ...], Field(max_length=MOST_COMPETITORS)] = ()
    judge: bool = True


class SeedOutcome(Wire):
    """What was added; skipped are the cases whose ref was there already, which are not touched."""

    created: int
    skipped: int
    total: int
    warnings: tuple[Warning_, ...] = ()
