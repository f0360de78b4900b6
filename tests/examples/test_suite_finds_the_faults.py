from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from backoffice import BackOffice
from desk import Conversation, Desk

from proctor_cli.suite.load import load_suite
from proctor_contracts.cases import CaseFields, ScriptedSingle
from proctor_contracts.enums import Role
from proctor_contracts.results import AssertionResult
from proctor_contracts.transcript import ToolCallRecord, TranscriptEntry
from proctor_grading.context import GradingContext
from proctor_grading.engine import grade
from proctor_grading.regex import QuickJsRegex
from proctor_grading.scoring import decide
from tests.casefiles.golden import THREE

BOT = Path(__file__).parents[2] / "examples/support-bot"
SUITE = BOT / "suite.yaml"
NOW = datetime(2026, 6, 1, tzinfo=UTC)


def played(case: CaseFields, prompt: str) -> tuple[AssertionResult, ...]:
    """One case against the bot's rules, graded as a runner would."""
    desk, conversation = Desk(BackOffice()), Conversation()
    said = (
        [case.input.message]
        if isinstance(case.input, ScriptedSingle)
        else [m.content for m in case.input.messages]
    )
    transcript: list[TranscriptEntry] = []
    department = ""
    for message in said:
        reply = desk.reply(message, conversation)
        department = reply.department
        tools = tuple(
            ToolCallRecord(id=f"call-{number}", name=call["name"], args=call["args"], result=call["result"])
            for number, call in enumerate(reply.tools)
        )
        transcript += [
            TranscriptEntry(role=Role.TESTER, content=message, timestamp=NOW),
            TranscriptEntry(
                role=Role.AGENT, content=reply.answer, timestamp=NOW, latency_ms=5, tool_calls=tools
            ),
        ]
    context = GradingContext(
        regex=QuickJsRegex(), prompt=prompt, tools_captured=True, outcomes={"department": department}
    )
    return grade(case.assertions, transcript, context)


def test_the_suite_finds_the_two_known_faults_and_nothing_else() -> None:
    suite = load_suite(SUITE, {})
    threshold = suite.header.run.score_threshold or 70
    prompt = suite.integration.agent_prompt or ""
    verdicts = {case.ref: decide(played(case, prompt), threshold) for case in suite.cases}
    wrong = {ref: verdict.status.value for ref, verdict in verdicts.items() if verdict.status != "passed"}
    assert wrong == {"late-compensation": "failed", "language-brands": "failed"}


def test_each_fault_is_shown_by_the_check_that_was_meant_for_it() -> None:
    suite = load_suite(SUITE, {})
    cases = {case.ref: case for case in suite.cases}
    for ref, kind in (("late-compensation", "grounded_facts"), ("language-brands", "lang")):
        failed = [result.kind for result in played(cases[ref], "") if result.verdict == "failed"]
        assert failed == [kind]


def test_the_suite_gives_the_author_nothing_to_mend() -> None:
    suite = load_suite(SUITE, {})
    assert list(suite.warnings) == []
    assert suite.gate.min_pass_rate == 1
    assert suite.integration.endpoint is not None
    assert suite.integration.endpoint.url == "http://127.0.0.1:8900/chat"
    elsewhere = load_suite(SUITE, {"BOT_URL": "http://127.0.0.1:9000"})
    assert elsewhere.integration.endpoint is not None
    assert elsewhere.integration.endpoint.url == "http://127.0.0.1:9000/chat"


def test_a_golden_dataset_runs_as_it_was_published() -> None:
    assert json.loads((BOT / "golden.json").read_text(encoding="utf-8")) == THREE
    suite = load_suite(BOT / "golden.yaml", {})
    prompt = suite.integration.agent_prompt or ""
    statuses = {case.ref: decide(played(case, prompt), 70).status.value for case in suite.cases}
    assert statuses == dict.fromkeys(
        ("billing-double-charge", "angry-but-simple", "out-of-scope-legal"), "passed"
    )
