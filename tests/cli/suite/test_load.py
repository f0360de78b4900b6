from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from proctor_cli.suite.checks import checked
from proctor_cli.suite.load import derived_ref, load_suite
from proctor_cli.suite.model import Suite
from proctor_cli.suite.problems import SuiteInvalid, SuiteProblem
from proctor_contracts.assertions import Contains, ContainsAll, Outcome, ToolCall
from proctor_contracts.cases import ScriptedSingle

BOT = """\
integration:
  name: bot
  provider: replay
"""
CASE = """\
  - ref: A
    name: перший
    category: Мова
    input: {kind: scripted_single, message: привіт}
    assertions: [{kind: contains, value: так}]
"""


def load(folder: Path, text: str, env: dict[str, str] | None = None, name: str = "suite.yaml") -> Suite:
    (folder / name).write_text(textwrap.dedent(text), encoding="utf-8", errors="surrogatepass")
    return load_suite(folder / name, env or {})


def problems(folder: Path, text: str, name: str = "suite.yaml") -> list[SuiteProblem]:
    with pytest.raises(SuiteInvalid) as caught:
        load(folder, text, name=name)
    return list(caught.value.problems)


def test_a_whole_suite_loads(tmp_path: Path) -> None:
    (tmp_path / "prompt.md").write_text("Ти ${бот}", encoding="utf-8")
    suite = load(
        tmp_path,
        """\
        integration:
          name: bot
          provider: http
          endpoint: {url: "${BOT:-http://127.0.0.1:1}/chat", body: {m: "{{message}}"}, replyPath: $.a}
          agentPrompt: {file: prompt.md}
          handlers: [{name: pay, url: /pay}]
        run: {repeats: 2, concurrency: 5}
        gate: {critical: [Гроші]}
        cases:
          - name: без ref
            category: Мова
            input: {kind: scripted_single, message: no}
            assertions: [{kind: contains, value: 2026-01-01}]
        """,
    )
    assert suite.integration.endpoint is not None
    assert suite.integration.endpoint.url == "http://127.0.0.1:1/chat"
    assert suite.integration.agent_prompt == "Ти ${бот}"
    assert [handler.name for handler in suite.handlers] == ["pay"]
    assert suite.header.run.repeats == 2
    assert suite.gate.min_pass_rate == 0.9
    (case,) = suite.cases
    assert case.ref == derived_ref("без ref")
    assert case.input == ScriptedSingle(message="no")
    assert case.assertions == (Contains(value="2026-01-01"),)


def test_a_suite_without_a_gate_asks_for_every_case(tmp_path: Path) -> None:
    assert load(tmp_path, BOT + "cases:\n" + CASE).gate.min_pass_rate == 1


def test_a_derived_ref_is_the_same_for_every_unicode_form_of_the_name() -> None:
    assert derived_ref("їжак") == derived_ref("і\u0308жак ")
    assert derived_ref("a") != derived_ref("b")


def test_every_problem_is_reported_with_its_line_and_what_to_do(tmp_path: Path) -> None:
    found = problems(
        tmp_path,
        """\
        integration: {name: bot, provider: http, endpoint: {url: "${NOPE}/x", body: {}, replyPath: $.a}}
        run: {repeats: 50, retries: 1}
        gates: {}
        cases:
          - ref: A
            name: x
            category: y
            input: {kind: scripted_single, mesage: hi}
            assertions:
              - {kind: regx, pattern: a}
              - {kind: regex, patern: a}
              - {kind: lang, expected: uk, scope: everything}
              - {kind: outcome, field: x}
          - 3
        """,
    )
    said = {(problem.path, problem.line): problem.message for problem in found}
    assert "did you mean gate?" in said["gates", 3]
    assert "NOPE} is not set" in said["integration.endpoint.url", 1]
    assert "less than or equal to 20; got 50" in said["run.repeats", 2]
    assert "did you mean retriesOnFailure?" in said["run.retries", 2]
    assert "did you mean message?" in said["cases.0.input.mesage", 8]
    assert said["cases.0.input.message", 8] == "is required"
    assert said["cases.0.assertions.0", 10].startswith("unknown kind 'regx'; did you mean regex?")
    assert "did you mean pattern?" in said["cases.0.assertions.1.patern", 11]
    assert "any_agent_msg" in said["cases.0.assertions.2.scope", 12]
    assert "exactly one of equals and in" in said["cases.0.assertions.3", 13]
    assert "a case is a mapping" in said["cases.1", 14]
    assert len(found) == 12


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "stands twice"),
        ('a: "x\\0y"\n', 1, "NUL"),
        ("a: b: c\n", 1, "not YAML"),
        ("x: 1\na: !!python/object/apply:os.system [id]\n", 2, "tags are not read"),
        ("a: \x01\n", 1, "not YAML"),
        ("a: " + "[" * 70 + "]" * 70 + "\n", 1, "nested deeper"),
        ("a: " + "[" * 20_000 + "\n", None, ""),
        ("? [1, 2]\n: 3\n", 1, "a key must be text"),
        ("- 1\n", 1, "a suite is a mapping"),
    ],
)
def test_yaml_that_cannot_be_trusted_is_refused(
    tmp_path: Path, text: str, line: int | None, word: str
) -> None:
    found = problems(tmp_path, text)
    assert word in found[0].message
    assert line is None or found[0].line == line


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ('{"a": 1,\n "a": 2}', None, "stands twice"),
        ('{"a":\n "\\ud800"}', 1, "surrogate"),
        ('{"a":\n "\\u0000"}', 1, "NUL"),
        ('{"a":\n NaN}', None, "NaN"),
        ('{"a":\n ]', 2, "not JSON"),
        ("[" * 100_000, None, "nested deeper"),
        ('{"a": ' + "[" * 70 + "]" * 70 + "}", 1, "nested deeper"),
    ],
)
def test_json_that_cannot_be_trusted_is_refused(
    tmp_path: Path, text: str, line: int | None, word: str
) -> None:
    found = problems(tmp_path, text, name="suite.json")
    assert word in found[0].message
    assert line is None or found[0].line == line


def test_json_suites_read_as_yaml_ones_do(tmp_path: Path) -> None:
    yaml_suite = load(tmp_path, BOT + "cases:\n" + CASE)
    document = {
        "integration": {"name": "bot", "provider": "replay"},
        "cases": [
            {
                "ref": "A",
                "name": "перший",
                "category": "Мова",
                "input": {"kind": "scripted_single", "message": "привіт"},
                "assertions": [{"kind": "contains", "value": "так"}],
            }
        ],
    }
    json_suite = load(tmp_path, json.dumps(document), name="suite.json")
    assert json_suite.cases == yaml_suite.cases
    assert json_suite.header == yaml_suite.header


def test_anchors_and_merges_work_and_an_alias_bomb_does_not(tmp_path: Path) -> None:
    suite = load(
        tmp_path,
        BOT
        + """\
cases:
  - &first
    ref: A
    name: перший
    category: Мова
    input: {kind: scripted_single, message: привіт}
    assertions: [{kind: contains, value: так}]
  - {<<: *first, ref: B, name: другий}
""",
    )
    assert [(case.ref, case.name) for case in suite.cases] == [("A", "перший"), ("B", "другий")]
    bomb = "a0: &a0 [1]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9))
    assert any("aliases" in problem.message for problem in problems(tmp_path, bomb))


def test_cases_are_included_by_glob_in_order(tmp_path: Path) -> None:
    folder = tmp_path / "cases"
    folder.mkdir()
    body = (
        "name: {0}\ncategory: c\ninput: {{kind: scripted_single, message: m}}\n"
        "assertions: [{{kind: contains, value: v}}]\n"
    )
    (folder / "b.yaml").write_text(body.format("b"))
    (folder / "a.yaml").write_text(
        "cases:\n" + textwrap.indent("- " + body.format("a1").replace("\n", "\n  "), "  ")
    )
    suite = load(tmp_path, BOT + "cases:\n  - {file: cases/*.yaml}\n" + CASE)
    assert [case.name for case in suite.cases] == ["a1", "b", "перший"]
    assert suite.origins[1].source.name.endswith("cases/b.yaml")


def test_includes_never_leave_the_suites_folder(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "secret.yaml").write_text("x")
    (home / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    for pattern in ("../secret.yaml", str(tmp_path / "secret.yaml"), "link.yaml", "*.y?ml/../../secret.yaml"):
        (found,) = problems(home, BOT + f"cases:\n  - {{file: '{pattern}'}}\n")
        assert "out of the suite's folder" in found.message
        assert found.line == 5
    (found,) = problems(home, BOT + "cases:\n  - {file: none-*.yaml}\n")
    assert "no file" in found.message


def test_duplicate_refs_point_at_both_cases(tmp_path: Path) -> None:
    (found,) = problems(tmp_path, BOT + "cases:\n" + CASE + CASE)
    assert found.line == 10
    assert "'A' is taken by the case in" in found.message
    assert found.message.endswith("suite.yaml:5")
    nameless = CASE.replace("ref: A\n    ", "")
    (found,) = problems(tmp_path, BOT + "cases:\n" + nameless + nameless)
    assert "same name" in found.message


def test_a_suite_without_cases_says_so(tmp_path: Path) -> None:
    (found,) = problems(tmp_path, BOT)
    assert "holds no case" in found.message


def test_an_http_bot_without_an_endpoint_says_what_is_missing(tmp_path: Path) -> None:
    found = problems(tmp_path, "integration: {name: b, provider: http}\ncases:\n" + CASE)
    assert "endpoint is required" in found[0].message


def test_a_secret_written_into_a_header_is_warned_about(tmp_path: Path) -> None:
    headers = 'headers: {Authorization: "${T}", X-Token: {secret: T}}'
    endpoint = f'endpoint: {{url: "http://x", body: "{{{{message}}}}", replyPath: $.a, {headers}}}'
    suite = load(tmp_path, f"integration:\n  name: b\n  {endpoint}\ncases:\n" + CASE, env={"T": "hush"})
    (warning,) = suite.warnings
    assert "{secret: NAME}" in warning.message
    assert "hush" not in str(warning)


GOLDEN = [
    {
        "id": "billing-double-charge",
        "input": "Мене списали двічі",
        "expected": {
            "department": "billing",
            "tools": ["lookup_invoices"],
            "must_not_tools": ["close_conversation"],
            "answer_must_mention": ["повернення", "тикет"],
        },
    },
    {"id": "legal", "input": "суд", "expected": {"department": "other", "answer_must_mention": []}},
]


def test_a_golden_dataset_becomes_cases(tmp_path: Path) -> None:
    (tmp_path / "golden.json").write_text(json.dumps(GOLDEN), encoding="utf-8")
    suite = load(tmp_path, BOT + "golden: golden.json\n")
    first, second = suite.cases
    assert first.ref == "billing-double-charge"
    assert first.assertions == (
        Outcome(field="department", equals="billing"),
        ToolCall(tool_name="lookup_invoices"),
        ToolCall(tool_name="close_conversation", must_not_match=True),
        ContainsAll(values=("повернення", "тикет"), case_insensitive=True),
    )
    assert second.assertions == (Outcome(field="department", equals="other"),)


def test_a_golden_dataset_with_faults_points_at_them(tmp_path: Path) -> None:
    faulty = [
        {"id": 3, "input": "x", "expected": {"tool": ["a"], "tools": "a"}},
        7,
        {"id": "a", "input": "b"},
    ]
    (tmp_path / "golden.json").write_text(json.dumps(faulty, indent=1), encoding="utf-8")
    found = {problem.path: problem for problem in problems(tmp_path, BOT + "golden: golden.json\n")}
    assert "did you mean tools?" in found["0.expected.tool"].message
    assert found["0.expected.tools"].line == 9
    assert set(found) == {"0.expected.tool", "0.id", "0.expected.tools", "1", "2.expected"}


def test_a_literal_dollar_brace_can_be_written(tmp_path: Path) -> None:
    suite = load(tmp_path, "integration: {name: '$${x} ${Y:-y}', provider: replay}\ncases:\n" + CASE)
    assert suite.integration.name == "${x} y"


TOOLS = """\
    integration:
      name: bot
      provider: {provider}
      model: m
      handlers: [{{name: order.find}}, {{name: pay}}]
    run: {run}
    cases:
      - ref: A
        name: a
        category: Tools
        input: {{kind: scripted_single, message: hi}}
        assertions: [{{kind: tool_call, toolName: pay}}]
    """


def test_weather_is_read_and_refused_where_it_stands(tmp_path: Path) -> None:
    run = "{runner: gateway, weather: [ok, 'timeout@1:order.*']}"
    assert load(tmp_path, TOOLS.format(provider="openai", run=run)).header.run.weather == (
        "ok",
        "timeout@1:order.*",
    )
    [found] = problems(tmp_path, TOOLS.format(provider="openai", run="{runner: gateway, weather: [ok, fog]}"))
    assert (found.line, found.path) == (6, "run.weather.1")
    assert "unknown weather 'fog'" in found.message


@pytest.mark.parametrize(
    ("provider", "run", "path"),
    [
        (
            "http, endpoint: {url: 'http://127.0.0.1', body: {}, replyPath: $.a}",
            "{runner: gateway}",
            "runner",
        ),
        ("openai", "{weather: [ok]}", "weather"),
        ("openai", "{onToolError: error}", "onToolError"),
    ],
)
def test_what_a_runner_cannot_do_is_found_before_the_run(
    tmp_path: Path, provider: str, run: str, path: str
) -> None:
    text = TOOLS.format(provider=provider, run=run)
    name, _, more = provider.partition(", ")
    text = text.replace(f"provider: {provider}", f"provider: {name}\n      {more}") if more else text
    [found] = problems(tmp_path, text)
    assert found.path == f"run.{path}"


def test_checks_of_tools_are_doubted_only_where_nobody_calls_any(tmp_path: Path) -> None:
    text = TOOLS.format(provider="openai", run="{runner: gateway, weather: ['ok', 'stale:refund*']}")
    called = checked(load(tmp_path, text))
    assert called.problems == []
    assert [warning.path for warning in called.warnings] == ["run.weather.1"]
    scripted = checked(load(tmp_path, TOOLS.format(provider="openai", run="{}")))
    assert any(warning.path.startswith("cases.0.assertions.0") for warning in scripted.warnings)
    bare = text.replace("handlers: [{name: order.find}, {name: pay}]", "handlers: []")
    assert "run.runner" in [warning.path for warning in checked(load(tmp_path, bare)).warnings]
