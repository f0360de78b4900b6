"""The release gate: what it asks for and what it decided."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from .base import SafeText, Strict, Wire

__all__ = ["NO_GATE", "GateConfidence", "GateDecision", "GateOutcome", "GateReason", "GateSettings"]

Share = Annotated[float, Field(ge=0, le=1)]


class GateConfidence(StrEnum):
    """What is compared with `minPassRate`: the rate itself, or the lower end of its 95 % interval."""

    POINT = "point"
    WILSON_LOWER = "wilson_lower"


class GateSettings(Strict):
    """What a release needs. `critical` lists tags or categories whose cases may not fail."""

    min_pass_rate: Share = 0.9
    critical: Annotated[
        tuple[Annotated[SafeText, Field(min_length=1, max_length=64)], ...], Field(max_length=200)
    ] = ()
    max_error_rate: Share = 0.05
    max_p95_latency_ms: Annotated[int, Field(ge=1, le=86_400_000)] | None = None
    max_cost_cents: Annotated[float, Field(gt=0, le=1_000_000_000)] | None = None
    confidence: GateConfidence = GateConfidence.POINT


NO_GATE = GateSettings(min_pass_rate=1)
"""What holds for a suite that states no gate: every case passes."""


class GateOutcome(StrEnum):
    """What the gate says."""

    PASS = "pass"  # noqa: S105 - an outcome, not a password
    FAIL = "fail"
    UNDECIDED = "undecided"


class GateReason(Wire):
    """One rule that was looked at: its stable code, what it comes to, and a sentence."""

    code: str
    outcome: GateOutcome
    message: str


class GateDecision(Wire):
    """The gate's word: `exit_code` 0 for pass, 1 for fail, 2 for undecided; decisive reasons first."""

    outcome: GateOutcome
    exit_code: int
    reasons: tuple[GateReason, ...] = ()
