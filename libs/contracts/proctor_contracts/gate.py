"""The release gate: what it asks for and what it decided."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from .base import TYPED, SafeText, Strict, Wire

__all__ = ["GateDecision", "GateOutcome", "GateReason", "GateSettings"]


class GateSettings(Strict):
    """What a release needs; a suite without a gate asks for every case (`minPassRate: 1`)."""

    min_pass_rate: Annotated[float, Field(ge=0, le=1), TYPED] = 0.9
    critical: Annotated[tuple[SafeText, ...], Field(max_length=200)] = ()
    max_error_rate: Annotated[float, Field(ge=0, le=1), TYPED] = 0.05
    max_p95_latency_ms: Annotated[int, Field(ge=1), TYPED] | None = None
    max_cost_cents: Annotated[float, Field(gt=0), TYPED] | None = None
    confidence: Literal["point", "wilson_lower"] = "point"


class GateOutcome(StrEnum):
    """Pass, fail, or not decidable from what was measured."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"


class GateReason(Wire):
    """One rule that did not hold, or could not be checked."""

    code: str
    message: str


class GateDecision(Wire):
    """The decision, the command's exit code (0, 1 or 2) and why."""

    outcome: GateOutcome
    exit_code: int
    reasons: tuple[GateReason, ...] = ()
