"""Everything a run was started with, kept in the run, so that it can be read or repeated a year later."""

from __future__ import annotations

from typing import Literal

from .agents import AgentSnapshot, JudgePolicy, JudgeSettings
from .base import Wire
from .enums import Runner
from .gate import GateSettings
from .topology import DEFAULT_POOL

__all__ = ["RunSettings"]


class RunSettings(Wire):
    """The snapshot of a run's settings; `concurrency` is null when the user left it to the pool."""

    agent: AgentSnapshot
    runner: Runner = Runner.SCRIPTED
    dry_run: bool = True
    score_threshold: int | None = None
    retries_on_failure: int = 0
    repeats: int = 1
    budget_mode: Literal["enforce", "best_effort"] = "enforce"
    concurrency: int | None = None
    judge: JudgeSettings | None = None
    judge_policy: JudgePolicy = "always"
    gate: GateSettings | None = None
    pool: str = DEFAULT_POOL
    case_timeout_ms: int = 120_000
    on_tool_error: Literal["error", "continue"] = "continue"
    weather: tuple[str, ...] = ()
