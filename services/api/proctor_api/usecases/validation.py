"""What is checked of a case when it is saved, beyond the shape of its fields."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from proctor_contracts.cases import CaseFields
from proctor_contracts.schemas.common import FieldProblem, Warning_
from proctor_store.repositories.integrations import IntegrationRecord

__all__ = ["CaseChecks", "Examine", "Findings"]


@dataclass(frozen=True, slots=True)
class Findings:
    """What keeps a case from being saved, and what will probably not work as its author meant."""

    problems: tuple[FieldProblem, ...] = ()
    warnings: tuple[Warning_, ...] = ()


Examine = Callable[[CaseFields, IntegrationRecord | None], Findings]
"""Checks one case for its integration, if that is known; it blocks, on the thread of patterns."""


class CaseChecks:
    """Runs the checks on the one thread that may evaluate patterns."""

    def __init__(self, *, executor: Executor, examine: Examine) -> None:
        self._executor = executor
        self._examine = examine

    async def examine(
        self, cases: Sequence[CaseFields], integration: IntegrationRecord | None
    ) -> tuple[Findings, ...]:
        """Check cases of one integration, in their order."""
        return await asyncio.get_running_loop().run_in_executor(
            self._executor, lambda: tuple(self._examine(case, integration) for case in cases)
        )
