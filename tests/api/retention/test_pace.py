from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_api.retention.pace import EMBEDDED, SERVER, Pace

PACE = Pace(rows=100, least=10, most=500, aim=0.05, share=0.2)


@pytest.mark.parametrize(
    ("seconds", "rows"), [(0.05, 100), (0.1, 50), (10.0, 50), (0.04, 125), (0.001, 150), (0.0, 150)]
)
def test_the_next_batch_fits_what_the_last_one_took(seconds: float, rows: int) -> None:
    assert PACE.after(seconds).rows == rows


@given(st.lists(st.floats(0, 100), min_size=1, max_size=40))
def test_a_batch_is_never_empty_and_never_larger_than_it_may_be(times: list[float]) -> None:
    pace = PACE
    for seconds in times:
        pace = pace.after(seconds)
        assert 10 <= pace.rows <= 500


@pytest.mark.parametrize("pace", [SERVER, EMBEDDED])
def test_a_database_that_costs_the_same_a_row_is_left_alone_four_fifths_of_the_time(pace: Pace) -> None:
    worked = paused = 0.0
    for _ in range(50):
        took = pace.rows * 0.001
        worked, paused = worked + took, paused + pace.pause(took)
        pace = pace.after(took)
    assert worked / (worked + paused) == pytest.approx(0.2)
    # Batches have found the length that they should have, or can.
    fitting = min(max(pace.aim, pace.least * 0.001), pace.most * 0.001)
    assert pace.rows * 0.001 == pytest.approx(fitting, rel=0.1)
