"""What is wrong with a case (it cannot be saved) and what is probably not meant (a warning)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from proctor_contracts.assertions import (
    Assertion,
    Cost,
    JsonSchema,
    Judge,
    Lang,
    Latency,
    LatencyMetric,
    NoPromptLeak,
    Outcome,
    Precedes,
    Regex,
    ToolCall,
    ToolSequence,
)
from proctor_contracts.cases import CaseFields
from proctor_contracts.tool_assertions import SequenceMode

from .context import LanguageDetector, RegexEngine
from .language import LETTER_LANGUAGES
from .patterns import patterns_in, tools_in
from .text import nfc

__all__ = ["AgentFacts", "CaseProblem", "CaseWarning", "lint", "problems"]


@dataclass(frozen=True, slots=True)
class CaseProblem:
    """Why a case cannot be saved, with the path of the field: `assertions.2.pattern`."""

    path: str
    message: str


@dataclass(frozen=True, slots=True)
class CaseWarning:
    """Something that can be saved but probably does not do what its author means."""

    path: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """What is known of the agent and the run that a case will meet; None where it is not known.

    The gateway runner records tool calls and keeps a ledger of writes; otherwise calls are seen only of an
    http agent with `toolCallsPath`, and writes never. `tools` are the names the agent can call.
    """

    captures_tools: bool | None = None
    keeps_ledger: bool | None = None
    tools: frozenset[str] | None = None
    has_prompt: bool | None = None
    has_judge: bool | None = None
    reports_usage: bool | None = None
    reports_first_token: bool | None = None
    outcomes: frozenset[str] | None = None


_PASSES_EMPTY = {SequenceMode.IN_ORDER, SequenceMode.ANY_ORDER, SequenceMode.FORBIDDEN}


def problems(
    case: CaseFields, *, regex: RegexEngine, languages: LanguageDetector | None = None
) -> list[CaseProblem]:
    """Find what would make the case's checks unresolvable: patterns, flags, schemas, unknown languages."""
    return [
        problem
        for index, assertion in enumerate(case.assertions)
        for problem in _problems(f"assertions.{index}", assertion, regex, languages)
    ]


def lint(case: CaseFields, *, agent: AgentFacts | None = None) -> list[CaseWarning]:
    """Find what probably is not meant; a warning never stops a case."""
    agent = agent or AgentFacts()
    return [
        warning
        for index, assertion in enumerate(case.assertions)
        for warning in _warnings(f"assertions.{index}", assertion, agent)
    ] + list(_case_warnings(case, agent))


def _problems(
    path: str, assertion: Assertion, regex: RegexEngine, languages: LanguageDetector | None
) -> Iterator[CaseProblem]:
    match assertion:
        case Regex():
            if reason := regex.problem(assertion.pattern, assertion.flags):
                yield CaseProblem(f"{path}.{_blamed(reason)}", reason)
        case JsonSchema():
            from .schema import schema_problem  # noqa: PLC0415 - jsonschema takes time to import

            if fault := schema_problem(assertion.schema_, regex):
                pointer, reason = fault
                yield CaseProblem(f"{path}.schema{pointer.replace('/', '.')}", reason)
        case Lang(expected=expected) if expected not in LETTER_LANGUAGES:
            if reason := _unknown_language(expected, languages):
                yield CaseProblem(f"{path}.expected", reason)
        case _:
            for one in patterns_in(assertion):
                if reason := regex.problem(one.pattern, one.flags):
                    at_flags = _blamed(reason) == "flags"
                    yield CaseProblem(f"{path}.{one.flags_path if at_flags else one.path}", reason)


def _unknown_language(expected: str, languages: LanguageDetector | None) -> str | None:
    if languages is None:
        return (
            f"{expected} cannot be told by its letters; install Proctor with its lang extra "
            f"(pip install '.[lang]' in its checkout) or use one of {', '.join(LETTER_LANGUAGES)}"
        )
    return None if languages.supports(expected) else f"{expected} is not one of the declared languages"


def _blamed(reason: str) -> str:
    return "flags" if "flag" in reason.partition(";")[0] else "pattern"


def _warnings(path: str, assertion: Assertion, agent: AgentFacts) -> Iterator[CaseWarning]:
    match assertion:
        case Regex():
            yield from _pattern_warnings(f"{path}.pattern", assertion.pattern, assertion.flags)
            yield from _ending_warnings(f"{path}.pattern", assertion.pattern, assertion.flags)
        case ToolCall():
            yield from _count_warnings(path, assertion)
        case ToolSequence(steps=(), mode=mode) if mode in _PASSES_EMPTY:
            text = f"without steps mode {mode} always passes; for no call at all use mode exact"
            yield CaseWarning(path, "always_passes", text)
        case NoPromptLeak() if agent.has_prompt is False:
            text = "the integration has no agentPrompt, so a leak cannot be seen; the check stays undecided"
            yield CaseWarning(path, "no_prompt", text)
        case Judge() if agent.has_judge is False:
            text = "no judge model is set for the run, so the check stays undecided"
            yield CaseWarning(path, "no_judge", text)
        case Outcome(field=field) if (
            agent.outcomes is not None and field.partition(".")[0] not in agent.outcomes
        ):
            text = f"the endpoint's outcomePaths have no {field}, so the check always fails"
            yield CaseWarning(f"{path}.field", "outcome_not_reported", text)
        case Cost(max_tokens=int()) if agent.reports_usage is False:
            text = "the agent reports no tokens, so the check stays undecided; set endpoint.usagePath"
            yield CaseWarning(path, "no_usage", text)
        case Latency(metric=LatencyMetric.TTFT) if agent.reports_first_token is False:
            text = "the agent's answers come in one piece, so the check stays undecided"
            yield CaseWarning(path, "no_timing", text)
        case _:
            pass
    for one in patterns_in(assertion):
        yield from _pattern_warnings(f"{path}.{one.path}", one.pattern, one.flags)
    yield from _capture_warnings(path, assertion, agent)


def _capture_warnings(path: str, assertion: Assertion, agent: AgentFacts) -> Iterator[CaseWarning]:
    """Point out what a run of this agent will not see, and tools that it does not have."""
    reads_tools = assertion.needs_tools or (isinstance(assertion, Precedes) and assertion.reads_tools)
    if reads_tools and agent.captures_tools is False:
        text = (
            "tool calls of this agent are not recorded, so the check stays undecided; run it with runner "
            "gateway, set endpoint.toolCallsPath, or drop the check"
        )
        yield CaseWarning(path, "no_tool_capture", text)
    if assertion.needs_effects and agent.keeps_ledger is False:
        text = (
            "only runs with runner gateway keep a ledger of writes, so the check stays undecided; "
            "run it with that, or drop the check"
        )
        yield CaseWarning(path, "no_effect_ledger", text)
    if agent.tools is None:
        return
    known = {nfc(name) for name in agent.tools}
    for field, name in tools_in(assertion):
        if nfc(name) not in known:
            text = f"the integration has no handler {name}, so this never happens; mind the spelling"
            yield CaseWarning(f"{path}.{field}", "unknown_tool", text)


def _count_warnings(path: str, assertion: ToolCall) -> Iterator[CaseWarning]:
    counted = assertion.min_occurrence is not None or assertion.max_occurrence is not None
    if assertion.must_not_match and counted:
        text = "with mustNotMatch any call fails, so minOccurrence and maxOccurrence are not read"
        yield CaseWarning(path, "bounds_ignored", text)
    if assertion.min_occurrence == 0 and assertion.max_occurrence is None and not assertion.must_not_match:
        text = "at least 0 calls and no upper bound: the check always passes"
        yield CaseWarning(path, "always_passes", text)


def _case_warnings(case: CaseFields, agent: AgentFacts) -> Iterator[CaseWarning]:
    budget = case.budget
    if budget is not None and budget.max_tool_calls is not None and agent.captures_tools is False:
        text = "tool calls of this agent are not recorded, so this limit and the case stay undecided"
        yield CaseWarning("budget.maxToolCalls", "no_tool_capture", text)
    if case.threshold == 0:
        text = "with threshold 0 only a required check can fail the case"
        yield CaseWarning("threshold", "always_passes", text)


_CYRILLIC = re.compile("[\u0400-\u04ff]")
_WORD_CLASS = re.compile(r"\\[bBwW]")
_PROPERTY = re.compile(r"\\[pP]\{")
_END = re.compile(r"(?<!\\)\$\Z")
_PYTHON_GROUP = re.compile(r"\(\?[aiLmsux]+\)|\(\?P[<=>]")
_PYTHON_REPEAT = re.compile(r"\{,\d+\}")
_SLASHED = re.compile(r"/.+/", re.DOTALL)


def _pattern_warnings(path: str, pattern: str, flags: str) -> Iterable[CaseWarning]:
    bare = pattern.replace(r"\\", "")
    unicode = bool(set(flags) & {"u", "v"})
    found = {
        "ascii_word_boundary": bool(_WORD_CLASS.search(bare) and _CYRILLIC.search(pattern)),
        "property_without_u": bool(_PROPERTY.search(bare)) and not unicode,
        "python_anchor": r"\A" in bare or r"\Z" in bare,
        "python_group": bool(_PYTHON_GROUP.search(bare)),
        "python_repeat": bool(_PYTHON_REPEAT.search(bare)) and not unicode,
        "pasted_slashes": _SLASHED.fullmatch(pattern) is not None,
    }
    return [CaseWarning(path, code, _PATTERN_WARNINGS[code]) for code, holds in found.items() if holds]


def _ending_warnings(path: str, pattern: str, flags: str) -> Iterable[CaseWarning]:
    """Point out a `$` that a final line end would defeat; who anchors both ends asks for nothing else."""
    if _END.search(pattern.replace(r"\\", "")) and "m" not in flags and not pattern.startswith("^"):
        yield CaseWarning(path, "dollar_before_newline", _DOLLAR)


_DOLLAR = (
    "$ does not match before a final line end in JavaScript; "
    r"use \s*$ if an answer may end with one"
)
_PATTERN_WARNINGS = {
    "ascii_word_boundary": r"\b and \w know ASCII letters only, so they do not bound Cyrillic words; use "
    r"(?<![\p{L}\p{N}_])…(?![\p{L}\p{N}_]) with the flag u",
    "property_without_u": r"\p{…} needs the flag u or v; without it the letters p{…} are matched as text",
    "python_anchor": r"\A and \Z match the letters A and Z in JavaScript; use ^ and $",
    "python_group": "(?i) and (?P<name>…) are Python's; use flags and (?<name>…)",
    "python_repeat": "{,n} is matched as text in JavaScript; write {0,n}",
    "pasted_slashes": "the slashes are matched as text; leave them out if that is not meant",
}
