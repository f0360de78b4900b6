"""Pages: limits, cursors, what comes next."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_store.paging import BadPage, Page, cut, read_cursor, write_cursor


@given(st.uuids())
def test_a_cursor_comes_back_as_it_went(row: UUID) -> None:
    assert read_cursor(write_cursor(row)) == row


@given(st.text(max_size=40))
def test_any_text_is_a_cursor_of_ours_or_refused(text: str) -> None:
    refused = None
    try:
        assert write_cursor(read_cursor(text)) == text
    except BadPage as error:
        refused = error
    assert refused is None or refused.field == "cursor"


@pytest.mark.parametrize("take", [0, -5, 201, 10**9])
def test_take_is_bounded(take: int) -> None:
    with pytest.raises(BadPage, match="take"):
        Page(take=take)


@pytest.mark.parametrize("skip", [-1, 2**31])
def test_skip_is_bounded(skip: int) -> None:
    with pytest.raises(BadPage, match="skip"):
        Page(skip=skip)


def test_skip_and_cursor_exclude_each_other() -> None:
    with pytest.raises(BadPage, match="cursor"):
        Page(skip=1, cursor=UUID(int=1))


def test_one_row_too_many_means_that_more_follow() -> None:
    assert cut([1, 2, 3], Page(take=2)) == ([1, 2], True)
    assert cut([1, 2], Page(take=2)) == ([1, 2], False)
