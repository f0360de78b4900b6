"""Jobs that wait at hand until a case of their run ends."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from proctor_api.pipeline.turnstile import Departure, Turnstile
from proctor_contracts.topology import EVENTS, JOBS, case_key
from proctor_store.repositories.outbox import Outgoing

A, B = UUID(int=1), UUID(int=2)


def job(number: int, *, run: UUID = A, key: str = case_key("default")) -> Outgoing:
    return Outgoing(run, JOBS.name, key, f"{run}:{number}", "{}")


def departures(*numbers: int, run: UUID = A, limit: int = 2) -> list[Departure]:
    return [Departure(job(number, run=run), limit) for number in numbers]


def test_no_more_go_than_may_be_played_and_the_next_goes_when_one_ends() -> None:
    gate = Turnstile()
    assert gate.enter(departures(1, 2, 3, 4)) == [job(1), job(2)]
    assert gate.enter(departures(5)) == []
    assert gate.ended(A, job(2).message_id) == job(3)
    assert gate.ended(A, job(1).message_id) == job(4)
    assert gate.ended(A, job(4).message_id) == job(5)


def test_an_end_that_is_heard_again_or_of_a_stranger_lets_nothing_go() -> None:
    gate = Turnstile()
    gate.enter(departures(1, 2, 3, 4))
    assert gate.ended(A, job(1).message_id) == job(3)
    assert gate.ended(A, job(1).message_id) is None
    assert gate.ended(A, job(4).message_id) is None, "it waits, so it cannot have ended"
    assert gate.ended(B, job(1).message_id) is None


def test_runs_do_not_wait_for_each_other() -> None:
    gate = Turnstile()
    gate.enter(departures(1, 2, 3))
    assert gate.enter(departures(1, run=B, limit=1)) == [job(1, run=B)]


def test_jobs_of_judges_pass() -> None:
    gate = Turnstile()
    gate.enter(departures(1, 2))
    judge = job(1, key="judge.requested")
    assert gate.enter([Departure(judge, 2)]) == [judge]
    event = Outgoing(None, EVENTS.name, "schedule.fired", "x", "{}")
    assert gate.enter([Departure(event, 2)]) == [event]


def test_runs_are_fed_while_each_has_a_job_at_hand() -> None:
    gate = Turnstile()
    assert not gate.fed
    gate.enter(departures(1, 2, 3))
    assert gate.fed
    gate.enter(departures(1, run=B))
    assert not gate.fed, "the other run has nothing at hand"
    gate.ended(B, job(1, run=B).message_id)
    assert gate.fed
    gate.ended(A, job(1).message_id)
    assert not gate.fed


def test_a_cancelled_run_is_forgotten_whole() -> None:
    gate = Turnstile()
    gate.enter(departures(1, 2, 3))
    gate.forget([A, B])
    assert gate.ended(A, job(1).message_id) is None
    assert gate.enter(departures(4, 5)) == [job(4), job(5)]


@given(
    limit=st.integers(1, 5),
    steps=st.lists(st.one_of(st.integers(1, 4), st.none()), max_size=60),
)
def test_every_job_goes_once_in_order_and_the_limit_holds(limit: int, steps: list[int | None]) -> None:
    gate = Turnstile()
    entered = 0
    gone: list[str] = []
    playing: list[str] = []
    for step in steps:
        if step is None:
            if playing and (following := gate.ended(A, playing.pop(0))) is not None:
                gone.append(following.message_id)
                playing.append(following.message_id)
        else:
            new = [entered + n for n in range(step)]
            entered += step
            for going in gate.enter(departures(*new, limit=limit)):
                gone.append(going.message_id)
                playing.append(going.message_id)
        assert len(playing) <= limit
        assert len(playing) == min(limit, entered - (len(gone) - len(playing)))
    while playing:
        if (following := gate.ended(A, playing.pop(0))) is not None:
            gone.append(following.message_id)
            playing.append(following.message_id)
    assert gone == [job(number).message_id for number in range(entered)]
