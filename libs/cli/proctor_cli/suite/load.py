"""Loading a suite: read, include, expand, check; every fault is reported, not only the first."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any

from pydantic import ValidationError

from proctor_casefiles.drafts import FileRefused
from proctor_casefiles.golden import read_golden
from proctor_contracts.cases import CaseFields
from proctor_contracts.endpoint import endpoint_problem

from .doubts import doubts
from .environment import expand, secrets_by_value
from .files import Unreadable, find_files, read_text, shown
from .model import Draft, Origin, Suite, SuiteHeader
from .problems import Path, SuiteInvalid, SuiteProblem, suggestion, undotted
from .runners import runner_faults
from .sharing import SharedNames
from .source import Source, read_source
from .wording import complaints

__all__ = ["derived_ref", "load_suite", "read_draft"]

MAX_CASES = 10_000
_HEADER_KEYS = ("integration", "run", "judge", "gate")
_KEYS = (*_HEADER_KEYS, "cases", "golden")


def derived_ref(name: str) -> str:
    """Make the ref of a case without one: stable as long as its name is."""
    folded = unicodedata.normalize("NFC", name).strip()
    return f"case-{hashlib.sha256(folded.encode()).hexdigest()[:10]}"


def load_suite(path: FilePath, env: Mapping[str, str]) -> Suite:
    """Load a suite file with everything it includes.

    Raises:
        SuiteInvalid: with every problem found.
    """
    draft = _Loading(path, env).draft()
    if draft.suite is None:
        raise SuiteInvalid(draft.problems)
    return draft.suite


def read_draft(path: FilePath, env: Mapping[str, str]) -> Draft:
    """Read a suite file with everything it includes as far as it can be read.

    Raises:
        SuiteInvalid: when the file holds no suite at all.
    """
    return _Loading(path, env).draft()


class _Loading:
    def __init__(self, path: FilePath, env: Mapping[str, str]) -> None:
        self.path = path
        self.folder = path.parent
        self.env = env
        self.problems: list[SuiteProblem] = []
        self.unset: set[Path] = set()
        self.named = SharedNames()

    def draft(self) -> Draft:
        source = self.read(self.path, str(self.path))
        if source is None:
            raise SuiteInvalid(self.problems)
        document = source.value
        if not isinstance(document, dict):
            raise SuiteInvalid([source.problem((), f"a suite is a mapping with {', '.join(_KEYS)}")])
        for key in document:
            if key not in _KEYS:
                self.problems.append(source.problem((key,), f"is not known here; {suggestion(key, _KEYS)}"))
        header, warnings = self.header(source, document)
        cases: list[CaseFields] = []
        origins: list[Origin] = []
        seen: dict[str, Origin] = {}
        for origin, value in self.written(source, document):
            self.refuse_duplicate(seen, origin, value)
            if (case := self.case(origin, value)) is not None:
                cases.append(case)
                origins.append(origin)
        self.refuse_size(source, len(cases))
        suite = None
        if header is not None and not self.problems:
            warnings += [source.problem(*doubt) for doubt in doubts(header, cases)]
            suite = Suite(
                name=str(self.path),
                header=header,
                cases=tuple(cases),
                origins=tuple(origins),
                warnings=warnings,
            )
        return Draft(
            suite=suite,
            prompt=header.integration.agent_prompt if header is not None else None,
            cases=tuple(cases),
            origins=tuple(origins),
            problems=tuple(self.problems),
            warnings=tuple(warnings),
        )

    def refuse_size(self, source: Source, cases: int) -> None:
        if not cases and not self.problems:
            self.problems.append(
                source.problem(("cases",), "the suite holds no case; add one, or include a file")
            )
        if cases > MAX_CASES:
            self.problems.append(
                source.problem(("cases",), f"a run takes at most {MAX_CASES} cases; split it")
            )

    def read(self, path: FilePath, name: str) -> Source | None:
        try:
            return read_source(name, read_text(path))
        except Unreadable as error:
            self.problems.append(SuiteProblem(name, None, "", str(error)))
        except SuiteInvalid as error:
            self.problems += error.problems
        return None

    def included(self, source: Source, path: Path, pattern: Any) -> Iterator[tuple[FilePath, str]]:
        if not isinstance(pattern, str):
            self.problems.append(source.problem(path, "is a path, or a glob such as cases/*.yaml"))
            return
        try:
            files = find_files(self.folder, pattern)
        except Unreadable as error:
            self.problems.append(source.problem(path, str(error)))
            return
        for file in files:
            yield file, shown(file, self.folder, str(self.path))

    def header(
        self, source: Source, document: dict[str, Any]
    ) -> tuple[SuiteHeader | None, list[SuiteProblem]]:
        value = {key: document[key] for key in _HEADER_KEYS if document.get(key) is not None}
        value["integration"] = self.bot(source, value.get("integration"))
        if value["integration"] is None:
            self.problems.append(source.problem((), "integration is required: {name, provider, endpoint, …}"))
            return None, []
        warnings = [source.problem(*found) for found in secrets_by_value(document["integration"])]
        try:
            header = SuiteHeader.model_validate(value)
        except ValidationError as error:
            found = complaints(error, SuiteHeader, value)
            self.problems += [source.problem(*fault) for fault in found if fault[0] not in self.unset]
            return None, warnings
        if fault := endpoint_problem(header.integration.provider, header.integration.endpoint):
            self.problems.append(source.problem(("integration",), fault))
        self.problems += [source.problem(*found) for found in runner_faults(header)]
        return header, warnings

    def bot(self, source: Source, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        faults: list[tuple[Path, str]] = []
        prompt = value.get("agentPrompt")
        rest = {key: item for key, item in value.items() if key != "agentPrompt"}
        expanded: dict[str, Any] = expand(rest, self.env, ("integration",), faults)
        self.problems += [source.problem(*fault) for fault in faults]
        self.unset = {path for path, _ in faults}
        if isinstance(prompt, dict) and set(prompt) == {"file"}:
            texts = []
            for file, name in self.included(source, ("integration", "agentPrompt", "file"), prompt["file"]):
                try:
                    texts.append(read_text(file))
                except Unreadable as error:
                    self.problems.append(SuiteProblem(name, None, "", str(error)))
            prompt = "\n".join(texts)
        return expanded if prompt is None else {**expanded, "agentPrompt": prompt}

    def written(self, source: Source, document: dict[str, Any]) -> Iterator[tuple[Origin, Any]]:
        cases = document.get("cases") or []
        if not isinstance(cases, list):
            self.problems.append(source.problem(("cases",), "is a list of cases and {file: …} includes"))
            cases = []
        for index, value in enumerate(cases):
            path: Path = ("cases", index)
            if isinstance(value, dict) and set(value) == {"file"}:
                for file, name in self.included(source, (*path, "file"), value["file"]):
                    yield from self.cases_of_file(file, name)
            else:
                cases[index] = None  # a large suite's text, tree and cases need not all be held at once
                yield Origin(source, path), value
        golden = document.get("golden")
        for number, pattern in enumerate(golden if isinstance(golden, list) else [golden]):
            if pattern is None:
                continue
            place: Path = ("golden", number) if isinstance(golden, list) else ("golden",)
            pattern = pattern.get("file") if isinstance(pattern, dict) else pattern  # noqa: PLW2901 - {file: …} reads alike
            for file, name in self.included(source, place, pattern):
                yield from self.golden_of_file(file, name)

    def cases_of_file(self, file: FilePath, name: str) -> Iterator[tuple[Origin, Any]]:
        if (source := self.read(file, name)) is None:
            return
        value: Any = source.value
        path: Path = ()
        if isinstance(value, dict) and set(value) == {"cases"}:
            value, path = value["cases"], ("cases",)
        if isinstance(value, dict):
            yield Origin(source, ()), value
        elif isinstance(value, list):
            for index, item in enumerate(value):
                value[index] = None  # as above
                yield Origin(source, (*path, index)), item
        else:
            self.problems.append(
                source.problem((), "holds no case: write one, a list of them, or {cases: […]}")
            )

    def golden_of_file(self, file: FilePath, name: str) -> Iterator[tuple[Origin, Any]]:
        if (source := self.read(file, name)) is None:
            return
        try:
            drafts = read_golden(source.value).drafts
        except FileRefused as error:
            self.problems.append(source.problem((), error.message))
            return
        for index, draft in enumerate(drafts):
            self.problems += [
                source.problem(undotted(problem.path or ""), problem.message) for problem in draft.problems
            ]
            if not draft.problems:
                yield Origin(source, (index,)), dict(draft.fields)

    def case(self, origin: Origin, value: Any) -> CaseFields | None:
        if not isinstance(value, dict):
            self.problems.append(
                origin.problem((), "a case is a mapping {name, category, input, assertions, …}")
            )
            return None
        try:
            case = CaseFields.model_validate(value)
        except ValidationError as error:
            found = complaints(error, CaseFields, value)
            self.problems += [origin.problem(path, message) for path, message in found]
            return None
        if not case.ref:
            case = case.model_copy(update={"ref": derived_ref(case.name)})
        for part in (case, case.input, *case.assertions):
            self.named.share(part)
        return case

    def refuse_duplicate(self, seen: dict[str, Origin], origin: Origin, value: Any) -> None:
        """Compare what is written, so that another fault of a case does not hide this one."""
        if not isinstance(value, dict):
            return
        name, given = value.get("name"), value.get("ref")
        ref = given or (derived_ref(name) if isinstance(name, str) else None)
        if not isinstance(ref, str) or (first := seen.setdefault(ref, origin)) is origin:
            return
        place = f"{first.source.name}:{first.source.line(first.path)}"
        if isinstance(name, str) and ref == derived_ref(name):
            message = f"has no ref and the same name as the case in {place}; give one of them a ref"
            self.problems.append(origin.problem(("name",), message))
        else:
            self.problems.append(origin.problem(("ref",), f"{ref!r} is taken by the case in {place}"))
