"""How the command ends: codes that a CI job can tell apart."""

from __future__ import annotations

from enum import IntEnum

from .client import PlatformRefused

__all__ = ["ExitCode", "Stop", "missing_package", "refusal_code"]

_UNDECIDED_STATUSES = {402, 408, 429}
_SERVER_FAULT = 500


class ExitCode(IntEnum):
    """Gate passed, gate failed, could not decide, wrong usage or an invalid suite."""

    PASSED = 0
    FAILED = 1
    UNDECIDED = 2
    USAGE = 3


class Stop(Exception):
    """End the command with a code, after saying why on stderr."""

    def __init__(self, code: ExitCode, message: str) -> None:
        super().__init__(message)
        self.code = code


def missing_package(what: str, error: ModuleNotFoundError, *, extra: str) -> Stop:
    """Say which extra brings a package that is not there, and where to take it from."""
    how = f"pip install '.[{extra}]' in Proctor's checkout, or from where you installed Proctor"
    return Stop(ExitCode.USAGE, f"{what} needs {error.name}, which the extra {extra!r} brings: {how}")


def refusal_code(refused: PlatformRefused) -> ExitCode:
    """Tell the user's mistakes (3) from what time or money may change (2)."""
    status = refused.problem.status
    undecided = status in _UNDECIDED_STATUSES or status >= _SERVER_FAULT
    return ExitCode.UNDECIDED if undecided else ExitCode.USAGE
