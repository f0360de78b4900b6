"""The shape of a suite file and of a loaded suite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import Field

from proctor_contracts.agents import JudgePolicy, JudgeSettings
from proctor_contracts.base import TYPED, SafeText, Strict
from proctor_contracts.cases import CaseFields
from proctor_contracts.enums import Provider, Runner
from proctor_contracts.gate import GateSettings
from proctor_contracts.schemas.integrations import HandlerCreate, IntegrationFields, Model
from proctor_contracts.weather import WeatherText

from .problems import Path, SuiteProblem
from .source import Source

__all__ = ["Draft", "FileReference", "Origin", "Suite", "SuiteHeader", "SuiteIntegration", "SuiteRun"]


class FileReference(Strict):
    """A file, or a glob of files, inside the suite's folder."""

    file: Annotated[SafeText, Field(min_length=1, max_length=1_000)]


class SuiteIntegration(IntegrationFields):
    """The bot under test, with its tools."""

    handlers: Annotated[tuple[HandlerCreate, ...], Field(max_length=500)] = ()


class SuiteRun(Strict):
    """How the suite's runs are played; the command's options win over it."""

    repeats: Annotated[int, Field(ge=1, le=20), TYPED] = 1
    retries_on_failure: Annotated[int, Field(ge=0, le=5), TYPED] = 0
    concurrency: Annotated[int, Field(ge=1, le=1000), TYPED] | None = None
    runner: Runner = Runner.SCRIPTED
    score_threshold: Annotated[int, Field(ge=0, le=100), TYPED] | None = None
    budget_cents: Annotated[float, Field(gt=0, le=100_000_000), TYPED] | None = None
    budget_mode: Literal["enforce", "best_effort"] = "enforce"
    dry_run: bool = True
    provider: Provider | None = None
    model: Model | None = None
    judge_policy: JudgePolicy = "always"
    on_tool_error: Literal["error", "continue"] = "continue"
    weather: Annotated[tuple[WeatherText, ...], Field(max_length=20)] = ()
    case_timeout_ms: Annotated[int, Field(ge=1_000, le=1_800_000), TYPED] | None = None
    pool: Annotated[str, Field(pattern=r"^[a-z0-9_-]{1,32}$")] = "default"
    tags: Annotated[
        tuple[Annotated[SafeText, Field(min_length=1, max_length=64)], ...], Field(max_length=50)
    ] = ()


class SuiteHeader(Strict):
    """Everything of a suite but its cases."""

    integration: SuiteIntegration
    run: SuiteRun = SuiteRun()
    judge: JudgeSettings | None = None
    gate: GateSettings | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a case was written."""

    source: Source
    path: Path

    def problem(self, inside: Path, message: str) -> SuiteProblem:
        """Make a problem that points at a part of the case."""
        return self.source.problem((*self.path, *inside), message)


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite that can be run: every case has a ref, and no two share one."""

    name: str
    header: SuiteHeader
    cases: tuple[CaseFields, ...]
    origins: tuple[Origin, ...]
    warnings: Sequence[SuiteProblem] = ()

    def without_cases(self) -> Suite:
        """The suite once its cases are saved: what a long run need not keep in memory."""
        return replace(self, cases=(), origins=())

    @property
    def gate(self) -> GateSettings:
        """The gate; a suite without one asks for every case."""
        return self.header.gate or GateSettings(min_pass_rate=1)

    @property
    def integration(self) -> IntegrationFields:
        """The bot, without its tools."""
        fields = self.header.integration
        return IntegrationFields(**{name: getattr(fields, name) for name in IntegrationFields.model_fields})

    @property
    def handlers(self) -> tuple[HandlerCreate, ...]:
        """The bot's tools."""
        return self.header.integration.handlers


@dataclass(frozen=True, slots=True)
class Draft:
    """A suite as far as it could be read: `suite` is None when it has problems; `cases` are the good ones."""

    suite: Suite | None
    prompt: str | None
    cases: tuple[CaseFields, ...]
    origins: tuple[Origin, ...]
    problems: tuple[SuiteProblem, ...]
    warnings: tuple[SuiteProblem, ...]
