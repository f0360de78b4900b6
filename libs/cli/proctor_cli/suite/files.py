"""Files a suite names: found inside its folder, never outside."""

from __future__ import annotations

from pathlib import Path as FilePath

__all__ = ["Unreadable", "find_files", "read_text", "shown"]

MAX_BYTES = 32 * 1024 * 1024


class Unreadable(Exception):
    """A named file cannot be read; the message says why."""


def find_files(folder: FilePath, pattern: str) -> list[FilePath]:
    """Find the files of a path or glob pattern relative to the suite's folder, sorted.

    Raises:
        Unreadable: when the pattern leads out of the folder, or to nothing.
    """
    steps = FilePath(pattern)
    if not pattern or steps.is_absolute() or ".." in steps.parts or "\x00" in pattern:
        raise Unreadable(f"{pattern!r} leads out of the suite's folder; name a file inside it")
    globbed = any(sign in pattern for sign in "*?[")
    found = sorted(folder.glob(pattern)) if globbed else [folder / pattern]
    files = [path for path in found if path.is_file()]
    if not files:
        raise Unreadable(f"no file {pattern!r} in {folder}")
    home = folder.resolve()
    for path in files:
        if not path.resolve().is_relative_to(home):
            raise Unreadable(f"{pattern!r} is a link out of the suite's folder; copy the file into it")
    return files


def read_text(path: FilePath) -> str:
    """Read a UTF-8 file, with or without a byte-order mark.

    Raises:
        Unreadable: when it is too large, not UTF-8, or not there.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise Unreadable(f"is larger than {MAX_BYTES // 1024 // 1024} MiB; split it with {{file: …}}")
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(f"is not UTF-8 (byte {error.start}); save it as UTF-8") from error
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror or error}") from error


def shown(path: FilePath, folder: FilePath, suite: str) -> str:
    """Name an included file the way the suite itself was named on the command line."""
    try:
        inside = path.relative_to(folder)
    except ValueError:
        return str(path)
    return str(FilePath(suite).parent / inside)
