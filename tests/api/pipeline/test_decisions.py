"""The small pure decisions: windows, shares of a budget, lost jobs, what a dead letter was about."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from proctor_api.pipeline.budget import (
    JUDGE_OVERHEAD_TOKENS,
    JUDGE_REPLY_TOKENS,
    JUDGE_TRIES,
    TOOL_RESULT_TOKENS,
    Shares,
    shares,
    unknown_prices,
)
from proctor_api.pipeline.dispatch import DEFAULT_WINDOW, room, window
from proctor_api.pipeline.lost import dead_letter_loss, undeliverable_loss
from proctor_api.pipeline.sweeper import Verdict, judge_loss
from proctor_chassis.bus import DeadLetter, Depth
from proctor_contracts.agents import AgentSnapshot, HandlerSnapshot, JudgeSettings
from proctor_contracts.cases import CaseSnapshot
from proctor_contracts.enums import Provider, Runner
from proctor_contracts.ids import job_id, judge_job_id
from proctor_contracts.run_settings import RunSettings
from proctor_contracts.topology import COLLECTOR_RESULTS, JUDGE_CASES, SCHEDULER_RUNS, runner_queue
from proctor_llm.prices import Price, Prices
from proctor_store.repositories.outbox import Outgoing


@pytest.mark.parametrize(
    ("stated", "limit", "pool", "size"),
    [
        (7, None, 500, 7),
        (7, 3, None, 3),
        (None, None, None, DEFAULT_WINDOW),
        (None, None, 10, DEFAULT_WINDOW),
        (None, None, 40, 80),
        (None, 60, 40, 60),
    ],
)
def test_a_window_is_as_stated_or_keeps_the_pool_busy_within_the_accounts_limit(
    stated: int | None, limit: int | None, pool: int | None, size: int
) -> None:
    assert window(stated=stated, account_limit=limit, pool_concurrency=pool) == size


@pytest.mark.parametrize(
    ("in_flight", "judging", "allowance", "free"),
    [
        (0, 0, None, 5),
        (3, 0, None, 2),
        (5, 0, None, 0),
        (6, 0, None, 0),
        (0, 0, 2, 2),
        (4, 0, 9, 1),
        (0, 0, 0, 0),
        (0, 19, None, 5),
        (0, 20, None, 0),
        (0, 21, 5, 0),
    ],
)
def test_room_is_what_is_free_unless_the_judges_are_four_windows_behind(
    in_flight: int, judging: int, allowance: int | None, free: int
) -> None:
    assert room(window=5, in_flight=in_flight, judging=judging, allowance=allowance) == free


@pytest.mark.parametrize(
    ("in_flight", "judging", "allowance", "free"),
    [
        (0, 0, None, 20),
        (5, 0, None, 15),
        (20, 0, None, 0),
        (0, 0, 2, 2),
        (0, 19, None, 5),
        (5, 15, None, 4),
        (4, 19, None, 1),
        (0, 20, None, 0),
    ],
)
def test_cases_that_wait_at_hand_leave_the_judges_no_more_to_do(
    in_flight: int, judging: int, allowance: int | None, free: int
) -> None:
    assert room(window=5, in_flight=in_flight, judging=judging, allowance=allowance, lead=15) == free


def priced(agent: str = "1", judge: str = "1") -> Prices:
    """Input for nothing, output at so many micro-USD a token; the judge's input at one."""
    nothing, one = Decimal(0), Decimal(1)
    table = {
        "groq": {"m": Price(nothing, nothing, nothing, Decimal(agent))},
        "openai": {"j": Price(one, one, one, Decimal(judge))},
    }
    return Prices(table, date="2026-01-01")


def settings(*, votes: Any = 1, judge: bool = True, model: str = "m") -> RunSettings:
    return RunSettings(
        agent=AgentSnapshot(
            integration_id=UUID(int=1),
            integration_name="бот",
            provider=Provider.GROQ,
            model=model,
            prompt="Будь чемним.",
            max_tokens=100,
        ),
        judge=JudgeSettings(provider=Provider.OPENAI, model="j", votes=votes) if judge else None,
    )


def snapshot(*assertions: dict[str, Any], **more: Any) -> CaseSnapshot:
    fields = {
        "id": UUID(int=1),
        "name": "А",
        "category": "Мова",
        "input": {"kind": "scripted_single", "message": "Hi"},
        "assertions": assertions or [{"kind": "contains", "value": "так"}],
    }
    return CaseSnapshot.model_validate(fields | more)


RUBRIC = {"kind": "judge", "rubric": "Polite."}


def test_a_share_bounds_every_call_of_a_script() -> None:
    assert shares(snapshot(), settings(), priced("3")) == Shares(agent=300, judge=0)
    talk = {
        "kind": "scripted_multi",
        "messages": [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": "b"},
            {"role": "user", "content": "c"},
            {"role": "user", "content": "d"},
        ],
    }
    # Three user messages are three calls; the scripted reply costs none.
    assert shares(snapshot(input=talk), settings(), priced("3")) == Shares(agent=900, judge=0)


def gateway(*handlers: HandlerSnapshot) -> RunSettings:
    """The same run with tools; input costs one micro-USD a token where `openai` is the agent."""
    plain = settings()
    agent = plain.agent.model_copy(update={"handlers": handlers})
    return plain.model_copy(update={"runner": Runner.GATEWAY, "agent": agent})


def input_only() -> Prices:
    """Input at one micro-USD a token, output for nothing."""
    nothing, one = Decimal(0), Decimal(1)
    return Prices({"groq": {"m": Price(one, nothing, nothing, nothing)}}, date="2026-01-01")


def test_a_share_bounds_six_calls_a_message_where_the_model_has_tools() -> None:
    assert shares(snapshot(), gateway(), priced("3")) == Shares(agent=6 * 300, judge=0)
    once = shares(snapshot(), settings(), input_only())
    found = shares(snapshot(), gateway(), input_only())
    assert once is not None
    assert found is not None
    # Between two calls the history grows by a reply and by what the tools may have answered.
    assert found.agent >= 6 * once.agent + (1 + 2 + 3 + 4 + 5) * (100 + TOOL_RESULT_TOKENS)


def test_a_share_counts_what_describing_the_tools_costs() -> None:
    described = HandlerSnapshot(id=UUID(int=5), name="find", parameters_schema={"description": "x" * 1_000})
    shown = HandlerSnapshot(id=UUID(int=6), name="find", body={"query": "x" * 1_000})
    without = shares(snapshot(), gateway(), input_only())
    assert without is not None
    for handler in (described, shown):
        found = shares(snapshot(), gateway(handler), input_only())
        assert found is not None
        assert found.agent >= without.agent + 6 * 1_000


def test_a_judges_share_covers_the_tool_calls_that_it_may_have_to_read() -> None:
    plain = shares(snapshot(RUBRIC), settings(), priced(judge="0"))
    tools = shares(snapshot(RUBRIC), gateway(), priced(judge="0"))
    assert plain is not None
    assert tools is not None
    assert tools.judge - plain.judge == JUDGE_TRIES * (5 * 100 + 6 * TOOL_RESULT_TOKENS)


def test_a_judges_share_covers_its_votes_tries_and_the_transcript() -> None:
    reply = JUDGE_REPLY_TOKENS * 2
    one = shares(snapshot(RUBRIC), settings(), priced(judge="2"))
    assert one is not None
    least = JUDGE_TRIES * (JUDGE_OVERHEAD_TOKENS + 100 + reply)
    assert least < one.judge < least + JUDGE_TRIES * 200
    assert one.total == one.agent + one.judge
    three = shares(snapshot(RUBRIC), settings(votes=3), priced(judge="2"))
    critical = shares(snapshot(RUBRIC, critical=True), settings(), priced(judge="2"))
    own = shares(snapshot(RUBRIC | {"votes": 5}), settings(), priced(judge="2"))
    two = shares(snapshot(RUBRIC, RUBRIC), settings(), priced(judge="2"))
    assert three is not None
    assert critical == three
    assert three.judge == 3 * one.judge
    assert own is not None
    assert own.judge == 5 * one.judge
    assert two is not None
    assert two.judge == 2 * one.judge


def test_without_a_judge_nothing_is_reserved_for_one() -> None:
    found = shares(snapshot(RUBRIC), settings(judge=False), priced())
    assert found is not None
    assert found.judge == 0


def test_an_unknown_price_makes_no_share_and_is_named() -> None:
    assert shares(snapshot(), settings(model="new"), priced()) is None
    nobody = Prices({"groq": {"m": Price(*[Decimal(1)] * 4)}}, date="2026-01-01")
    assert shares(snapshot(RUBRIC), settings(), nobody) is None
    assert unknown_prices(settings(model="new"), priced(), judged=True) == ["groq:new"]
    assert unknown_prices(settings(), nobody, judged=True) == ["openai:j"]
    assert unknown_prices(settings(), nobody, judged=False) == []


EMPTY = Depth(0, None, 1)


@pytest.mark.parametrize(
    ("minutes", "held", "depth", "losses", "verdict"),
    [
        (3, False, EMPTY, 0, Verdict.SEND_AGAIN),
        (3, False, EMPTY, 1, Verdict.GIVE_UP),
        (2, False, EMPTY, 0, Verdict.WAIT),
        (3, True, EMPTY, 0, Verdict.WAIT),
        (3, True, EMPTY, 1, Verdict.WAIT),
        (3, False, Depth(1, None, 0), 0, Verdict.WAIT),
        (3, False, None, 1, Verdict.WAIT),
    ],
)
def test_a_job_is_lost_only_when_nobody_can_have_it(
    *, minutes: int, held: bool, depth: Depth | None, losses: int, verdict: Verdict
) -> None:
    found = judge_loss(
        out_for=timedelta(minutes=minutes),
        timeout=timedelta(minutes=2),
        held=held,
        depth=depth,
        losses=losses,
    )
    assert found is verdict


JOB = job_id(UUID(int=1), UUID(int=2), 3, 4)
JUDGING = judge_job_id(UUID(int=1), UUID(int=2), 3, 4)


def letter(queue: str, name: str) -> DeadLetter:
    return DeadLetter(
        queue=queue,
        reason="delivery_limit",
        body=b"{",
        headers={},
        id=name,
        correlation="",
        routing_key="",
    )


@pytest.mark.parametrize(
    ("queue", "name", "judging"),
    [
        (runner_queue("night").name, JOB, False),
        (JUDGE_CASES.name, JUDGING, True),
        (COLLECTOR_RESULTS.name, JOB, False),
        (COLLECTOR_RESULTS.name, JUDGING, True),
    ],
)
def test_a_dead_letter_is_about_one_attempt(queue: str, name: str, *, judging: bool) -> None:
    loss = dead_letter_loss(letter(queue, name))
    assert loss is not None
    assert (loss.run_id, loss.case_id, loss.trial, loss.attempt) == (UUID(int=1), UUID(int=2), 3, 4)
    assert loss.judging is judging
    assert loss.error.code == "job_dead"
    assert "delivery_limit" in loss.error.message


@pytest.mark.parametrize(
    ("queue", "name"),
    [
        (SCHEDULER_RUNS.name, JOB),
        (COLLECTOR_RESULTS.name, ""),
        (COLLECTOR_RESULTS.name, "a:b:1:1"),
        (COLLECTOR_RESULTS.name, f"{UUID(int=1)}:{UUID(int=2)}:one:1"),
        (COLLECTOR_RESULTS.name, f"{JOB}:5"),
    ],
)
def test_other_dead_letters_end_no_case(queue: str, name: str) -> None:
    assert dead_letter_loss(letter(queue, name)) is None


def test_a_refused_message_that_is_no_job_ends_no_case() -> None:
    message = Outgoing(UUID(int=1), "proctor.events", "run.completed", f"{UUID(int=1)}:completed", "{}")
    assert undeliverable_loss(message, "unroutable") is None
