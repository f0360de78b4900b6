from __future__ import annotations

import json
from typing import Any

import pytest

from proctor_casefiles.drafts import CaseDraft
from proctor_casefiles.transcripts.reading import read_transcripts
from proctor_contracts.cases import CaseFields, ScriptedMulti, ScriptedSingle

CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "find_order", "arguments": '{"id": "A-1"}'}}
    ],
}
TALK = [
    {"role": "system", "content": "Ти підтримка"},
    {"role": "user", "content": "Де моє замовлення?"},
    CALL,
    {"role": "tool", "tool_call_id": "c1", "content": '{"status": "sent"}'},
    {"role": "assistant", "content": "Воно в дорозі"},
    {"role": "user", "content": [{"type": "text", "text": "Дякую"}]},
    {"role": "assistant", "content": "Прошу"},
]


def lines(*values: Any) -> str:
    return "\n".join(json.dumps(value, ensure_ascii=False) for value in values)


def read(*values: Any) -> list[CaseDraft]:
    return list(read_transcripts(lines(*values)).drafts)


def case(draft: CaseDraft) -> CaseFields:
    assert draft.problems == ()
    assert draft.typical is not None
    return CaseFields.model_validate({**draft.fields, "assertions": draft.typical.assertions})


def user(*texts: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text} for text in texts]}


def test_a_conversation_becomes_a_script_and_its_answers_the_reference() -> None:
    (draft,) = read({"id": "talk-7", "messages": TALK})
    made = case(draft)
    assert made.ref == "talk-7"
    assert made.name == "Де моє замовлення?"
    assert isinstance(made.input, ScriptedMulti)
    assert [one.content for one in made.input.messages] == ["Де моє замовлення?", "Дякую"]
    assert made.reference is not None
    first, second = made.reference.messages
    (call,) = first.tool_calls
    assert (call.name, call.args, call.result) == ("find_order", {"id": "A-1"}, {"status": "sent"})
    assert (first.content, second.content) == ("Воно в дорозі", "Прошу")


def test_the_checks_are_made_up_and_marked_for_review() -> None:
    (draft,) = read({"messages": TALK})
    assert "assertions" not in draft.fields
    assert draft.typical is not None
    assert [one["kind"] for one in draft.typical.assertions] == ["tool_call", "judge"]
    assert draft.typical.assertions[0]["toolName"] == "find_order"
    assert "Прошу" in draft.typical.assertions[1]["rubric"]
    assert "needs_review" in draft.fields["tags"]


def test_one_message_is_a_single_script_and_needs_no_answer() -> None:
    (draft,) = read(user("Привіт"))
    made = case(draft)
    assert isinstance(made.input, ScriptedSingle)
    assert made.reference is None
    assert [one.kind for one in made.assertions] == ["judge"]


def test_a_bare_list_is_a_conversation_too_and_a_greeting_is_history() -> None:
    (draft,) = read([{"role": "assistant", "content": "Вітаю!"}, {"role": "user", "content": "Привіт"}])
    made = case(draft)
    assert isinstance(made.input, ScriptedMulti)
    assert [one.role for one in made.input.messages] == ["assistant", "user"]


def test_refs_are_the_same_at_every_import_and_told_apart_in_one() -> None:
    first, second, third = read(user("Привіт"), user("Привіт"), user("Бувай"))
    again = read(user("Привіт"))[0]
    assert first.fields["ref"] == again.fields["ref"]
    assert second.fields["ref"] == f"{first.fields['ref']}-2"
    assert third.fields["ref"] != first.fields["ref"]


def test_what_the_line_says_of_itself_is_kept() -> None:
    about = {"title": "Оплата", "category": "Гроші", "tags": ["prod", 7, " "]}
    (draft,) = read({**user("Привіт"), "custom_id": 12, "metadata": about})
    made = case(draft)
    assert (made.ref, made.name, made.category) == ("12", "Оплата", "Гроші")
    assert made.tags == ("prod", "transcript", "needs_review")


def test_what_could_not_be_carried_over_is_reported_once_with_its_count() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:"}}
    asked = {"role": "user", "content": [{"type": "text", "text": "Що це?"}, picture], "mood": 1}
    line = {"messages": [TALK[0], asked], "score": 3, "tools": []}
    reading = read_transcripts(lines(line, line))
    found = {warning.message for warning in reading.warnings}
    assert found == {
        "not carried over: system messages (the integration's agentPrompt is used), 2 times",
        "not carried over: parts of type image_url, 2 times",
        "not carried over: a message's mood, 2 times",
        "not carried over: the key score, 2 times",
    }


def test_a_turn_answered_by_calls_alone_gives_no_reference_and_says_so() -> None:
    (draft,) = read([TALK[1], CALL, *TALK[5:]])
    assert "reference" not in draft.fields
    assert draft.warnings[0].path == "line 1"
    assert "message 1" in draft.warnings[0].message
    assert case(draft).assertions[0].kind == "tool_call"


def test_arguments_that_are_no_json_are_kept_as_they_were_written() -> None:
    call = {"role": "assistant", "content": "Так", "function_call": {"name": "pay", "arguments": "{oops"}}
    (draft,) = read([TALK[1], call])
    made = case(draft)
    assert made.reference is not None
    (record,) = made.reference.messages[0].tool_calls
    assert (record.name, record.args, record.args_raw) == ("pay", None, "{oops")


@pytest.mark.parametrize(
    ("line", "path", "told"),
    [
        ("{", "line 2", "is not JSON"),
        ("7", "line 2", "is no conversation"),
        ('{"prompt": "x"}', "line 2", "is no conversation"),
        ('{"messages": {}}', "line 2.messages", "is a list"),
        ('{"messages": []}', "line 2.messages", "no message of the user"),
        ('{"messages": ["x"]}', "line 2.messages.0", "is an object"),
        ('{"messages": [{"role": "robot", "content": "x"}]}', "line 2.messages.0.role", "'robot'"),
        ('{"messages": [{"role": "user", "content": 7}]}', "line 2.messages.0.content", "is text"),
        ('{"messages": [{"role": "user", "content": " "}]}', "line 2.messages.0.content", "holds no text"),
        ('{"messages": [{"role": "user", "content": [{}]}]}', "line 2.messages.0.content.0", "type: text"),
        ('{"messages": [{"role": "user", "content": "a\\u0000"}]}', "line 2.messages.0.content", "NUL"),
        ('{"a": 1, "a": 2}', "line 2", "twice"),
        (f"{'[' * 70}{']' * 70}", "line 2.0.0.0", "deeper"),
    ],
)
def test_a_faulty_line_is_named_and_spoils_no_other(line: str, path: str, told: str) -> None:
    good = lines(user("Привіт"))
    first, second, third = read_transcripts(f"{good}\n{line}\n\n{good}\n").drafts
    assert (first.problems, third.problems) == ((), ())
    assert second.problems[0].path == path
    assert told in second.problems[0].message


def test_a_line_separator_inside_a_message_does_not_cut_the_line() -> None:
    (draft,) = read(user("a\u2028b"))
    assert draft.fields["input"]["message"] == "a\u2028b"
