"""What a schedule plays and whom it tells, and what became of its ticks."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from .base import TYPED, Strict
from .schemas.runs import RunOptions

__all__ = [
    "CaseMode",
    "Notifications",
    "ScheduleMode",
    "ScheduledRun",
    "TickStatus",
    "Waiting",
]


class TickStatus(StrEnum):
    """What became of one planned time: nothing is lost without a record.

    `waiting` may still fire; `fired` asked for a run, `started` has one; `missed` was passed over because the
    scheduler was away or the tick before still waited; `refused` can never be played, its reason says why.
    """

    WAITING = "waiting"
    FIRED = "fired"
    STARTED = "started"
    MISSED = "missed"
    REFUSED = "refused"


class Waiting(StrEnum):
    """Why a due schedule creates nothing yet."""

    PREVIOUS_RUN = "previous_run"
    QUOTA = "quota"
    BALANCE = "balance"


class ScheduledRun(RunOptions):
    """How each run of a schedule is started: as a run by hand, without `caseIds` all active cases."""


class CaseMode(Strict):
    """Play cases, each time as they are then."""

    kind: Literal["case"] = "case"
    run: ScheduledRun = ScheduledRun()


_LATER = frozenset({"persona", "agentic"})
"""Modes that later releases bring."""


def _named(value: Any) -> Any:
    """Read a mode that is only its name, and say of those to come that they are not there yet."""
    mode = {"kind": value} if isinstance(value, str) else value
    if isinstance(mode, Mapping) and mode.get("kind") in _LATER:
        message = "{kind} is not available yet; the kinds accepted are case"
        raise PydanticCustomError("not_available_yet", message, {"kind": mode["kind"]})
    return mode


ScheduleMode = Annotated[CaseMode, BeforeValidator(_named)]
"""What a schedule plays; a bare `"case"` is read as `{"kind": "case"}`."""


class Notifications(Strict):
    """Whom a schedule tells of what, over the integration's alert webhook.

    `threshold` counts runs in a row that ended `failed` (nothing could be found out), which a lost
    gate never is; `on_recovery` tells once of the first run after them that did complete. Runs in a row that
    lost their gate are told of by choice, with a threshold of their own.
    """

    on_failure: bool = True
    threshold: Annotated[int, Field(ge=1, le=100), TYPED] = 1
    on_recovery: bool = False
    on_gate_failure: bool = False
    gate_threshold: Annotated[int, Field(ge=1, le=100), TYPED] = 1
