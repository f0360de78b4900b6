"""docs/schedules.md says what the code does."""

from __future__ import annotations

import re
from datetime import datetime
from typing import get_args

from proctor_contracts.schedules import TickStatus, Waiting
from proctor_schedules.cron import read_cron
from proctor_schedules.faults import FaultCode
from proctor_schedules.times import local_text, next_times
from proctor_schedules.zones import read_zone
from tests.support.repository import ROOT

PAGE = (ROOT / "docs/schedules.md").read_text(encoding="utf-8")


def test_every_refusal_status_and_reason_is_explained_and_no_other() -> None:
    codes = set(get_args(FaultCode))
    assert set(re.findall(r"^\| `((?:cron|timezone)_[a-z_]+)` \|", PAGE, flags=re.MULTILINE)) == codes
    for word in (*TickStatus, *Waiting):
        assert f"`{word}`" in PAGE


def test_what_is_said_of_changes_of_the_clock_is_so() -> None:
    kyiv = read_zone("Europe/Kyiv")

    def shown(text: str, after: str, count: int) -> list[str]:
        found = next_times(read_cron(text), kyiv, datetime.fromisoformat(after), count)
        return [local_text(one, kyiv)[11:16] for one in found]

    spring, autumn = "2026-03-29T02:15+02:00", "2026-10-25T02:45+03:00"
    assert shown("30 3 * * *", spring, 2) == ["04:00", "03:30"]
    assert shown("30 3 * * *", autumn, 2) == ["03:30", "03:30"]
    assert shown("0,30 3,4 * * *", spring, 2) == ["04:00", "04:30"]
    assert shown("0,30 3,4 * * *", autumn, 4) == ["03:00", "03:30", "04:00", "04:30"]
    assert shown("*/30 * * * *", spring, 3) == ["02:30", "04:00", "04:30"]
    assert shown("*/30 * * * *", autumn, 5) == ["03:00", "03:30", "03:00", "03:30", "04:00"]


def test_every_expression_that_is_called_good_can_be_read() -> None:
    for text in re.findall(r"`((?:[0-9*,/-]+ ){4}[0-9*,/-]+)`", PAGE):
        if text != "0 0 31 2 *":
            assert read_cron(text).text == text
