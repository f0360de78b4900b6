"""`proctor bite`: no platform, no bot, no model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.platforms import FakePlatform, command

HEAD = """\
integration:
  name: bot
  provider: replay
  agentPrompt: Never promise a refund to anybody who has no invoice number at hand, however polite.
"""
WEAK = """\
  - ref: weak
    name: Пароль
    category: Акаунт
    input: {kind: scripted_single, message: "де кнопка зміни пароля???"}
    assertions: [{kind: contains, value: пароль}]
    reference: {messages: [{content: "Щоб змінити пароль, відкрийте Налаштування."}]}
"""
STRONG = """\
  - ref: strong
    name: Точна відповідь
    category: Акаунт
    input: {kind: scripted_single, message: "як змінити пароль?"}
    assertions: [{kind: regex, pattern: "^Щоб змінити пароль, відкрийте Налаштування\\\\.$"}]
    reference: {messages: [{content: "Щоб змінити пароль, відкрийте Налаштування."}]}
"""
SEED = [
    {
        "id": "angry-but-simple",
        "input": "ВАШ САЙТ ЖАХЛИВИЙ!!! де кнопка зміни пароля???",
        "expected": {
            "department": "account",
            "tools": ["get_help_article"],
            "must_not_tools": ["escalate_to_human"],
            "answer_must_mention": ["пароль"],
        },
    }
]


def suite(folder: Path, *cases: str, more: str = "") -> str:
    path = folder / "suite.yaml"
    path.write_text(HEAD + more + ("cases:\n" + "".join(cases) if cases else ""), encoding="utf-8")
    return str(path)


def test_survivors_are_shown_with_what_would_bite(tmp_path: Path) -> None:
    ended = command(FakePlatform(), "bite", suite(tmp_path, WEAK, STRONG))
    assert ended.code == 0
    assert "score 29  weak · Пароль [Акаунт]" in ended.out
    assert "meaning_negated, passes: the agent says: пароль змінити неможливо" in ended.out
    assert '{"kind": "lang", "expected": "uk"' in ended.out
    assert "strong ·" not in ended.out  # nothing is wrong with it
    assert "bite score 64: 9 of 14 wrong conversations fail, 2 cases, 1 of them with survivors" in ended.out
    whole = command(FakePlatform(), "bite", suite(tmp_path, WEAK, STRONG), "--all")
    assert "score 100  strong · Точна відповідь" in whole.out
    assert "empty_reply, fails: every reply is empty" in whole.out
    assert "- tool_call_dropped: the reference calls no tool" in whole.out


def test_the_case_of_the_golden_set_is_named_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "golden.json").write_text(json.dumps(SEED), encoding="utf-8")
    ended = command(FakePlatform(), "bite", suite(tmp_path, more="golden: golden.json\n"))
    assert ended.code == 0
    assert "no reference  angry-but-simple" in ended.out
    assert "meaning_negated, passes: the agent says: На жаль, це неможливо: пароль" in ended.out
    assert "A case without a reference has no score" in ended.out


@pytest.mark.parametrize(("least", "code"), [("29", 0), ("30", 1)])
def test_a_score_can_be_asked_for(tmp_path: Path, least: str, code: int) -> None:
    ended = command(FakePlatform(), "bite", suite(tmp_path, WEAK), "--min-score", least)
    assert ended.code == code
    assert ("the bite score 29 is below 30" in ended.err) == (code == 1)


def test_no_score_is_neither_enough_nor_too_little(tmp_path: Path) -> None:
    bare = WEAK.replace(
        '    reference: {messages: [{content: "Щоб змінити пароль, відкрийте Налаштування."}]}\n', ""
    )
    ended = command(FakePlatform(), "bite", suite(tmp_path, bare), "--min-score", "1")
    assert ended.code == 2
    assert "there is no score" in ended.err
    assert command(FakePlatform(), "bite", suite(tmp_path, bare)).code == 0


def test_a_suite_that_is_not_in_order_is_refused(tmp_path: Path) -> None:
    broken = WEAK.replace("value: пароль", "value: логін")
    ended = command(FakePlatform(), "bite", suite(tmp_path, broken))
    assert ended.code == 3
    assert "the reference solution does not pass" in ended.err
    unknown = command(FakePlatform(), "bite", suite(tmp_path, WEAK), "--case", "week")
    assert (unknown.code, "did you mean weak?" in unknown.err) == (3, True)
    unknown = command(FakePlatform(), "bite", suite(tmp_path, WEAK), "--without", "promt_leaked")
    assert (unknown.code, "did you mean prompt_leaked?" in unknown.err) == (3, True)


def test_cases_kinds_and_the_suites_threshold_are_heeded(tmp_path: Path) -> None:
    off = STRONG + "    isActive: false\n"
    found = json.loads(command(FakePlatform(), "bite", suite(tmp_path, WEAK, off), "--format", "json").out)
    assert [one["ref"] for one in found["cases"]] == ["weak"]
    args = ("--case", "strong", "--format", "json", "--without", "prompt_leaked")
    found = json.loads(command(FakePlatform(), "bite", suite(tmp_path, WEAK, off), *args).out)
    assert [one["ref"] for one in found["cases"]] == ["strong"]
    assert "prompt_leaked" not in {one["kind"] for one in found["summary"]["kinds"]}
    lenient = suite(tmp_path, WEAK, more="run: {scoreThreshold: 0}\n")
    found = json.loads(command(FakePlatform(), "bite", lenient, "--format", "json").out)
    assert found["summary"]["score"] == 0


def test_a_report_is_written_to_a_file(tmp_path: Path) -> None:
    target = tmp_path / "out" / "bite.md"
    ended = command(FakePlatform(), "bite", suite(tmp_path, WEAK), "--format", "markdown", "-o", str(target))
    assert (ended.code, ended.out) == (0, "")
    text = target.read_text(encoding="utf-8")
    assert text.startswith("## bite score 29: 2 of 7 wrong conversations fail, 1 case")
    assert "| meaning_negated | 0 | 2 | 0 | 0 |" in text
    assert "- **meaning_negated**, passes: `the agent says: пароль змінити неможливо`" in text
