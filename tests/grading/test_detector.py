from __future__ import annotations

import sys
from enum import Enum
from types import ModuleType, SimpleNamespace

import pytest

from proctor_grading.detector import LinguaDetector, installed_detector


class Code(Enum):
    UK = 1
    PL = 2


class Builder:
    def __init__(self, codes: tuple[Code, ...]) -> None:
        self.codes = codes

    @classmethod
    def from_iso_codes_639_1(cls, *codes: Code) -> Builder:
        return cls(codes)

    def build(self) -> Builder:
        return self

    def compute_language_confidence_values(self, text: str) -> list[SimpleNamespace]:
        ranked = sorted(self.codes, key=lambda code: code.name.lower() not in text)
        return [SimpleNamespace(language=SimpleNamespace(iso_code_639_1=ranked[0]), value=0.9)]


def test_the_detector_is_built_from_its_languages_on_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    detector = LinguaDetector(["uk", "pl"])
    assert detector.supports("pl")
    assert not detector.supports("de")
    module = ModuleType("lingua")
    module.__dict__.update(IsoCode639_1=Code, LanguageDetectorBuilder=Builder)
    monkeypatch.setitem(sys.modules, "lingua", module)
    assert detector.guess("pl") == ("pl", 0.9)
    assert detector.guess("uk") == ("uk", 0.9)


def test_without_the_package_there_is_no_detector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert installed_detector() is None


def test_the_real_detector_tells_short_lines_apart() -> None:
    pytest.importorskip("lingua", reason="the lang extra is not installed")
    detector = installed_detector(["uk", "pl", "es"])
    assert detector is not None
    language, confidence = detector.guess("Dziękujemy za zamówienie, paczka dotrze jutro")
    assert language == "pl"
    assert confidence >= 0.8
