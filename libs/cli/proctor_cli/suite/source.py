"""Suite text read into plain values, with the line of everything in it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import yaml

from proctor_casefiles.documents import DocumentInvalid, read_json, read_yaml

from .problems import Path, SuiteInvalid, SuiteProblem, dotted

__all__ = ["Source", "read_source"]

_Loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


@dataclass(frozen=True)
class Source:
    """A read document: `name` as shown to people, its value, and where its parts stand."""

    name: str
    value: Any
    text: str = field(repr=False)

    @cached_property
    def _root(self) -> yaml.Node | None:
        # JSON is close enough to YAML to find lines by; only its surrogate pairs are not YAML's.
        text = _SURROGATE.sub(r"\\uFFFD", self.text) if self.name.lower().endswith(".json") else self.text
        try:
            root: yaml.Node | None = yaml.compose(text, Loader=_Loader)
        except (yaml.YAMLError, RecursionError, UnicodeEncodeError):
            return None
        return root

    def line(self, path: Path) -> int | None:
        """Find the line of a part, or of the nearest part around it that exists."""
        node = self._root
        if node is None:
            return None
        line: int = node.start_mark.line
        for step in path:
            match node:
                case yaml.MappingNode():
                    found = next(((key, item) for key, item in node.value if key.value == str(step)), None)
                    if found is None:
                        break
                    line, node = found[0].start_mark.line, found[1]
                case yaml.SequenceNode() if isinstance(step, int) and step < len(node.value):
                    node = node.value[step]
                    line = node.start_mark.line
                case _:
                    break
        return line + 1

    def problem(self, path: Path, message: str) -> SuiteProblem:
        """Make a problem that points at a part of this document."""
        return SuiteProblem(file=self.name, line=self.line(path), path=dotted(path), message=message)


def read_source(name: str, text: str) -> Source:
    """Read YAML, or JSON where the name ends in `.json`.

    Raises:
        SuiteInvalid: with every fault of the text's form.
    """
    try:
        value = read_json(text) if name.lower().endswith(".json") else read_yaml(text)
    except DocumentInvalid as error:
        lines = Source(name, None, text)
        raise SuiteInvalid(
            [
                SuiteProblem(
                    name,
                    lines.line(fault.path) if fault.line is None and fault.path else fault.line,
                    dotted(fault.path),
                    fault.message,
                )
                for fault in error.faults
            ]
        ) from error
    return Source(name, value, text)
