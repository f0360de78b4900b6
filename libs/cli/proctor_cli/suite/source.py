"""Suite text read into plain values, with the line of everything in it.

YAML is read by the rules of its version 1.2: `no`, `on` and `2026-01-01` are text, as in JSON. Tags are not
read. Repeated keys, deep nesting and text that cannot be stored are refused.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import yaml

from proctor_contracts.base import unstorable

from .problems import Path, SuiteInvalid, SuiteProblem, dotted

__all__ = ["Source", "read_source"]

MAX_DEPTH = 64
MAX_NODES = 1_000_000
_Loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_PLAIN_TAGS = {"tag:yaml.org,2002:str", "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map"}
_NULL = re.compile(r"(?:~|null|Null|NULL|)")
_TRUE, _FALSE = re.compile("true|True|TRUE"), re.compile("false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile("0x[0-9a-fA-F]+|0o[0-7]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_MOST_DIGITS = 300
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_MERGE = "<<"
_PLAIN_STYLES = {None, ""}  # the two parsers disagree on how to say "not quoted"


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
    if name.lower().endswith(".json"):
        value = _read_json(name, text)
        source = Source(name, value, text)
        problems = [source.problem(path, message) for path, message in _unfit(value, ())]
    else:
        value, problems = _Yaml(name).read(text)
        source = Source(name, value, text)
    if problems:
        raise SuiteInvalid(problems)
    return source


class _Repeated(ValueError):
    """A JSON object names a key twice."""


def _read_json(name: str, text: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value: dict[str, Any] = {}
        for key, item in pairs:
            if key in value:
                raise _Repeated(f"the key {key!r} stands twice in one object; keep one")
            value[key] = item
        return value

    def refuse(word: str) -> Any:
        raise _Repeated(f"{word} is not a JSON number")

    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=refuse)
    except json.JSONDecodeError as error:
        message = f"is not JSON: {error.msg} (column {error.colno})"
        raise SuiteInvalid([SuiteProblem(name, error.lineno, "", message)]) from error
    except RecursionError as error:
        raise SuiteInvalid([SuiteProblem(name, None, "", _too_deep())]) from error
    except ValueError as error:
        raise SuiteInvalid([SuiteProblem(name, None, "", str(error))]) from error


def _too_deep() -> str:
    return f"is nested deeper than {MAX_DEPTH} levels; flatten it"


def _unfit(value: Any, path: Path) -> list[tuple[Path, str]]:
    """Find text that cannot be stored and nesting that is too deep in a JSON value."""
    if len(path) > MAX_DEPTH:
        return [(path[:3], _too_deep())]
    match value:
        case str():
            return [(path, reason)] if (reason := unstorable(value)) else []
        case list():
            return [fault for index, item in enumerate(value) for fault in _unfit(item, (*path, index))]
        case dict():
            keys = [(path, f"a key {reason}") for key in value if (reason := unstorable(key))]
            return keys + [fault for key, item in value.items() for fault in _unfit(item, (*path, key))]
        case float() if not math.isfinite(value):
            return [(path, "is not a finite number")]
        case _:
            return []


class _Yaml:
    """Turns YAML nodes into values, collecting faults as it goes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.problems: list[SuiteProblem] = []
        self.nodes = 0

    def read(self, text: str) -> tuple[Any, list[SuiteProblem]]:
        try:
            root = yaml.compose(text, Loader=_Loader)
        except RecursionError:
            return None, [SuiteProblem(self.name, None, "", _too_deep())]
        except UnicodeEncodeError:
            return None, [SuiteProblem(self.name, None, "", "is not valid text: it holds a lone surrogate")]
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else None
            return None, [SuiteProblem(self.name, line, "", f"is not YAML: {error.problem}")]
        except yaml.YAMLError as error:
            line = text.count("\n", 0, getattr(error, "position", 0) or 0) + 1
            return None, [SuiteProblem(self.name, line, "", f"is not YAML: {str(error).splitlines()[0]}")]
        return (None if root is None else self.value(root, ())), self.problems

    def fault(self, node: yaml.Node, path: Path, message: str) -> None:
        self.problems.append(SuiteProblem(self.name, node.start_mark.line + 1, dotted(path[:12]), message))

    def unreadable(self, node: yaml.Node, path: Path) -> bool:
        self.nodes += 1
        if len(path) > MAX_DEPTH:
            self.fault(node, path[:3], _too_deep())
        elif self.nodes == MAX_NODES:
            self.fault(node, (), f"holds more than {MAX_NODES} values once its aliases are written out")
        elif node.tag not in _PLAIN_TAGS:
            self.fault(node, path, f"has the tag {node.tag}; tags are not read, so remove it")
        elif self.nodes < MAX_NODES:
            return False
        return True

    def value(self, node: yaml.Node, path: Path) -> Any:
        if self.unreadable(node, path):
            return None
        match node:
            case yaml.ScalarNode():
                return self.scalar(node, path)
            case yaml.SequenceNode():
                return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
            case yaml.MappingNode():
                return self.mapping(node, path)
            case _:
                return None

    def mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        value: dict[str, Any] = {}
        merged: list[Any] = []
        for key_node, item in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self.fault(key_node, path, "a key must be text")
                continue
            key = key_node.value
            if key == _MERGE and key_node.style in _PLAIN_STYLES:
                several = isinstance(item, yaml.SequenceNode)
                found = self.value(item, path)
                merged += found if several else [found]
            elif key in value:
                self.fault(key_node, (*path, key), "this key stands twice; keep one")
            else:
                if reason := unstorable(key):
                    self.fault(key_node, path, f"a key {reason}")
                value[key] = self.value(item, (*path, key))
        for base in merged:
            if isinstance(base, dict):
                value = {**base, **value}
            else:
                self.fault(node, path, "<< merges mappings only")
        return value

    def scalar(self, node: yaml.ScalarNode, path: Path) -> Any:
        text: str = node.value
        if reason := unstorable(text):
            self.fault(node, path, reason)
            return None
        return _plain(text) if node.style in _PLAIN_STYLES else text


def _plain(text: str) -> Any:  # noqa: PLR0911 - one line a type of YAML's core schema
    if _NULL.fullmatch(text):
        return None
    if _TRUE.fullmatch(text):
        return True
    if _FALSE.fullmatch(text):
        return False
    if len(text) < _MOST_DIGITS:
        if _INT.fullmatch(text):
            return int(text)
        if _BASED.fullmatch(text):
            return int(text, 0)
        if _FLOAT.fullmatch(text) and math.isfinite(number := float(text)):
            return number
    return text
