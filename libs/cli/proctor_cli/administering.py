"""Which database the operators' commands work on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click
from typing_extensions import override

from .context import Context
from .exits import ExitCode, Stop
from .state import StateFolder

if TYPE_CHECKING:
    from .embedded.admin import Administration

__all__ = ["LimitType", "administration"]


@contextlib.contextmanager
def administration(context: Context) -> Iterator[Administration]:
    """Open the database of PROCTOR_DATABASE_URL, or that of the state folder while nobody owns it.

    Raises:
        Stop: when a server was named: it has no way to do this for a key.
    """
    from .embedded.admin import Administration  # noqa: PLC0415 - SQLAlchemy is not needed for --help

    if url := context.env.get("PROCTOR_DATABASE_URL"):
        yield Administration(url)
        return
    if context.target.server is not None:
        message = "accounts and keys are made where the database is; set PROCTOR_DATABASE_URL, not a server"
        raise Stop(ExitCode.USAGE, message)
    folder = StateFolder(context.target.state)
    with folder.owned():
        local = Administration(folder.database_url)
        local.migrate()
        yield local


class LimitType(click.ParamType[int | str]):
    """A whole number, or `unlimited`."""

    name = "number|unlimited"

    @override
    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Read the option's text."""
        text = str(value)
        if text == "unlimited":
            return text
        try:
            return int(text)
        except ValueError:
            self.fail(f"{text!r} is neither a whole number nor `unlimited`", param, ctx)
