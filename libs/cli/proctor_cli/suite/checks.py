"""What a loaded suite's cases would do wrong: the checks that saving makes, made without a platform."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from proctor_contracts.cases import CaseFields
from proctor_contracts.enums import Provider, Runner
from proctor_grading.context import GradingContext, LanguageDetector, RegexEngine
from proctor_grading.detector import installed_detector
from proctor_grading.lint import AgentFacts, lint, problems
from proctor_grading.reference import reference_problems
from proctor_grading.regex import QuickJsRegex

from .model import Origin, Suite
from .problems import SuiteProblem, dotted, undotted
from .runners import runner_doubts

__all__ = ["Checked", "checked", "faults_of"]


@dataclass(frozen=True, slots=True)
class Checked:
    """What must be mended, and what is probably not meant."""

    problems: Sequence[SuiteProblem]
    warnings: Sequence[SuiteProblem]


def checked(suite: Suite) -> Checked:
    """Compile every pattern and schema of a suite, and look for checks that cannot say what is meant."""
    regex = QuickJsRegex()
    languages = installed_detector()
    prompt = suite.header.integration.agent_prompt
    facts = _facts(suite)
    faults: list[SuiteProblem] = []
    warnings: list[SuiteProblem] = list(suite.warnings)
    warnings += [
        SuiteProblem(suite.name, None, dotted(path), text) for path, text in runner_doubts(suite.header)
    ]
    for case, origin in zip(suite.cases, suite.origins, strict=True):
        faults += _faults(case, origin, regex, languages, prompt)
        warnings += _pointed(origin, ((one.path, one.message) for one in lint(case, agent=facts)))
    return Checked(faults, warnings)


def faults_of(
    cases: Sequence[CaseFields], origins: Sequence[Origin], *, prompt: str | None
) -> list[SuiteProblem]:
    """Find the same faults in the good cases of a suite that has others, its prompt perhaps among them."""
    regex, languages = QuickJsRegex(), installed_detector()
    found: list[SuiteProblem] = []
    for case, origin in zip(cases, origins, strict=True):
        found += _faults(case, origin, regex, languages, prompt or "")
    return found


def _faults(
    case: CaseFields,
    origin: Origin,
    regex: RegexEngine,
    languages: LanguageDetector | None,
    prompt: str,
) -> Iterator[SuiteProblem]:
    found = [(one.path, one.message) for one in problems(case, regex=regex, languages=languages)]
    if not found:
        context = GradingContext(regex=regex, prompt=prompt, languages=languages)
        found = [(one.path, one.message) for one in reference_problems(case, context)]
    yield from _pointed(origin, iter(found))


def _facts(suite: Suite) -> AgentFacts:
    bot = suite.header.integration
    calls = suite.header.run.runner is Runner.GATEWAY
    reports = bot.provider is Provider.HTTP and bot.endpoint is not None
    return AgentFacts(
        captures_tools=calls
        or (reports and bot.endpoint is not None and bot.endpoint.tool_calls_path is not None),
        keeps_ledger=calls,
        tools=frozenset(handler.name for handler in bot.handlers) if calls else None,
        has_prompt=bool(bot.agent_prompt),
        has_judge=suite.header.judge is not None,
        outcomes=frozenset(bot.endpoint.outcome_paths) if reports and bot.endpoint is not None else None,
    )


def _pointed(origin: Origin, found: Iterator[tuple[str, str]]) -> Iterator[SuiteProblem]:
    for place, message in found:
        yield origin.problem(undotted(place), message)
