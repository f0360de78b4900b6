"""Where the command writes: reports to stdout, everything about them to stderr."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

from proctor_reports.text import visible

__all__ = ["Screen", "real_screen"]

_WIDEST = 140


@dataclass(frozen=True, slots=True)
class Screen:
    """Two streams and how they may be written to."""

    out: TextIO
    err: TextIO
    width: int = 100
    color: bool = False
    live: bool = False
    quiet: bool = False

    def show(self, text: str) -> None:
        """Write a result."""
        self.out.write(text if text.endswith("\n") else text + "\n")
        self.out.flush()

    def say(self, text: str) -> None:
        """Write a remark, unless the user asked for quiet."""
        if not self.quiet:
            self.complain(text)

    def complain(self, text: str) -> None:
        """Write what must be seen even in quiet; what others wrote in it cannot act on the terminal."""
        text = visible(text)
        self.err.write(text if text.endswith("\n") else text + "\n")
        self.err.flush()


def real_screen(env: Mapping[str, str]) -> Screen:
    """Look at the real streams: colour on a terminal only, and not under NO_COLOR or TERM=dumb."""
    wanted = bool(env.get("FORCE_COLOR")) or (sys.stdout.isatty() and env.get("TERM") != "dumb")
    return Screen(
        out=sys.stdout,
        err=sys.stderr,
        width=min(shutil.get_terminal_size((100, 24)).columns, _WIDEST),
        color=wanted and not env.get("NO_COLOR"),
        live=sys.stderr.isatty() and env.get("TERM") != "dumb",
    )
