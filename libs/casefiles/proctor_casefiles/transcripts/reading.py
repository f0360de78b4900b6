"""Transcript files into drafts: the user's messages are played again, the answers are the reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from proctor_casefiles.documents import DocumentInvalid, Path, dotted, read_json
from proctor_casefiles.drafts import CaseDraft, Reading, Typical
from proctor_casefiles.labels import Refs, short_name
from proctor_contracts.cases import CaseFields
from proctor_contracts.schemas.imports import ImportProblem

from .messages import Chat, Faulty, read_chat

__all__ = ["read_transcripts", "recorded_checks"]

_CATEGORY = "transcripts"
_TAGS = ("transcript", "needs_review")
_LINE_KEYS = {"messages", "id", "custom_id", "name", "category", "tags", "metadata"}
_SILENT_KEYS = {"tools", "functions", "parallel_tool_calls", "model", "temperature", "created"}
_QUOTED = 4_000
_AGREES = (
    "The answer says in substance what this recorded answer to the same request says, and contradicts none "
    "of it; other words are fine:\n\n"
)
_HELPS = (
    "The answer deals with what the user asks for, invents no facts, and promises nothing that the "
    "conversation does not support."
)


def read_transcripts(text: str) -> Reading:
    """Turn JSON lines `{"messages": [{role, content, tool_calls}]}` into drafts; a place is `line 3`.

    Every case gets one criterion for the judge, one check for each tool that was called, and the tag
    `needs_review`, since nobody has said yet that the recorded answers are good ones.
    """
    refs = Refs("chat")
    left_out: Counter[str] = Counter()
    drafts = [
        _draft(line, f"line {number}", refs, left_out)
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip()
    ]
    return Reading(drafts=drafts, warnings=tuple(map(_not_carried, sorted(left_out.items()))))


def _not_carried(counted: tuple[str, int]) -> ImportProblem:
    what, count = counted
    return ImportProblem(message=f"not carried over: {what}" + (f", {count} times" if count > 1 else ""))


def _draft(line: str, place: str, refs: Refs, left_out: Counter[str]) -> CaseDraft:
    try:
        value = _conversation(read_json(line))
        chat = read_chat(value["messages"], ("messages",))
    except DocumentInvalid as error:
        problems = tuple(_problem(place, fault.path, fault.message) for fault in error.faults)
        return CaseDraft(fields={}, place=place, problems=problems)
    except Faulty as error:
        return CaseDraft(fields={}, place=place, problems=(_problem(place, error.path, error.message),))
    left_out.update(chat.left_out)
    left_out.update(f"the key {key}" for key in value.keys() - _LINE_KEYS - _SILENT_KEYS)
    reference, why_not = _reference(chat)
    fields = _fields(value, chat, refs)
    if reference is not None:
        fields["reference"] = reference
    warnings = () if why_not is None else (ImportProblem(path=place, message=why_not),)
    places = {name: f"{place}.{name}" for name in fields}
    return CaseDraft(
        fields=fields,
        place=place,
        places=places,
        warnings=warnings,
        typical=Typical(
            assertions=_checks(
                (call["name"] for turn in chat.turns for call in turn.calls),
                "\n".join(chat.turns[-1].replies),
            )
        ),
    )


def _conversation(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"messages": value}
    if isinstance(value, dict) and "messages" in value:
        return value
    raise Faulty((), "is no conversation; each line is an object with messages: [{role, content}]")


def _problem(place: str, path: Path, message: str) -> ImportProblem:
    return ImportProblem(path=dotted((place, *path)), message=message)


def _fields(value: Mapping[str, Any], chat: Chat, refs: Refs) -> dict[str, Any]:
    about = value["metadata"] if isinstance(value.get("metadata"), dict) else {}
    own = Refs.fitting([value.get("id"), value.get("custom_id"), about.get("id")])
    said = [turn.user for turn in chat.turns]
    name = _text(value.get("name"), about.get("name"), about.get("title")) or short_name(said[0])
    tags = value.get("tags", about.get("tags"))
    known = [tag for tag in tags if isinstance(tag, str) and tag.strip()] if isinstance(tags, list) else []
    return {
        "ref": refs.derive(*said) if own is None else refs.numbered(own),
        "name": name,
        "category": _text(value.get("category"), about.get("category")) or _CATEGORY,
        "input": _input(chat),
        "tags": list(dict.fromkeys([*known, *_TAGS])),
    }


def _text(*values: Any) -> str | None:
    return next((value for value in values if isinstance(value, str) and value.strip()), None)


def _input(chat: Chat) -> dict[str, Any]:
    if len(chat.turns) == 1 and not chat.greeting:
        return {"kind": "scripted_single", "message": chat.turns[0].user}
    greeting = [{"role": "assistant", "content": text} for text in chat.greeting]
    return {
        "kind": "scripted_multi",
        "messages": [*greeting, *({"role": "user", "content": turn.user} for turn in chat.turns)],
    }


def recorded_checks(case: CaseFields) -> tuple[dict[str, Any], ...] | None:
    """Make the checks again that a conversation was imported with; None when nothing of it was kept."""
    if case.reference is None:
        return None
    messages = case.reference.messages
    return _checks([call.name for one in messages for call in one.tool_calls], messages[-1].content)


def _checks(calls: Iterable[str], answer: str) -> tuple[dict[str, Any], ...]:
    tools = ({"kind": "tool_call", "toolName": name} for name in dict.fromkeys(calls))
    return (*tools, {"kind": "judge", "rubric": _AGREES + answer[:_QUOTED] if answer else _HELPS})


def _reference(chat: Chat) -> tuple[dict[str, Any] | None, str | None]:
    """Make the reference of what was answered, or say why it cannot be one."""
    replies = ["\n".join(turn.replies) for turn in chat.turns]
    if not any(replies):
        return None, None
    if not all(replies):
        number = replies.index("") + 1
        return None, f"no reference: message {number} of the user got no answer in words"
    messages = [
        {"content": reply, **({"toolCalls": turn.calls} if turn.calls else {})}
        for reply, turn in zip(replies, chat.turns, strict=True)
    ]
    return {"messages": messages}, None
