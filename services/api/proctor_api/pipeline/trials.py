"""Which results a case has in a run: every weather once, and all of it as often as the run repeats."""

from __future__ import annotations

from proctor_contracts.cases import CaseSnapshot
from proctor_contracts.run_settings import RunSettings

__all__ = ["seed_of", "trials", "weather_of"]


def trials(settings: RunSettings) -> int:
    """Count the results of one case: its weathers times its repeats."""
    return settings.repeats * max(1, len(settings.weather))


def weather_of(settings: RunSettings, trial: int) -> str | None:
    """Name the weather of a trial (counted from 1); None when the run planned none."""
    planned = settings.weather
    return planned[(trial - 1) % len(planned)] if planned else None


def seed_of(settings: RunSettings, case: CaseSnapshot, trial: int) -> str:
    """Name the chance of a trial: the same in every run, so that the same fault strikes the same call."""
    repeat = (trial - 1) // max(1, len(settings.weather)) + 1
    return f"{case.ref or case.id}|{repeat}|{weather_of(settings, trial) or ''}"
