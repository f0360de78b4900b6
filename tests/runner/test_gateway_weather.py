"""Which calls weather strikes, and what it does to them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from proctor_contracts.weather import EVERY_CALL, SOME_CALL, SOME_CALLS, Fault, Weather, parse_weather
from proctor_runner.gateway.outcome import Outcome
from proctor_runner.gateway.weather import POISON, Sky, changed, failure, poison_text, strikes

CALLS = range(1, 9)


def struck(weather: Weather, seed: str = "s") -> list[int]:
    return [call for call in CALLS if strikes(weather, call, seed=seed)]


def test_weather_strikes_the_call_it_names() -> None:
    assert struck(Weather(Fault.TIMEOUT)) == [1]
    assert struck(Weather(Fault.TIMEOUT, 3)) == [3]
    assert struck(Weather(Fault.TIMEOUT, EVERY_CALL)) == list(CALLS)
    assert struck(Weather(Fault.OK, EVERY_CALL)) == []


def test_some_call_is_one_of_the_first_and_the_same_for_one_seed() -> None:
    weather = Weather(Fault.TIMEOUT, SOME_CALL)
    chosen = {seed: struck(weather, seed) for seed in map(str, range(60))}
    assert {tuple(calls) for calls in chosen.values()} == {(call,) for call in range(1, SOME_CALLS + 1)}
    assert chosen == {seed: struck(weather, seed) for seed in chosen}


def test_only_calls_of_matching_tools_are_counted() -> None:
    sky = Sky(parse_weather("5xx@2:search.*"), text="5xx@2:search.*", seed="s")
    tools = ["search.a", "get_order", "search.b", "search.a"]
    assert [sky.over(tool) for tool in tools] == [Fault.OK, Fault.OK, Fault.SERVER_ERROR, Fault.OK]


def test_without_weather_nothing_strikes() -> None:
    assert Sky(None, text="", seed="").over("t") is Fault.OK


@pytest.mark.parametrize(
    ("fault", "code"),
    [(Fault.TIMEOUT, "timeout"), (Fault.SERVER_ERROR, "http_50"), (Fault.TOO_MANY, "http_429")],
)
def test_a_fault_that_keeps_the_handler_from_being_called_says_that_it_was_planted(
    fault: Fault, code: str
) -> None:
    planted = failure(fault, seed="s", text=f"{fault}@1")
    assert planted is not None
    assert planted.code.startswith(code)
    assert f"{fault}@1" in planted.recorded
    assert planted.said
    assert "weather" not in planted.said
    assert planted == failure(fault, seed="s", text=f"{fault}@1")
    assert not planted.unreachable


def alter(fault: Fault, result: Any, first: Any = None) -> Outcome:
    return changed(fault, Outcome(result=result, called=True), first=first, seed="s", text=str(fault))


def test_malformed_cuts_the_answer_in_the_middle() -> None:
    outcome = alter(Fault.MALFORMED, {"status": "shipped", "id": 7})
    assert '{"status":"shipped","id":7}'.startswith(outcome.content)
    with pytest.raises(ValueError, match=r"\w"):
        json.loads(outcome.content)
    assert outcome.failure is not None
    assert outcome.failure.recorded.startswith("malformed")
    assert not outcome.failed, "what was done was done"


def test_stale_repeats_the_first_result_or_marks_the_only_one() -> None:
    assert alter(Fault.STALE, {"n": 2}, first={"n": 1}).result == {"n": 1}
    assert alter(Fault.STALE, {"n": 2}).result == {"n": 2, "stale": True}
    assert alter(Fault.STALE, [1]).result == {"result": [1], "stale": True}


def test_poison_plants_an_instruction_whose_marker_the_seed_makes() -> None:
    outcome = alter(Fault.POISON, {"n": 2})
    assert outcome.result["n"] == 2
    assert poison_text("s") in outcome.content
    assert POISON in poison_text("s")
    assert poison_text("s") != poison_text("other")
    assert outcome.failure is None
