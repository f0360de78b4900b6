"""What is checked of a case when it is saved, beyond the shape of its fields.

A case is refused when a pattern, schema or language could never be evaluated, or when its own reference
solution does not pass; what probably is not meant comes back as a warning.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from uuid import UUID

from proctor_api.auth import Caller
from proctor_contracts.cases import CaseFields
from proctor_contracts.enums import Provider
from proctor_contracts.schemas.common import FieldProblem, Warning_
from proctor_grading.context import GradingContext, LanguageDetector, RegexAnswer, RegexEngine
from proctor_grading.lint import AgentFacts, lint, problems
from proctor_grading.reference import reference_problems
from proctor_store.repositories import handlers
from proctor_store.repositories.integrations import IntegrationRecord
from proctor_store.session import Unit

from .integrations import integration_of

__all__ = ["Bot", "CaseChecks", "Examine", "Findings", "bot_of", "examiner", "facts_of"]

_PATTERNS_KEPT = 4_096


@dataclass(frozen=True, slots=True)
class Findings:
    """What keeps a case from being saved, and what will probably not work as its author meant."""

    problems: tuple[FieldProblem, ...] = ()
    warnings: tuple[Warning_, ...] = ()


@dataclass(frozen=True, slots=True)
class Bot:
    """The bot that a case will meet, with the names of its handlers."""

    integration: IntegrationRecord
    tools: tuple[str, ...]


Examine = Callable[[CaseFields, Bot | None], Findings]
"""Checks one case for its bot, if that is known; it blocks, on the thread of patterns."""


class CaseChecks:
    """Runs the checks on the one thread that may evaluate patterns."""

    def __init__(self, *, executor: Executor, examine: Examine) -> None:
        self._executor = executor
        self._examine = examine

    async def examine(self, cases: Sequence[CaseFields], bot: Bot | None) -> tuple[Findings, ...]:
        """Check cases of one bot, in their order."""
        return await asyncio.get_running_loop().run_in_executor(
            self._executor, lambda: tuple(self._examine(case, bot) for case in cases)
        )


async def bot_of(unit: Unit, caller: Caller, integration_id: UUID) -> Bot:
    """Read what a case can be checked against.

    Raises:
        ApiError: 404, for another account's integration as for none.
    """
    integration = await integration_of(unit, caller, integration_id)
    return Bot(integration, await handlers.names(unit, integration.id))


def examiner(*, regex: RegexEngine, languages: LanguageDetector | None = None) -> Examine:
    """Build the checks that `proctor_grading` knows."""
    remembered = _Remembering(regex)

    def examine(case: CaseFields, bot: Bot | None) -> Findings:
        found = [
            FieldProblem(path=one.path, message=one.message, code="invalid")
            for one in problems(case, regex=remembered, languages=languages)
        ]
        if not found and case.reference is not None:
            prompt = "" if bot is None else bot.integration.agent_prompt
            context = GradingContext(regex=regex, prompt=prompt, languages=languages)
            found = [
                FieldProblem(path=one.path, message=one.message, code="reference_fails")
                for one in reference_problems(case, context)
            ]
        warnings = (
            Warning_(path=one.path, message=one.message, code=one.code)
            for one in lint(case, agent=facts_of(bot))
        )
        return Findings(tuple(found), tuple(warnings))

    return examine


def facts_of(bot: Bot | None) -> AgentFacts:
    """Say what runs of this bot can see; which runner a run will have is not known when a case is saved."""
    if bot is None:
        return AgentFacts()
    integration = bot.integration
    prompt = bool(integration.agent_prompt.strip())
    if Provider(integration.provider).takes_tools and bot.tools:
        return AgentFacts(tools=frozenset(bot.tools), has_prompt=prompt)
    reported = integration.provider == Provider.HTTP and bool(
        (integration.endpoint or {}).get("toolCallsPath")
    )
    http = integration.provider == Provider.HTTP
    return AgentFacts(
        captures_tools=reported,
        keeps_ledger=False,
        has_prompt=prompt,
        outcomes=frozenset((integration.endpoint or {}).get("outcomePaths") or ()) if http else None,
    )


class _Remembering:
    """Remembers which patterns compile, since cases of one suite share many of them."""

    def __init__(self, regex: RegexEngine) -> None:
        self._regex = regex
        self._known: dict[tuple[str, str], str | None] = {}

    def search(self, pattern: str, flags: str, text: str) -> RegexAnswer:
        """Look for a pattern in a text."""
        return self._regex.search(pattern, flags, text)

    def problem(self, pattern: str, flags: str = "") -> str | None:
        """Say why a pattern cannot be saved, or None when it can."""
        key = (pattern, flags)
        if key not in self._known:
            if len(self._known) >= _PATTERNS_KEPT:
                self._known.clear()
            self._known[key] = self._regex.problem(pattern, flags)
        return self._known[key]
