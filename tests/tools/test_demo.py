from __future__ import annotations

from typing import Any

import pytest

from tools.demo import KNOWN_FAULTS, failing_refs, verdict


def report(**statuses: str) -> dict[str, Any]:
    found = dict.fromkeys(KNOWN_FAULTS, "failed") | {"order-status": "passed"} | statuses
    return {"results": [{"caseRef": ref, "status": status} for ref, status in found.items()]}


def test_is_content_when_exactly_the_known_faults_were_found() -> None:
    assert verdict(1, report()) is None


@pytest.mark.parametrize(
    ("code", "document", "complaint"),
    [
        (0, report(), "ended with 0"),
        (2, report(), "ended with 2"),
        (1, None, "no report"),
        (1, report(**{"language-brands": "passed"}), "not found: language-brands"),
        (1, report(**{"order-status": "failed"}), "should have passed: order-status"),
        (1, report(**{"order-status": "error"}), "should have passed: order-status"),
    ],
)
def test_says_what_went_differently(code: int, document: Any, complaint: str) -> None:
    problem = verdict(code, document)
    assert problem is not None
    assert complaint in problem


def test_an_error_counts_as_not_passed() -> None:
    assert failing_refs(
        {"results": [{"caseRef": "a", "status": "error"}, {"caseRef": "b", "status": "passed"}]}
    ) == {"a"}
