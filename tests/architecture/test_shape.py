from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

from tests.support.repository import ROOT, packages, project, python_files, relative, syntax

LONGEST_FILE, LONGEST_TEST = 400, 600
ONE_COMMIT = "libs/store/proctor_store/session.py"
IGNORE = re.compile(r"#\s*(noqa|type:\s*ignore)")
REASONED = re.compile(
    r"#\s*(noqa: [A-Z]+\d+(, ?[A-Z]+\d+)* - \S|type: ignore\[[a-z-]+(, ?[a-z-]+)*\]\s+# \S)"
)


def calls_of(path: Path, name: str) -> list[ast.Call]:
    """Calls of a function or method of this name."""
    return [
        node
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", None)) == name
    ]


def comments(path: Path) -> list[tuple[int, str]]:
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
    return [(token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT]


def test_no_file_is_longer_than_a_reader_can_hold() -> None:
    long = []
    for path in python_files():
        limit = LONGEST_TEST if path.is_relative_to(ROOT / "tests") else LONGEST_FILE
        lines = path.read_text(encoding="utf-8").count("\n")
        if lines > limit:
            long.append(f"{relative(path)}: {lines} lines, at most {limit}")
    assert long == []


def test_a_transaction_is_committed_in_one_place() -> None:
    places = {relative(path) for path in python_files("libs", "services") if calls_of(path, "commit")}
    assert places == {ONE_COMMIT}


def test_no_module_is_named_for_nothing() -> None:
    vague = {"util", "utils", "helper", "helpers", "misc", "stuff"}
    assert [
        relative(path) for path in python_files() if path.stem in vague or path.parent.name in vague
    ] == []


def test_library_modules_say_what_is_public() -> None:
    silent = []
    for path in python_files("libs"):
        if path.name == "__main__.py" or "migrations" in path.parts:
            continue
        body = syntax(path).body
        exported = [
            node
            for node in body
            if isinstance(node, ast.Assign | ast.AnnAssign)
            and any(isinstance(name, ast.Name) and name.id == "__all__" for name in ast.walk(node))
        ]
        # A package that only marks its folder has nothing to export.
        only_marks = path.name == "__init__.py" and len(body) <= 1
        if not exported and not only_marks:
            silent.append(relative(path))
    assert silent == []


def test_tests_do_not_wait_for_time_to_pass() -> None:
    waits = []
    for path in python_files("tests"):
        for call in calls_of(path, "sleep"):
            # sleep(0) only lets other tasks run.
            yields = bool(call.args) and isinstance(call.args[0], ast.Constant) and call.args[0].value == 0
            if not yields:
                waits.append(f"{relative(path)}:{call.lineno}")
    assert waits == []


def test_every_silenced_check_says_which_and_why() -> None:
    bare = [
        f"{relative(path)}:{line}"
        for path in python_files()
        for line, text in comments(path)
        if IGNORE.search(text) and not REASONED.search(text)
    ]
    assert bare == []


def test_no_comment_promises_work_for_later() -> None:
    promise = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
    found = [
        f"{relative(path)}:{line}"
        for path in python_files()
        for line, text in comments(path)
        if promise.search(text)
    ]
    assert found == []


def test_every_package_is_shipped_checked_and_bound_by_the_import_contracts() -> None:
    names = set(packages())
    assert len(names) >= 12
    tool = project()["tool"]
    shipped = {Path(path).name for path in tool["hatch"]["build"]["targets"]["wheel"]["packages"]}
    searched = {ROOT / path for path in tool["mypy"]["mypy_path"]}
    assert shipped == names
    assert set(tool["importlinter"]["root_packages"]) == names
    assert set(tool["ruff"]["lint"]["isort"]["known-first-party"]) == names
    assert [name for name, folder in packages().items() if folder.parent not in searched] == []
    assert [name for name, folder in packages().items() if not (folder / "py.typed").exists()] == []


def test_tests_lie_where_their_part_is() -> None:
    parts = {folder.parent.name for folder in packages().values()}
    beside = {"architecture", "bus", "data", "e2e", "examples", "integration", "support", "tools"}
    folders = {
        path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and path.name != "__pycache__"
    }
    assert folders - parts - beside == set()
