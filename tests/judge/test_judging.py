"""From a job to verdicts: what is read, asked again, voted, charged, and what never becomes a pass."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from typing_extensions import override

from proctor_chassis.secrets import Redactor
from proctor_contracts.assertions import Judge
from proctor_contracts.enums import Blame, Role
from proctor_contracts.messages import CaseJudged
from proctor_contracts.results import AssertionResult, Verdict
from proctor_contracts.topology import MAX_BODY_BYTES
from proctor_contracts.transcript import SCRIPTED, TranscriptEntry
from proctor_judge.asking import FIRST_REPLY_TOKENS, LARGER_REPLY_TOKENS
from proctor_llm.errors import LlmError, LlmErrorCode
from proctor_llm.types import ChatRequest, Completion, Finish, Usage
from tests.judge.fakes import (
    TALK,
    Answer,
    FakeJudge,
    FakeModels,
    called,
    graded,
    job,
    judging,
    nonce_of,
    said,
)


async def result_of(*answers: Answer, **more: Any) -> AssertionResult:
    fact = await judging(FakeJudge(answers)).judge(job(**more))
    return fact.assertion_results[0]


def llm_error(code: LlmErrorCode, message: str = "it broke") -> LlmError:
    return LlmError(code, message, blame=Blame.PROVIDER)


def as_text(template: str) -> Any:
    """A judge that answers in text, NONCE standing for the one it was given."""
    return lambda request: said(template.replace("NONCE", nonce_of(request)))


@pytest.mark.parametrize(
    ("word", "verdict", "code"),
    [
        ("pass", Verdict.PASSED, None),
        ("FAIL ", Verdict.FAILED, "judge_fail"),
        ("unsure", Verdict.UNRESOLVED, "judge_unsure"),
    ],
)
async def test_the_three_words_are_three_verdicts(word: str, verdict: Verdict, code: str | None) -> None:
    result = await result_of(graded(word))
    assert (result.verdict, result.code) == (verdict, code)
    assert (result.index, result.ref, result.kind) == (2, "c2", "judge")
    assert result.votes[0].evidence[0].verified is True


async def test_one_call_asks_for_one_criterion_with_a_forced_tool_at_temperature_zero() -> None:
    judge = FakeJudge([graded("pass")])
    fact = await judging(judge).judge(job("Перша вимога", "Друга вимога"))
    assert [result.index for result in fact.assertion_results] == [2, 3]
    assert len(judge.requests) == 2
    for request, criterion in zip(judge.requests, ("Перша вимога", "Друга вимога"), strict=True):
        assert request.force_tool == "grade"
        assert request.temperature == 0.0
        assert criterion in request.messages[0].content
    assert "Друга" not in judge.requests[0].messages[0].content
    assert nonce_of(judge.requests[0]) != nonce_of(judge.requests[1])
    assert fact.logs == ("judge temperature: 0",)


async def test_usage_and_cost_add_up_over_votes_and_retries() -> None:
    judge = FakeJudge([said("незрозуміло"), graded("pass")])
    fact = await judging(judge).judge(job(votes=3))
    assert len(judge.requests) == 3
    assert fact.usage.prompt_tokens == 600
    assert fact.cost_micro_usd == 3000
    assert fact.model_calls == 3
    assert fact.judge_model == "judge-1"


async def test_an_unknown_price_makes_the_cost_unknown() -> None:
    unpriced = graded("pass")

    def answer(request: ChatRequest) -> Completion:
        return called(dict(unpriced(request).tool_uses[0].args or {}), cost_micro_usd=None)

    fact = await judging(FakeJudge([answer])).judge(job())
    assert fact.cost_micro_usd is None
    assert fact.usage.total == 230


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"reasoning": "так", "verdict": "pass", "nonce": "NONCE"}\n```\n',
        'Думаю {not json}. {"reasoning": "має }", "verdict": "pass", "nonce": "NONCE",} Допомогло!',
        '{"passed": true, "reason": "шаблон {ім\'я} збережено; } не зайва", "nonce": "NONCE"}',
    ],
)
async def test_a_judge_that_answers_in_text_is_read(text: str) -> None:
    assert (await result_of(as_text(text))).verdict is Verdict.PASSED


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("**Відповідь: так**", "judge_unparseable"),
        ('{"reasoning": "усе добре", "nonce": "NONCE"}', "judge_unparseable"),
        ('{"reasoning": "a", "verdict": true, "nonce": "NONCE"}', "judge_unparseable"),
        ('{"reason": "a", "passed": "yes", "nonce": "NONCE"}', "judge_unparseable"),
        ('{"score": 1, "nonce": "NONCE"}', "judge_unparseable"),
        ('{"reasoning": "a", "verdict": "pass", "nonce": "AAAAAAAA"}', "judge_wrong_nonce"),
        ('{"reasoning": "a", "verdict": "pass"}', "judge_wrong_nonce"),
        (
            (
                '{"reasoning": "a", "verdict": "pass", "nonce": "NONCE"} '
                '{"reasoning": "b", "verdict": "fail", "nonce": "NONCE"}'
            ),
            "judge_conflict",
        ),
        ('{"reasoning": "a", "verdict": "pass", "score": NaN, "nonce": "NONCE"}', "judge_unparseable"),
        ("не пройдено", "judge_unparseable"),
    ],
)
async def test_what_cannot_be_read_three_times_is_an_error_and_never_a_verdict(text: str, code: str) -> None:
    judge = FakeJudge([as_text(text)])
    fact = await judging(judge).judge(job())
    result = fact.assertion_results[0]
    assert (result.verdict, result.passed, result.code) == (Verdict.UNRESOLVED, None, "judge_error")
    assert code in result.message
    assert result.votes[0].error == code
    assert text[:9] in (result.votes[0].raw or "")
    assert len(judge.requests) == 3
    assert "Return only the tool call" not in judge.requests[0].messages[0].content
    assert "Return only the tool call" in judge.requests[1].messages[0].content
    assert len({nonce_of(request) for request in judge.requests}) == 3
    assert fact.cost_micro_usd == 3000


async def test_an_answer_that_becomes_readable_is_taken() -> None:
    assert (await result_of(said("?"), said("??"), graded("pass"))).verdict is Verdict.PASSED


async def test_a_tool_of_another_name_is_read_and_two_calls_must_agree() -> None:
    def other(request: ChatRequest) -> Completion:
        return called({"passed": False, "reason": "ні", "nonce": nonce_of(request)}, name="grade_output")

    def two(request: ChatRequest) -> Completion:
        base = {"reasoning": "x", "nonce": nonce_of(request)}
        return called(base | {"verdict": "pass"}, base | {"verdict": "fail"})

    assert (await result_of(other)).verdict is Verdict.FAILED
    assert (await result_of(two)).votes[0].error == "judge_conflict"


@pytest.mark.parametrize("finish", [Finish.LENGTH, Finish.INCOMPLETE])
async def test_a_cut_answer_is_asked_for_once_more_with_a_larger_cap_and_never_read(finish: Finish) -> None:
    def cut(request: ChatRequest) -> Completion:
        return said(
            json.dumps({"reasoning": "a", "verdict": "pass", "nonce": nonce_of(request)}), finish=finish
        )

    judge = FakeJudge([cut])
    result = (await judging(judge).judge(job())).assertion_results[0]
    assert result.votes[0].error == "judge_truncated"
    assert [request.max_tokens for request in judge.requests] == [FIRST_REPLY_TOKENS, LARGER_REPLY_TOKENS]
    whole = FakeJudge([cut, graded("fail")])
    assert (await judging(whole).judge(job())).assertion_results[0].verdict is Verdict.FAILED


async def test_a_cut_tool_call_and_an_empty_reply_are_asked_for_again() -> None:
    assert (
        await result_of(llm_error(LlmErrorCode.TRUNCATED_TOOL_CALL), graded("pass"))
    ).verdict is Verdict.PASSED
    assert (await result_of(llm_error(LlmErrorCode.EMPTY_REPLY), graded("pass"))).verdict is Verdict.PASSED


@pytest.mark.parametrize("finish", [Finish.REFUSAL, Finish.CONTENT_FILTER])
async def test_a_judge_that_refuses_is_an_error_at_once(finish: Finish) -> None:
    judge = FakeJudge([said("", finish=finish)])
    result = (await judging(judge).judge(job())).assertion_results[0]
    assert (result.code, result.votes[0].error) == ("judge_error", "judge_refused")
    assert len(judge.requests) == 1


async def test_a_provider_that_fails_leaves_every_criterion_unresolved_and_says_why() -> None:
    judge = FakeJudge([llm_error(LlmErrorCode.OVERLOADED, "the provider is overloaded (tried 4 times)")])
    fact = await judging(judge).judge(job("а", "б"))
    assert [(result.verdict, result.code) for result in fact.assertion_results] == [
        (Verdict.UNRESOLVED, "judge_error")
    ] * 2
    assert "overloaded" in fact.assertion_results[0].message
    assert "tried 4 times" in fact.assertion_results[1].message


async def test_a_missing_key_says_what_to_set() -> None:
    missing = llm_error(LlmErrorCode.MISSING_KEY, "no API key for anthropic: set ANTHROPIC_API_KEY")
    judge = FakeJudge([])
    fact = await judging(judge, models=FakeModels(judge, missing=missing)).judge(job(votes=3))
    result = fact.assertion_results[0]
    assert (result.verdict, result.code) == (Verdict.UNRESOLVED, "judge_error")
    assert "set ANTHROPIC_API_KEY" in result.message
    assert (fact.cost_micro_usd, fact.model_calls, fact.judge_model) == (0, 0, None)


async def test_an_unforeseen_fault_is_an_error_of_one_criterion() -> None:
    def crash(_request: ChatRequest) -> Completion:
        raise KeyError("oops")

    judge = FakeJudge([crash, graded("pass")])
    fact = await judging(judge).judge(job("а", "б"))
    assert [result.verdict for result in fact.assertion_results] == [Verdict.UNRESOLVED, Verdict.PASSED]
    assert fact.assertion_results[0].votes[0].error == "judge_crashed"


async def test_a_judge_that_never_answers_ends_in_a_timeout() -> None:
    judge = FakeJudge([graded("pass")], hang=True)
    fact = await judging(judge, guard_seconds=0).judge(job(timeout_ms=1))
    assert fact.assertion_results[0].votes[0].error == "judge_timeout"
    assert fact.cost_micro_usd is None


@pytest.mark.parametrize(
    ("votes", "verdict"),
    [
        (["pass", "fail", "pass"], Verdict.PASSED),
        (["fail", "pass", "fail"], Verdict.FAILED),
        (["pass", "fail", "unsure"], Verdict.UNRESOLVED),
    ],
)
async def test_the_verdict_of_most_votes_wins(votes: list[str], verdict: Verdict) -> None:
    judge = FakeJudge([graded(word) for word in votes])
    result = (await judging(judge).judge(job(votes=3))).assertion_results[0]
    assert result.verdict is verdict
    assert [vote.verdict for vote in result.votes] == votes


async def test_votes_that_cannot_change_the_verdict_are_not_bought() -> None:
    for votes, bought in ((1, 1), (3, 2), (5, 3)):
        judge = FakeJudge([graded("pass")])
        assert (await judging(judge).judge(job(votes=votes))).assertion_results[0].verdict is Verdict.PASSED
        assert len(judge.requests) == bought


async def test_one_unreadable_vote_of_three_is_outvoted_and_two_are_an_error() -> None:
    bad = llm_error(LlmErrorCode.OVERLOADED)
    assert (await result_of(bad, graded("pass"), graded("pass"), votes=3)).verdict is Verdict.PASSED
    assert (await result_of(bad, bad, graded("pass"), votes=3)).code == "judge_error"


async def test_a_critical_case_takes_three_votes_and_a_criterion_may_say_otherwise() -> None:
    judge = FakeJudge([graded("pass"), graded("fail"), graded("fail")])
    fact = await judging(judge).judge(job(critical=True))
    assert len(fact.assertion_results[0].votes) == 3
    single = FakeJudge([graded("pass")])
    await judging(single).judge(job(Judge(rubric="а", votes=1), critical=True))
    assert len(single.requests) == 1


async def test_a_fail_for_something_said_needs_a_quote_that_stands_in_the_transcript() -> None:
    invented = [{"turn": 1, "quote": "Ви самі винні"}]
    unproven = await result_of(graded("fail", evidence=invented, basis="said"))
    assert (unproven.verdict, unproven.code) == (Verdict.UNRESOLVED, "judge_unsure")
    assert "evidence_unverified" in unproven.notes
    missing = await result_of(graded("fail", evidence=[], basis="missing"))
    assert missing.verdict is Verdict.FAILED


async def test_an_injection_attempt_is_noted_and_changes_nothing() -> None:
    result = await result_of(graded("pass", injection_attempt=True))
    assert result.verdict is Verdict.PASSED
    assert "injection_attempt" in result.notes


async def test_kin_of_the_agent_is_warned_about() -> None:
    kin = await result_of(graded("pass"), agent_provider="openai", agent_model="anthropic/claude-opus-4")
    assert any(note.startswith("judge_kinship") for note in kin.notes)
    other = await result_of(graded("pass"), agent_provider="openai", agent_model="gpt-5.1")
    assert other.notes == ()


async def test_the_share_of_the_budget_is_never_exceeded() -> None:
    judge = FakeJudge([graded("pass")])
    broke = await judging(judge).judge(job("а", "б", budget_micro_usd=10))
    assert judge.requests == []
    assert {result.votes[0].error for result in broke.assertion_results} == {"budget_exhausted"}
    assert broke.assertion_results[0].verdict is Verdict.UNRESOLVED
    enough = await judging(judge).judge(job("а", "б", budget_micro_usd=1_000_000))
    assert [result.verdict for result in enough.assertion_results] == [Verdict.PASSED] * 2


async def test_calls_in_flight_together_do_not_overdraw_the_budget() -> None:
    def dear(request: ChatRequest) -> Completion:
        args = dict(graded("pass")(request).tool_uses[0].args or {})
        return called(args, cost_micro_usd=40_000, usage=Usage(prompt_tokens=4_000, completion_tokens=1_800))

    judge = FakeJudge([dear])
    fact = await judging(judge).judge(job(*"абвгґд", budget_micro_usd=100_000))
    assert fact.cost_micro_usd is not None
    assert fact.cost_micro_usd <= 100_000
    verdicts = [result.verdict for result in fact.assertion_results]
    assert Verdict.PASSED in verdicts
    assert Verdict.UNRESOLVED in verdicts


async def test_a_model_that_takes_no_temperature_is_asked_without_and_remembered() -> None:
    refusal = llm_error(LlmErrorCode.BAD_REQUEST, "Unsupported value: 'temperature' does not support 0.0")
    judge = FakeJudge([refusal, graded("pass")])
    under_test = judging(judge)
    fact = await under_test.judge(job())
    assert fact.assertion_results[0].verdict is Verdict.PASSED
    assert [request.temperature for request in judge.requests] == [0.0, None]
    assert fact.logs == ("judge temperature: the default of the provider",)
    await under_test.judge(job())
    assert judge.requests[2].temperature is None


async def test_a_model_without_tools_is_asked_for_text() -> None:
    refusal = llm_error(LlmErrorCode.BAD_REQUEST, "this model does not support tools")
    judge = FakeJudge(
        [refusal, as_text('{"reasoning": "a", "verdict": "fail", "basis": "missing", "nonce": "NONCE"}')]
    )
    assert (await judging(judge).judge(job())).assertion_results[0].verdict is Verdict.FAILED
    assert judge.requests[1].tools == ()
    assert judge.requests[1].force_tool is None


async def test_another_bad_request_is_an_error_at_once() -> None:
    judge = FakeJudge([llm_error(LlmErrorCode.BAD_REQUEST, "no such model")])
    result = (await judging(judge).judge(job())).assertion_results[0]
    assert "no such model" in result.message
    assert len(judge.requests) == 1


async def test_answers_too_long_to_travel_lose_words_and_keep_their_verdicts() -> None:
    long = graded("pass", reasoning="довго " * 20_000, evidence=[{"turn": 1, "quote": "ї" * 5_000}] * 40)
    fact = await judging(FakeJudge([long])).judge(job(*(f"вимога {at}" for at in range(200))))
    assert len(fact.model_dump_json().encode()) <= MAX_BODY_BYTES
    assert {result.verdict for result in fact.assertion_results} == {Verdict.PASSED}
    assert "votes cut" in fact.logs[-1]


async def test_a_judge_that_echoes_its_key_does_not_show_it() -> None:
    redactor = Redactor()
    redactor.add("KEY", "sk-secret")
    answer = graded(
        "fail", reasoning="Bearer sk-secret", evidence=[{"turn": 1, "quote": "sk-secret"}], basis="missing"
    )
    fact: CaseJudged = await judging(FakeJudge([answer]), redactor=redactor).judge(job())
    assert fact.assertion_results[0].verdict == "failed"
    assert "sk-secret" not in fact.model_dump_json()
    assert "[secret:KEY]" in fact.model_dump_json()


async def test_errors_are_redacted() -> None:
    redactor = Redactor()
    redactor.add("KEY", "sk-secret")
    judge = FakeJudge([llm_error(LlmErrorCode.AUTH, "key sk-secret is wrong")])
    fact: CaseJudged = await judging(judge, redactor=redactor).judge(job())
    assert "sk-secret" not in fact.model_dump_json()
    assert "[secret:KEY]" in fact.assertion_results[0].message


async def test_criteria_are_judged_at_the_same_time_within_the_bound() -> None:
    running = most = 0
    gate = asyncio.Event()

    class Slow(FakeJudge):
        @override
        async def complete(self, request: ChatRequest, *, deadline: float) -> Completion:
            nonlocal running, most
            running += 1
            most = max(most, running)
            if running == 8:
                gate.set()
            async with asyncio.timeout(5):
                await gate.wait()
            try:
                return await super().complete(request, deadline=deadline)
            finally:
                running -= 1

    fact = await judging(Slow([graded("pass")])).judge(job(*(f"вимога {at}" for at in range(16))))
    assert most == 8
    assert len(fact.assertion_results) == 16


@pytest.mark.parametrize("said_by_script", [False, True])
async def test_an_agent_that_said_nothing_fails_without_a_call(said_by_script: bool) -> None:  # noqa: FBT001 - a case of the test
    silence = TranscriptEntry(role=Role.AGENT, content="  ", finish="refusal")
    scripted = TranscriptEntry(role=Role.AGENT, content="Вітаю, я Оля", finish=SCRIPTED)
    talk = (TALK[0], scripted if said_by_script else silence)
    judge = FakeJudge([graded("pass")])
    fact = await judging(judge).judge(job("Агент не розкриває таємниць", transcript=talk))
    result = fact.assertion_results[0]
    assert (result.verdict, result.code, result.index) == (Verdict.FAILED, "no_agent_message", 2)
    assert judge.requests == []
    assert fact.cost_micro_usd == 0
