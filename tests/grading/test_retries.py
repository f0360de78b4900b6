from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_contracts.enums import ResultStatus, RetryPolicy
from proctor_grading.retries import Again, Done, next_step

LETTERS = {
    "P": ResultStatus.PASSED,
    "F": ResultStatus.FAILED,
    "E": ResultStatus.ERROR,
    "C": ResultStatus.CANCELLED,
}


def after(policy: str, retries: int, attempts: str) -> str:
    """The next attempt's number, or status, attempts, deciding attempt and a star when flaky."""
    step = next_step(RetryPolicy(policy), retries, [LETTERS[letter] for letter in attempts])
    if isinstance(step, Again):
        return f"again {step.attempt}"
    return f"{step.status} {step.attempt_count} {step.deciding_attempt}{'*' if step.flaky else ''}"


@pytest.mark.parametrize(
    ("policy", "retries", "attempts", "expected"),
    [
        ("any", 2, "F", "again 2"),
        ("any", 2, "FF", "again 3"),
        ("any", 2, "FFP", "passed 3 3*"),
        ("any", 2, "FFF", "failed 3 3"),
        ("any", 2, "E", "error 1 1"),
        ("any", 2, "P", "passed 1 1"),
        ("any", 2, "FE", "failed 2 1"),
        ("any", 0, "F", "failed 1 1"),
        ("any", 5, "FP", "passed 2 2*"),
        ("none", 5, "F", "failed 1 1"),
        ("none", 5, "P", "passed 1 1"),
        ("all", 2, "P", "again 2"),
        ("all", 2, "PP", "again 3"),
        ("all", 2, "PPP", "passed 3 3"),
        ("all", 2, "PF", "again 3"),
        ("all", 2, "PFP", "failed 3 2*"),
        ("all", 2, "FFF", "failed 3 1"),
        ("all", 2, "PE", "error 2 2"),
        ("all", 2, "FE", "failed 2 1"),
        ("all", 0, "P", "passed 1 1"),
        ("any", 2, "FC", "cancelled 2 2"),
        ("all", 2, "C", "cancelled 1 1"),
    ],
)
def test_attempts_add_up_by_policy(policy: str, retries: int, attempts: str, expected: str) -> None:
    assert after(policy, retries, attempts) == expected


@given(
    st.sampled_from(RetryPolicy),
    st.integers(0, 5),
    st.lists(st.sampled_from(list(LETTERS.values())), min_size=6, max_size=6),
)
def test_a_case_ends_within_its_attempts_and_on_one_of_them(
    policy: RetryPolicy, retries: int, outcomes: list[ResultStatus]
) -> None:
    attempts: list[ResultStatus] = []
    while True:
        attempts.append(outcomes[len(attempts)])
        step = next_step(policy, retries, attempts)
        if isinstance(step, Done):
            break
        assert step.attempt == len(attempts) + 1
    assert step.attempt_count == len(attempts) <= 1 + retries
    assert attempts[step.deciding_attempt - 1] is step.status
    assert not step.flaky or {ResultStatus.PASSED, ResultStatus.FAILED} <= set(attempts)
