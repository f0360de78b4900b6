from __future__ import annotations

import pytest

from proctor_api.errors import ApiError
from proctor_api.usecases.compare_plan import budget_shares, in_cell
from proctor_contracts.schemas.common import FieldProblem


@pytest.mark.parametrize(
    ("cents", "cells", "shares"),
    [(200, 3, [67, 67, 66]), (200, 4, [50] * 4), (7, 4, [2, 2, 2, 1]), (3, 3, [1] * 3)],
)
def test_the_budget_is_split_equally_and_the_first_cells_get_the_rest(
    cents: int, cells: int, shares: list[int]
) -> None:
    found = budget_shares(cents, cells)
    assert found == [share * 10_000 for share in shares]


def test_a_budget_that_leaves_a_cell_without_a_cent_is_refused() -> None:
    assert budget_shares(None, 2) == [None, None]
    with pytest.raises(ApiError) as caught:
        budget_shares(2, 3)
    assert (caught.value.status, caught.value.errors[0].path) == (400, "budgetCents")


@pytest.mark.parametrize(
    ("path", "named", "message"),
    [("model", "matrix.2.model", "is odd"), ("budgetMode", "matrix.2", "budgetMode: is odd")],
)
def test_a_refusal_names_the_cell(path: str, named: str, message: str) -> None:
    with pytest.raises(ApiError) as caught, in_cell(2):
        raise ApiError(400, "odd", "it is odd", [FieldProblem(path=path, message="is odd")])
    assert (caught.value.status, caught.value.code) == (400, "odd")
    assert [(one.path, one.message) for one in caught.value.errors] == [(named, message)]
