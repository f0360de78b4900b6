from __future__ import annotations

import pytest

from proctor_store.padding import padded


@pytest.mark.parametrize(("given", "length"), [(0, 0), (1, 1), (2, 2), (3, 4), (5, 8), (64, 64), (65, 128)])
def test_lists_grow_to_a_power_of_two_and_hold_nothing_new(given: int, length: int) -> None:
    values = list(range(given))
    found = padded(values)
    assert len(found) == length
    assert set(found) == set(values)
