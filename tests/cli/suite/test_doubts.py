from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from proctor_cli.suite.load import load_suite
from tests.cli.platforms import FakePlatform, command

CASES = """\
cases:
  - ref: A
    name: a
    category: Money
    tags: [slow]
    input: {kind: scripted_single, message: m}
    assertions: [{kind: contains, value: right}]
"""
BOT = """\
integration:
  name: bot
  provider: http
  endpoint: {url: "http://127.0.0.1:1/", body: {text: "{{message}}"}, replyPath: $.a}
"""


def warned(folder: Path, text: str) -> list[str]:
    path = folder / "suite.yaml"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return [f"{one.path}: {one.message}" for one in load_suite(path, {}).warnings]


def validated(folder: Path, text: str, *args: str, **env: str) -> tuple[int, str]:
    path = folder / "suite.yaml"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    ended = command(FakePlatform(), "validate", str(path), *args, env=env)
    return ended.code, ended.err + ended.out


def test_a_critical_name_that_no_case_has_is_pointed_out(tmp_path: Path) -> None:
    assert warned(tmp_path, BOT + "gate: {critical: [Money, slow]}\n" + CASES) == []
    (said,) = warned(tmp_path, BOT + "gate: {critical: [Money, Monney]}\n" + CASES)
    assert said == "gate.critical.1: no case has the tag or category 'Monney'; did you mean Money?"


@pytest.mark.parametrize(
    ("endpoint", "told"),
    [
        ('{url: "http://x", body: {text: "{{ message }}"}, replyPath: $.a}', True),
        ('{url: "http://x", body: {turns: ["{{messages}}"]}, replyPath: $.a}', True),
        ('{url: "http://x", method: GET, headers: {X-Text: "{{message}}"}, replyPath: $.a}', True),
        ('{url: "http://x", body: {text: "{{prompt}}"}, replyPath: $.a}', False),
        ('{url: "http://x", body: {text: hello}, replyPath: $.a}', False),
    ],
)
def test_a_bot_that_is_never_told_the_message_is_pointed_out(
    tmp_path: Path, endpoint: str, *, told: bool
) -> None:
    found = warned(tmp_path, f"integration:\n  name: b\n  endpoint: {endpoint}\n" + CASES)
    assert (found == []) is told
    assert told or "integration.endpoint.body: holds neither {{message}} nor {{messages}}" in found[0]


def test_an_outcome_that_the_bot_does_not_report_is_pointed_out(tmp_path: Path) -> None:
    outcome = CASES.replace("{kind: contains, value: right}", "{kind: outcome, field: dept, equals: x}")
    code, said = validated(tmp_path, BOT + outcome)
    assert code == 0
    assert "outcomePaths have no dept" in said
    named = BOT.replace("replyPath: $.a", "replyPath: $.a, outcomePaths: {dept: $.d}")
    assert "outcomePaths have no" not in validated(tmp_path, named + outcome)[1]


def test_missing_keys_and_secrets_are_named_with_their_variable(tmp_path: Path) -> None:
    headers = BOT.replace("replyPath: $.a", "replyPath: $.a, headers: {X-Token: {secret: BOT_TOKEN}}")
    judged = headers + "judge: {provider: anthropic, model: m}\n" + CASES
    code, said = validated(tmp_path, judged)
    assert code == 0
    assert "PROCTOR_SECRET_BOT_TOKEN" in said
    assert "no API key for anthropic: set ANTHROPIC_API_KEY" in said
    assert said.endswith("no problems, 2 warnings\n")
    given = {"PROCTOR_SECRET_BOT_TOKEN": "hush", "ANTHROPIC_API_KEY": "k"}
    assert "warning" not in validated(tmp_path, judged, **given)[1]
    assert "warning" not in validated(tmp_path, judged, "--server", "http://x")[1]
    assert validated(tmp_path, judged, "--strict")[0] == 3


def test_one_pass_finds_faults_of_every_kind_in_the_order_of_their_lines(tmp_path: Path) -> None:
    code, said = validated(
        tmp_path,
        BOT
        + """\
cases:
  - ref: A
    name: a
    category: c
    input: {kind: scripted_single, message: m}
    assertions: [{kind: regex, pattern: "("}]
  - ref: B
    name: b
    input: {kind: scripted_single, message: m}
    assertions: [{kind: contains, value: x}]
  - ref: B
    name: c
    category: c
    input: {kind: scripted_single, message: m}
    assertions: [{kind: contains, value: x}]
""",
    )
    assert code == 3
    lines = [int(line.split(":")[1]) for line in said.splitlines()[:-1]]
    assert lines == sorted(lines)
    assert "cases.0.assertions.0.pattern" in said
    assert "cases.1.category: is required" in said
    assert "cases.2.ref: 'B' is taken" in said
    assert said.endswith("3 problems, 0 warnings\n")


def test_one_problem_is_one_problem(tmp_path: Path) -> None:
    assert validated(tmp_path, BOT + CASES.replace("right", '""'))[1].endswith("1 problem, 0 warnings\n")


def test_a_language_that_is_no_code_is_said_in_words(tmp_path: Path) -> None:
    wrong = CASES.replace("{kind: contains, value: right}", "{kind: lang, expected: english}")
    _, said = validated(tmp_path, BOT + wrong)
    assert "is a language's two-letter code, such as en or uk; got 'english'" in said
