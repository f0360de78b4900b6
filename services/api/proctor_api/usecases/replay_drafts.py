"""From a conversation that was had to the case that it should become: by rules, or as a model proposes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from proctor_api.errors import ApiError, bad_request
from proctor_api.problems import field_problems
from proctor_contracts.cases import CaseFields
from proctor_contracts.enums import Role
from proctor_contracts.schemas.common import FieldProblem
from proctor_contracts.transcript import TranscriptEntry
from proctor_grading.jsontext import documents
from proctor_llm.replies import clean

__all__ = ["INSTRUCTIONS", "PROPOSED", "TAGS", "data_of", "plain_draft", "proposed_draft"]

TAGS = ("replay", "needs_review")
CATEGORY = "Production replay"
RUBRIC = "Reproduce the captured conversation and grade the bot against what it should have done."
PROPOSED = ("name", "category", "rubric", "assertions")
"""What is taken from a model; what the user says comes from the conversation alone."""

LONGEST_LINE = 4_000
LONGEST_DATA = 120_000

INSTRUCTIONS = """\
You write test cases for a conversational AI agent. You get one conversation that an agent had with a user,
and sometimes what the agent should have done instead. Write the checks of a test that says the user's
messages to the agent again and tells whether it behaves as it should.

Answer with one JSON object and nothing else:
{"name": "what the agent must do, at most 100 characters",
 "category": "a few words, at most 64 characters",
 "rubric": "what the agent should do and why, one or two sentences",
 "assertions": [...]}

assertions holds 1 to 8 objects of these kinds:
{"kind": "judge", "rubric": "one criterion that a reader can decide", "weight": 2}
{"kind": "contains", "value": "text that must occur", "caseInsensitive": true}
{"kind": "not_contains", "value": "text that must not occur", "caseInsensitive": true}
{"kind": "regex", "pattern": "JavaScript regular expression", "flags": "i", "mustMatch": true}
{"kind": "lang", "expected": "uk"}
{"kind": "tool_call", "toolName": "one of the tools named in the data", "mustNotMatch": false}

Always give at least one judge assertion that states what should have happened. Forbid by not_contains only
words that are wrong in every right answer. Write name, category and rubrics in the language of the
conversation. Placeholders such as [name-1] or [phone-1] stand for personal data; never check for them.
"""


def plain_draft(
    transcript: Sequence[TranscriptEntry],
    *,
    now: datetime,
    ref: str | None,
    name: str | None,
    category: str | None,
    expected: str | None,
) -> CaseFields:
    """Make the case that rules alone give: the user's messages, one judge assertion, tags for a reviewer.

    Raises:
        ApiError: 400 when the user says nothing in it, or more than a case can say.
    """
    said = [entry.content for entry in transcript if entry.role is Role.TESTER and entry.content.strip()]
    if not said:
        raise bad_request([FieldProblem(path="transcript", message="holds no message of the user")])
    rubric = RUBRIC if not expected else f"{RUBRIC}\nWhat it should have done: {expected}"
    began = next((entry.timestamp for entry in transcript if entry.timestamp is not None), now)
    document = {
        "ref": ref,
        "name": name or f"Replay {began:%Y-%m-%d}",
        "category": category or CATEGORY,
        "input": _input(said),
        "rubric": rubric,
        "assertions": [{"kind": "judge", "rubric": rubric}],
        "tags": list(TAGS),
    }
    try:
        return CaseFields.model_validate(document)
    except ValidationError as error:
        raise _in_terms_of_the_transcript(error, document) from error


def data_of(transcript: Sequence[TranscriptEntry], *, expected: str | None, tools: Sequence[str]) -> str:
    """Write what a model is shown, one JSON object a line; a long conversation is shown from its end."""
    lines = [json.dumps(_line(entry), ensure_ascii=False) for entry in transcript]
    kept: list[str] = []
    for line in reversed(lines):
        if sum(map(len, kept)) + len(line) > LONGEST_DATA:
            break
        kept.append(line)
    facts: dict[str, Any] = {"expectedBehavior": expected, "tools": list(tools)[:100]}
    if len(kept) < len(lines):
        facts["leftOut"] = f"the first {len(lines) - len(kept)} messages"
    return "\n".join([json.dumps(facts, ensure_ascii=False), *reversed(kept)])


def proposed_draft(reply: str, plain: CaseFields, *, stated: Mapping[str, str | None]) -> CaseFields | str:
    """Read a model's proposal as strictly as a user's case, or say why it cannot be taken.

    `stated` is what the user said of the case himself; it wins.
    """
    found = [one for one in documents(clean(reply)) if isinstance(one, dict) and "assertions" in one]
    if not found:
        return "the meta model's answer holds no JSON object with assertions"
    if len(found) > 1:
        return "the meta model's answer holds several proposals"
    proposal = {name: found[0][name] for name in PROPOSED if name in found[0]}
    if missing := [name for name in PROPOSED if name not in proposal]:
        return f"the meta model's proposal has no {', '.join(missing)}"
    stated = {name: value for name, value in stated.items() if value is not None}
    document = {
        **plain.model_dump(mode="json", by_alias=True, include={"ref", "input", "tags"}),
        **proposal,
        **stated,
    }
    try:
        case = CaseFields.model_validate(document)
    except ValidationError as error:
        first = field_problems(error.errors(include_url=False), document).errors[0]
        return f"the meta model's proposal is not valid: {first.path}: {first.message}"
    if not case.rubric or not case.rubric.strip():
        return "the meta model's proposal has no rubric"
    return case


def _input(said: Sequence[str]) -> dict[str, Any]:
    if len(said) == 1:
        return {"kind": "scripted_single", "message": said[0]}
    return {"kind": "scripted_multi", "messages": [{"role": "user", "content": text} for text in said]}


def _line(entry: TranscriptEntry) -> dict[str, Any]:
    role = {Role.TESTER: "user", Role.AGENT: "agent"}.get(entry.role, entry.role.value)
    line: dict[str, Any] = {"role": role, "text": entry.content[:LONGEST_LINE]}
    if entry.tool_calls:
        line["tools"] = [
            {"name": call.name, "args": json.dumps(call.args, ensure_ascii=False)[:LONGEST_LINE]}
            for call in entry.tool_calls[:50]
        ]
    return line


def _in_terms_of_the_transcript(error: ValidationError, document: Mapping[str, Any]) -> ApiError:
    """The user never typed an input: what is wrong with it is wrong with the transcript."""
    problems = field_problems(error.errors(include_url=False), document)
    named = [
        one.model_copy(update={"path": "transcript"}) if one.path.split(".")[0] == "input" else one
        for one in problems.errors
    ]
    refused = bad_request(named)
    return ApiError(problems.status, problems.code, refused.detail, named)
