"""What the gate of a run says of the runs before it: behaviour on every database and bus."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from proctor_contracts.gate import GateDecision
from tests.support.platform import Platform, case

LENIENT = {"minPassRate": 0}
CASES = 5


async def decided(platform: Platform, integration: UUID, word: str, **body: Any) -> GateDecision:
    """Play the cases, all with this end; returns the gate."""
    platform.runner.script = {str(number): (word,) for number in range(CASES)}
    run = await platform.finished(await platform.run(integration, **({"gate": LENIENT} | body)))
    assert run.gate_decision is not None
    return run.gate_decision


def codes(decision: GateDecision) -> list[str]:
    return [reason.code for reason in decision.reasons]


async def test_a_category_that_got_worse_than_in_three_runs_fails_the_gate(platform: Platform) -> None:
    integration, _ = await platform.cases(*(case(f"{number}") for number in range(CASES)))
    for _ in range(3):
        assert codes(await decided(platform, integration, "pass")) == []
    worse = await decided(platform, integration, "fail")
    assert (worse.exit_code, codes(worse)) == (1, ["regression"])
    # Five cases that passed three times each and then failed: (1/4)^5.
    assert worse.reasons[0].message == (
        "Мова got worse: 0 points, 100 in the 3 runs before (p = 0.00098, 5 cases)"
    )


async def test_two_runs_before_are_no_evidence(platform: Platform) -> None:
    integration, _ = await platform.cases(*(case(f"{number}") for number in range(CASES)))
    for _ in range(2):
        await decided(platform, integration, "pass")
    assert codes(await decided(platform, integration, "fail")) == []


async def test_runs_of_draft_prompts_are_neither_judged_nor_compared_with(platform: Platform) -> None:
    integration, _ = await platform.cases(*(case(f"{number}") for number in range(CASES)))
    for _ in range(3):
        await decided(platform, integration, "pass")
    draft = await decided(platform, integration, "fail", agentPromptOverride="Чернетка")
    assert codes(draft) == []
    worse = await decided(platform, integration, "fail")
    assert codes(worse) == ["regression"]
    assert "in the 3 runs before" in worse.reasons[0].message


async def test_errors_say_nothing_of_the_bot(platform: Platform) -> None:
    integration, _ = await platform.cases(*(case(f"{number}") for number in range(CASES)))
    for _ in range(3):
        await decided(platform, integration, "pass")
    broken = {str(number): ("down",) for number in range(CASES - 1)}
    platform.runner.script = broken | {str(CASES - 1): ("pass",)}
    body = {"gate": LENIENT | {"maxErrorRate": 1}}
    run = await platform.finished(await platform.run(integration, **body))
    assert run.gate_decision is not None
    assert codes(run.gate_decision) == []
