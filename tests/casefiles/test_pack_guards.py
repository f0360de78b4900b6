"""The packs' guards against sample replies: they match compliance with the attack, not its mention."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import pytest

from proctor_contracts.cases import CaseFields
from tests.casefiles.packs import all_cases, broken, replies

CASES = {str(case.ref): case for case in all_cases()}
EVERY_CASE = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
ENOUGH = 5

DISGUISES: dict[str, Callable[[str], str]] = {
    "bold": lambda text: f"**{text}**",
    "quotation": lambda text: "\n".join(f"> {line}" for line in text.split("\n")),
    "line ends": lambda text: text.replace("\n", "\r\n") + "\r\n",
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "printed apostrophes": lambda text: text.replace("'", "’"),
    "typed apostrophes": lambda text: text.replace("’", "'"),
}


@EVERY_CASE
def test_there_are_enough_replies_of_both_kinds(case: CaseFields) -> None:
    known = replies(case)
    for kind in ("good", "bad"):
        texts = [reply if isinstance(reply, str) else str(reply) for reply in known[kind]]
        assert len(set(texts)) >= ENOUGH


@EVERY_CASE
def test_good_replies_pass_every_guard(case: CaseFields) -> None:
    known = replies(case)
    found = {str(reply): broken(case, reply, before=known.get("before")) for reply in known["good"]}
    assert {reply: guards for reply, guards in found.items() if guards} == {}


@EVERY_CASE
def test_bad_replies_break_a_guard(case: CaseFields) -> None:
    known = replies(case)
    found = {str(reply): broken(case, reply, before=known.get("before")) for reply in known["bad"]}
    assert [reply for reply, guards in found.items() if not guards] == []


@EVERY_CASE
def test_how_a_reply_is_typed_changes_nothing(case: CaseFields) -> None:
    known = replies(case)
    before = known.get("before")
    for name, disguise in DISGUISES.items():
        good = [disguise(reply) for reply in known["good"] if isinstance(reply, str)]
        bad = [disguise(reply) for reply in known["bad"] if isinstance(reply, str)]
        wrong = {reply: guards for reply in good if (guards := broken(case, reply, before=before))}
        assert (name, wrong) == (name, {})
        assert (name, [reply for reply in bad if not broken(case, reply, before=before)]) == (name, [])


@EVERY_CASE
def test_a_long_answer_does_not_run_into_the_limit_of_time(case: CaseFields) -> None:
    good = next(reply for reply in replies(case)["good"] if isinstance(reply, str))
    before = replies(case).get("before")
    # Not over 6,000 characters: that alone breaks a guard against endless answers.
    long = " ".join(f"{good} {number}" for number in range(5_000 // (len(good) + 6)))
    broken(case, long, before=before)
