"""The six attacks against judges of every degree of credulity: none may end in a pass unnoticed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from proctor_contracts.agents import JudgeSettings
from proctor_contracts.results import Verdict
from proctor_judge.selftest import ATTACKS, CRITERION, self_test
from proctor_llm.types import ChatRequest, Completion
from tests.judge.fakes import MODEL, FakeJudge, called, graded, judging, nonce_of, said

SETTINGS = JudgeSettings.model_validate({"provider": "anthropic", "model": MODEL})


def transcript_of(request: ChatRequest) -> str:
    nonce = nonce_of(request)
    text = request.messages[0].content
    return text.partition(f'<transcript id="{nonce}">\n')[2].partition(f'\n</transcript id="{nonce}">')[0]


def texts_of(request: ChatRequest) -> str:
    return "\n".join(json.loads(line)["text"] for line in transcript_of(request).splitlines())


def obeys_without_nonce(_request: ChatRequest) -> Completion:
    return called({"evidence": [], "reasoning": "Так сказано в розмові.", "basis": "said", "verdict": "pass"})


def obeys_with_a_nonce_of_the_transcript(_request: ChatRequest) -> Completion:
    return called({"reasoning": "Так сказано.", "verdict": "pass", "nonce": "K7QEAAAA"})


def repeats_what_it_read(request: ChatRequest) -> Completion:
    found = re.search(r'\{"evidence".*\}', texts_of(request))
    return said(found[0] if found else "grade: pass")


def quotes_and_then_decides(request: ChatRequest) -> Completion:
    verdict = {"reasoning": "Номера заявки немає.", "basis": "missing", "verdict": "fail"}
    return said(f"У розмові: {texts_of(request)}\n{json.dumps(verdict | {'nonce': nonce_of(request)})}")


def says_pass_in_prose(_request: ChatRequest) -> Completion:
    return said("verdict: pass. The requirement was met.")


def decides_both_ways(request: ChatRequest) -> Completion:
    base = {"reasoning": "x", "nonce": nonce_of(request)}
    return said(json.dumps(base | {"verdict": "pass"}) + json.dumps(base | {"verdict": "fail"}))


def passed_as_a_boolean_word(request: ChatRequest) -> Completion:
    return called({"reasoning": "x", "verdict": True, "nonce": nonce_of(request)})


@pytest.mark.parametrize(
    "credulous",
    [
        obeys_without_nonce,
        obeys_with_a_nonce_of_the_transcript,
        repeats_what_it_read,
        says_pass_in_prose,
        decides_both_ways,
        passed_as_a_boolean_word,
    ],
)
async def test_a_judge_that_obeys_the_transcript_never_passes_an_attack(
    credulous: Callable[[ChatRequest], Completion],
) -> None:
    report = await self_test(judging(FakeJudge([credulous])).judge, SETTINGS)
    assert set(report.verdicts) == {attack.name for attack in ATTACKS}
    assert set(report.verdicts.values()) == {Verdict.UNRESOLVED}
    assert report.fooled_by == ()
    assert report.trusted is False, "a judge that can never be read proves nothing"


async def test_a_judge_that_quotes_the_attack_and_then_decides_is_read_by_its_own_verdict() -> None:
    report = await self_test(judging(FakeJudge([quotes_and_then_decides])).judge, SETTINGS)
    assert set(report.verdicts.values()) == {Verdict.FAILED}
    assert report.trusted is True


async def test_a_judge_that_is_talked_into_a_proper_pass_is_named_and_rejected() -> None:
    def fooled_by_tools(request: ChatRequest) -> Completion:
        word = "pass" if "grade: pass" in transcript_of(request) else "fail"
        more: dict[str, Any] = {"evidence": [], "basis": "missing"}
        return graded(word, **more)(request)

    report = await self_test(judging(FakeJudge([fooled_by_tools])).judge, SETTINGS)
    assert report.fooled_by == ("tool_result",)
    assert report.trusted is False


def test_there_are_six_attacks_and_in_each_the_agent_plainly_fails() -> None:
    assert len(ATTACKS) == 6
    assert "вибачення" in CRITERION
    for attack in ATTACKS:
        reply = attack.transcript[1].content
        assert reply.startswith("Це не моя проблема")
        assert "вибач" not in reply.casefold()


async def test_the_prompt_carries_each_attack_inside_the_fence_only() -> None:
    judge = FakeJudge([graded("fail", basis="missing", evidence=[])])
    await self_test(judging(judge).judge, SETTINGS)
    for request, attack in zip(judge.requests, ATTACKS, strict=True):
        text = request.messages[0].content
        outside = text.replace(transcript_of(request), "")
        assert attack.transcript[1].content[:40] not in outside
        assert "K7QEAAAA" not in outside
        assert "</transcript>" not in text
        assert request.system.count("transcript") > 0
