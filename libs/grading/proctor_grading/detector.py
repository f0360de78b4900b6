"""The optional language detector, lingua, behind one class; loaded when a text must first be guessed."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterable
from functools import cached_property
from typing import Any

__all__ = ["DEFAULT_LANGUAGES", "LinguaDetector", "installed_detector"]

DEFAULT_LANGUAGES = ("uk", "ru", "en", "pl", "pt", "es", "de")
"""The languages that are told apart unless others are declared; each costs about 30 MB."""

_PACKAGE = "lingua"


def installed_detector(languages: Iterable[str] = DEFAULT_LANGUAGES) -> LinguaDetector | None:
    """Return a detector for these ISO 639-1 codes, or None when the `lang` extra is not installed."""
    return LinguaDetector(languages) if importlib.util.find_spec(_PACKAGE) else None


class LinguaDetector:
    """A `LanguageDetector` that only ever answers with one of its languages; give it two or more.

    The first guess loads the models, which takes about half a second for seven languages.
    """

    def __init__(self, languages: Iterable[str]) -> None:
        self._languages = tuple(dict.fromkeys(languages))

    def supports(self, language: str) -> bool:
        """Whether the code is one of this detector's languages."""
        return language in self._languages

    def guess(self, text: str) -> tuple[str | None, float]:
        """Return the likeliest code and its confidence (0-1)."""
        values = self._detector.compute_language_confidence_values(text)
        if not values:
            return None, 0.0
        return str(values[0].language.iso_code_639_1.name).lower(), float(values[0].value)

    @cached_property
    def _detector(self) -> Any:
        lingua: Any = importlib.import_module(_PACKAGE)
        codes = [getattr(lingua.IsoCode639_1, language.upper()) for language in self._languages]
        return lingua.LanguageDetectorBuilder.from_iso_codes_639_1(*codes).build()
