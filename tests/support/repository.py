"""The repository as a set of files, for tests that hold every file to one rule."""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["ROOT", "packages", "project", "python_files", "relative", "syntax"]

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("services", "libs", "tools", "examples", "benchmarks", "tests")


@cache
def python_files(*folders: str) -> tuple[Path, ...]:
    """All Python files below these folders of the repository (all sources when none is named)."""
    found = (path for folder in folders or SOURCES for path in (ROOT / folder).rglob("*.py"))
    return tuple(sorted(path for path in found if ".venv" not in path.parts))


@cache
def packages() -> dict[str, Path]:
    """Every import package of Proctor and its folder."""
    found = [*ROOT.glob("services/*/proctor_*"), *ROOT.glob("libs/*/proctor_*")]
    return {path.name: path for path in sorted(found) if path.is_dir()}


@cache
def syntax(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def project() -> dict[str, Any]:
    """pyproject.toml, read."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def relative(path: Path) -> str:
    """A path as people write it, from the repository's root."""
    return path.relative_to(ROOT).as_posix()
