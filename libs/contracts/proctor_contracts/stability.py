"""How steady an integration's cases are over their history."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import Field

from .base import Wire
from .enums import Provider, ResultStatus
from .verdicts import Stability

__all__ = ["CaseStability", "CaseTrial", "StabilityReport"]


class CaseTrial(Wire):
    """One first attempt: passed or failed."""

    run_id: UUID
    trial: int
    status: ResultStatus
    at: datetime


class CaseStability(Wire):
    """One case as it is now: how its first attempts ended, and what that says.

    `instability` is the chance that two of its trials disagree (null below two trials). `quarantine` proposes
    to look at the case before it blocks a release; never for a critical one. `recent` holds the last trials,
    oldest first.
    """

    case_id: UUID
    case_ref: str | None = None
    case_name: str
    category: str
    critical: bool = False
    revision: int
    trials: int
    passed: int
    pass_rate_ci95: tuple[float, float]
    instability: float | None = None
    stability: Stability
    quarantine: bool = False
    recent: tuple[CaseTrial, ...] = ()


class StabilityReport(Wire):
    """The cases of an integration, the most unstable first.

    Trials come from `runs` runs with the provider, model and prompt of the run `like`, which is null while
    the integration has no finished run. `counts` covers every case with a trial, `cases` may be cut.
    """

    integration_id: UUID
    like: UUID | None = None
    provider: Provider | None = None
    model: str | None = None
    prompt_version_id: UUID | None = None
    runs: int = 0
    counts: dict[Stability, int] = Field(default_factory=dict)
    cases: tuple[CaseStability, ...] = ()
