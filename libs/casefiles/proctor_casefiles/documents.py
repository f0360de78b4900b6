"""Text read into plain values: JSON, and YAML by the rules of its version 1.2.

In YAML `no`, `on` and `2026-01-01` are text, as in JSON. Tags are not read. Repeated keys, deep nesting and
text that cannot be stored are refused in both.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from proctor_contracts.base import unstorable

__all__ = ["DocumentInvalid", "Fault", "Path", "dotted", "read_json", "read_yaml", "undotted"]

Path = tuple[str | int, ...]
"""Where in a document: keys and indexes from its root."""

MAX_DEPTH = 64
MAX_NODES = 1_000_000
_SHOWN_STEPS = 12
_Loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_PLAIN_TAGS = {"tag:yaml.org,2002:str", "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map"}
_NULL = re.compile(r"(?:~|null|Null|NULL|)")
_TRUE, _FALSE = re.compile("true|True|TRUE"), re.compile("false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile("0x[0-9a-fA-F]+|0o[0-7]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_MOST_DIGITS = 300
_MERGE = "<<"
_PLAIN_STYLES = {None, ""}  # the two parsers disagree on how to say "not quoted"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: the line where it is known, the path inside, and what to do."""

    line: int | None
    path: Path
    message: str


class DocumentInvalid(Exception):
    """The text holds no value that can be used; `faults` holds what was found."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("; ".join(fault.message for fault in faults))
        self.faults = tuple(faults)


def dotted(path: Path) -> str:
    """Write a path as `cases.3.assertions.0.pattern`."""
    return ".".join(map(str, path))


def undotted(text: str) -> Path:
    """Read a dotted path back."""
    return tuple(int(step) if step.isdecimal() else step for step in text.split(".")) if text else ()


def read_json(text: str) -> Any:
    """Read one JSON document.

    Raises:
        DocumentInvalid: with every fault of the text's form; those inside a value that was read have no line.
    """
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        message = f"is not JSON: {error.msg} (column {error.colno})"
        raise DocumentInvalid([Fault(error.lineno, (), message)]) from error
    except RecursionError as error:
        raise DocumentInvalid([Fault(None, (), _too_deep())]) from error
    except ValueError as error:
        raise DocumentInvalid([Fault(None, (), str(error))]) from error
    if faults := [Fault(None, path, message) for path, message in _unfit(value, ())]:
        raise DocumentInvalid(faults)
    return value


def read_yaml(text: str, *, most_nodes: int | None = None) -> Any:
    """Read one YAML document.

    `most_nodes` bounds a text that nobody vouches for: what is written in it, before anything is built of it,
    and what its aliases make of it, which is never without a bound.

    Raises:
        DocumentInvalid: with every fault of the text's form.
    """
    reading = _Yaml(most_nodes)
    value = reading.read(text)
    if reading.faults:
        raise DocumentInvalid(reading.faults)
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for key, item in pairs:
        if key in value:
            raise ValueError(f"the key {key!r} stands twice in one object; keep one")
        value[key] = item
    return value


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON number")


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

    def __init__(self, most_nodes: int | None) -> None:
        self.faults: list[Fault] = []
        self.nodes = 0
        self.most = most_nodes or MAX_NODES
        self.counted = most_nodes is not None

    def read(self, text: str) -> Any:
        try:
            if self.counted and not _small(text, self.most):
                self.faults = [Fault(None, (), f"holds more than {self.most:,} values; split it")]
                return None
            root = yaml.compose(text, Loader=_Loader)
        except RecursionError:
            self.faults = [Fault(None, (), _too_deep())]
        except UnicodeEncodeError:
            self.faults = [Fault(None, (), "is not valid text: it holds a lone surrogate")]
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else None
            self.faults = [Fault(line, (), f"is not YAML: {error.problem}")]
        except yaml.YAMLError as error:
            line = text.count("\n", 0, getattr(error, "position", 0) or 0) + 1
            self.faults = [Fault(line, (), f"is not YAML: {str(error).splitlines()[0]}")]
        else:
            return None if root is None else self.value(root, ())
        return None

    def fault(self, node: yaml.Node, path: Path, message: str) -> None:
        self.faults.append(Fault(node.start_mark.line + 1, path[:_SHOWN_STEPS], message))

    def unreadable(self, node: yaml.Node, path: Path) -> bool:
        self.nodes += 1
        if len(path) > MAX_DEPTH:
            self.fault(node, path[:3], _too_deep())
        elif self.nodes == self.most:
            self.fault(node, (), f"holds more than {self.most} values once its aliases are written out")
        elif node.tag not in _PLAIN_TAGS:
            self.fault(node, path, f"has the tag {node.tag}; tags are not read, so remove it")
        elif self.nodes < self.most:
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


def _small(text: str, most_nodes: int) -> bool:
    """Count what a text holds from its events, of which none is kept; a nesting too deep ends it, too."""
    nodes = depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        match event:
            case yaml.CollectionStartEvent():
                nodes, depth = nodes + 1, depth + 1
            case yaml.CollectionEndEvent():
                depth -= 1
            case yaml.ScalarEvent() | yaml.AliasEvent():
                nodes += 1
            case _:
                pass
        if depth > MAX_DEPTH:
            raise RecursionError
        if nodes > most_nodes:
            return False
    return True


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
