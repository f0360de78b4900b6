"""What all assertions share, whatever they look at."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from .base import TYPED, SafeText, Strict
from .enums import Scope

__all__ = ["AssertionBase", "Flags", "Needle", "Pattern", "ScopedBase", "ToolName", "Weight"]

Weight = Annotated[int, Field(ge=1, le=10_000), TYPED]
Needle = Annotated[SafeText, Field(min_length=1, max_length=10_000)]
Pattern = Annotated[SafeText, Field(min_length=1, max_length=2_000)]
Flags = Annotated[str, Field(max_length=8)]
ToolName = Annotated[SafeText, Field(min_length=1, max_length=256)]


class AssertionBase(Strict):
    """What every assertion has: a label, a weight in the score, and whether it alone fails the case.

    `judged` waits for a judge, `needs_tools` reads recorded tool calls, `needs_effects` the ledger of writes.
    """

    judged: ClassVar[bool] = False
    needs_tools: ClassVar[bool] = False
    needs_effects: ClassVar[bool] = False

    ref: Annotated[SafeText, Field(max_length=128)] | None = None
    weight: Weight = 1
    required: bool = False


class ScopedBase(AssertionBase):
    """An assertion that reads agent messages."""

    scope: Scope = Scope.ANY
