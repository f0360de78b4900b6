"""A promptfoo configuration, or a list of its tests, into drafts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from proctor_casefiles.documents import Path, dotted
from proctor_casefiles.drafts import CaseDraft, FileRefused, Reading
from proctor_casefiles.labels import Refs, short_name
from proctor_contracts.schemas.imports import ImportProblem

from .cases import Asserted, Lost, Spread, assertions, spread
from .checks import Check, converted
from .notes import Unportable
from .prompts import read_prompts
from .templates import filled, filled_value

__all__ = ["read_promptfoo"]

_CATEGORY = "promptfoo"
_REVIEW = "needs_review"
_MOST_REF, _MOST_WEIGHT = 128, 10_000
_READ = {"description", "prompts", "tests", "defaultTest", "assertionTemplates"}
_SILENT = {"$schema", "providers", "targets", "outputPath", "sharing", "tags", "env", "commandLineOptions"}
_TEST_READ = {"description", "vars", "assert", "threshold", "metadata"}
_ASSERT_READ = {
    "type",
    "value",
    "threshold",
    "weight",
    "metric",
    "$ref",
    "transform",
    "contextTransform",
    "config",
}


def read_promptfoo(value: Any) -> Reading:
    """Turn a configuration's tests into drafts; a place is `tests.3`.

    As in promptfoo every assertion must hold unless the test has a threshold. A case of which an assertion
    could not be carried over has the tag `needs_review`, and a warning says which and why; a test of which
    none could is a problem.

    Raises:
        FileRefused: when it holds no tests.
    """
    document = {"tests": value} if isinstance(value, list) else value
    root: Path = () if isinstance(value, list) else ("tests",)
    if not isinstance(document, dict) or "tests" not in document:
        raise FileRefused("not_promptfoo", "a promptfoo configuration has tests: a list of {vars, assert}")
    tests = document["tests"]
    if not isinstance(tests, list):
        message = (
            "tests stand in another file or are made by code; import the file that holds the list of them"
        )
        raise FileRefused("not_promptfoo", message)
    return _Configuration(document, root).read(tests)


@dataclass(slots=True)
class _Checks:
    """What could be carried over of one test's assertions, and what not."""

    found: list[tuple[Check, float]] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)


class _Configuration:
    def __init__(self, document: Mapping[str, Any], root: Path) -> None:
        self.root = root
        self.refs = Refs("pf")
        self.notes: dict[tuple[str | None, str], None] = {}
        self.defaults = self._mapping(document, "defaultTest")
        self.templates = self._mapping(document, "assertionTemplates")
        self.prompt, notes = read_prompts(document.get("prompts"))
        for note in notes:
            self._note("prompts", note)
        for key in document:
            if key not in _READ | _SILENT:
                self._note(key, "has no counterpart")
        self._note_keys(self.defaults, ("defaultTest",))

    def read(self, tests: Sequence[Any]) -> Reading:
        drafts = [
            draft for index, test in enumerate(tests) for draft in self._drafts(test, (*self.root, index))
        ]
        warnings = tuple(
            ImportProblem(path=path, message=f"not carried over: {text}") for path, text in self.notes
        )
        return Reading(drafts=drafts, warnings=warnings)

    def _mapping(self, document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        value = document.get(key)
        if value is None or isinstance(value, dict):
            return value or {}
        self._note(key, "is not an object here, so it is not read")
        return {}

    def _note(self, path: str, text: str) -> None:
        self.notes[path, text] = None

    def _note_keys(self, test: Mapping[str, Any], path: Path) -> None:
        for key in test:
            if key not in _TEST_READ and not (key == "options" and _only_defaults(test[key])):
                self._note(dotted((*path, key)), "has no counterpart")

    def _drafts(self, test: Any, path: Path) -> list[CaseDraft]:
        place = dotted(path)
        if not isinstance(test, dict):
            return [_faulty(place, path, "is no test {vars, assert}; tests in other files are not read")]
        self._note_keys(test, path)
        try:
            return [
                self._draft(test, one, path) for one in spread(test.get("vars"), self.defaults.get("vars"))
            ]
        except Unportable as error:
            return [_faulty(place, path, error.reason)]

    def _draft(self, test: Mapping[str, Any], one: Spread, path: Path) -> CaseDraft:
        place = dotted(path)
        try:
            script = self.prompt.script(one.values)
            name = self._name(test, one, script)
        except Unportable as error:
            return _faulty(place, path, error.reason)
        checks = self._checks(test, one, path)
        warnings = tuple(
            ImportProblem(path=dotted(at), message=f"not carried over: {why}") for at, why in checks.lost
        )
        if not checks.found:
            text = "has no assertion that could be carried over, so there would be nothing to check"
            return _faulty(place, (*path, "assert"), text, warnings)
        fields = {
            "ref": self.refs.derive(str(test.get("description") or ""), repr(script)),
            "name": name,
            "input": script,
            "assertions": _weighed(checks.found),
            "threshold": _threshold(test.get("threshold", self.defaults.get("threshold"))),
            **self._labels(test, lost=bool(checks.lost)),
        }
        places = {"input": f"{place}.vars", "assertions": f"{place}.assert", "name": f"{place}.description"}
        return CaseDraft(fields=fields, place=place, places=places, warnings=warnings)

    def _name(self, test: Mapping[str, Any], one: Spread, script: Mapping[str, Any]) -> str:
        said = script.get("message") or script["messages"][-1]["content"]
        given = test.get("description")
        if not isinstance(given, str) or not given.strip():
            return short_name(said)
        name = filled(given, one.values)
        return f"{name} ({one.number} of {one.of})" if one.of > 1 and name == given else name

    def _labels(self, test: Mapping[str, Any], *, lost: bool) -> dict[str, Any]:
        about: dict[str, Any] = {}
        for source in (self.defaults.get("metadata"), test.get("metadata")):
            about |= source if isinstance(source, dict) else {}
        category = about.get("category")
        given = about.get("tags")
        tags = (
            [tag for tag in given if isinstance(tag, str) and tag.strip()] if isinstance(given, list) else []
        )
        return {
            "category": category if isinstance(category, str) and category.strip() else _CATEGORY,
            "tags": list(dict.fromkeys([*tags, _CATEGORY, *([_REVIEW] if lost else [])])),
        }

    def _checks(self, test: Mapping[str, Any], one: Spread, path: Path) -> _Checks:
        checks = _Checks()
        options = test.get("options")
        own_only = isinstance(options, dict) and options.get("disableDefaultAsserts") is True
        given = [(test.get("assert"), (*path, "assert"))]
        if not own_only:
            given.insert(0, (self.defaults.get("assert"), ("defaultTest", "assert")))
        for items, at in given:
            for item in assertions(items, at, self.templates):
                if isinstance(item, Asserted):
                    self._convert(item, one, checks)
                else:
                    checks.lost.append(item)
        return checks

    def _convert(self, item: Asserted, one: Spread, checks: _Checks) -> None:
        try:
            value = {**item.value, "value": filled_value(item.value.get("value"), one.values)}
            found = converted(value)
        except Unportable as error:
            kind = item.value.get("type")
            named = error.reason.startswith(str(kind))
            checks.lost.append((item.path, error.reason if named else f"{kind}: {error.reason}"))
            return
        label = item.value.get("metric")
        ref = {"ref": label[:_MOST_REF]} if isinstance(label, str) and label.strip() else {}
        checks.found += [({**check, **ref}, item.weight / len(found)) for check in found]
        for key in item.value.keys() - _ASSERT_READ:
            self._note(dotted((*item.path, key)), "has no counterpart")
        if "threshold" in item.value and any(check["kind"] == "judge" for check in found):
            self._note(
                dotted((*item.path, "threshold")), "a judge's answer is yes or no, so there is no threshold"
            )


def _only_defaults(options: Any) -> bool:
    return isinstance(options, dict) and set(options) <= {"disableDefaultAsserts"}


def _faulty(place: str, path: Path, message: str, warnings: tuple[ImportProblem, ...] = ()) -> CaseDraft:
    problem = ImportProblem(path=dotted(path), message=message)
    return CaseDraft(fields={}, place=place, problems=(problem, *warnings))


def _weighed(found: Sequence[tuple[Check, float]]) -> list[Check]:
    """Write weights as whole numbers that stand to each other as given; equal ones are left out."""
    weights = [weight for _, weight in found]
    if len(set(weights)) == 1:
        return [check for check, _ in found]
    whole = all(weight == int(weight) for weight in weights)
    factor = 1 if whole else 1 / min(weights)
    scaled = [min(round(weight * factor * (1 if whole else 10)), _MOST_WEIGHT) for weight in weights]
    return [{**check, "weight": max(weight, 1)} for (check, _), weight in zip(found, scaled, strict=True)]


def _threshold(given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= 1:
        return 100
    return round(given * 100)
