"""Cron expressions: read in one way, or refused with what to write instead."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_schedules.cron import read_cron
from proctor_schedules.faults import ScheduleFault
from proctor_schedules.fields import FIELDS, Field

EVERY_WEEKDAY = frozenset(range(7))


def refused(text: str) -> ScheduleFault:
    with pytest.raises(ScheduleFault) as caught:
        read_cron(text)
    assert caught.value.field == "cronExpression"
    return caught.value


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("@hourly", "0 * * * *"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@Weekly", "0 0 * * 0"),
        ("@monthly", "0 0 1 * *"),
        ("@yearly", "0 0 1 1 *"),
        (" @ANNUALLY ", "0 0 1 1 *"),
    ],
)
def test_names_stand_for_five_fields(name: str, meant: str) -> None:
    named, written = read_cron(name), read_cron(meant)
    assert named.text == name.strip()
    assert (named.times, named.days, named.months, named.weekdays) == (
        written.times,
        written.days,
        written.months,
        written.weekdays,
    )
    assert (named.wildcard, named.both_days) == (written.wildcard, written.both_days)


@pytest.mark.parametrize(
    ("text", "weekdays"),
    [
        ("7", {0}),
        ("0", {0}),
        ("SUN", {0}),
        ("sUn", {0}),
        ("5-7", {5, 6, 0}),
        ("fri-sun", {5, 6, 0}),
        ("sun-tue", {0, 1, 2}),
        ("sun-sun", {0}),
        ("mon-fri", {1, 2, 3, 4, 5}),
        ("0-7", {0, 1, 2, 3, 4, 5, 6}),
        ("1-7/2", {1, 3, 5, 0}),
        ("1-6/2", {1, 3, 5}),
        ("*/2", {0, 2, 4, 6}),
        ("mon,3,sat-7", {1, 3, 6, 0}),
    ],
)
def test_sunday_is_0_and_7_and_names_have_any_case(text: str, weekdays: set[int]) -> None:
    assert read_cron(f"0 9 * * {text}").weekdays == weekdays


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("0 9 * * fri-mon", "write 5-6,0-1"),
        ("0 9 * * 7-2", "write 0-2"),
        ("0 9 * * 5-0", "write 5-7"),
        ("0 22-2 * * *", "write 22-23,0-2"),
        ("0 0 1 nov-feb *", "write 11-12,1-2"),
        ("0 0 28-3 * *", "write 28-31,1-3"),
    ],
)
def test_a_range_over_the_end_is_refused_with_the_two_that_it_stands_for(text: str, instead: str) -> None:
    fault = refused(text)
    assert fault.code == "cron_range"
    assert instead in str(fault)
    field = next(part for part in text.split() if "-" in part)
    written = text.replace(field, instead.removeprefix("write "))
    assert read_cron(written).text == written


@pytest.mark.parametrize(
    ("text", "count", "hint"),
    [
        ("0 0 9 * * *", 6, "seconds first, write 0 9 * * *"),
        ("*/10 0 9 * * MON", 6, "seconds first, write 0 9 * * MON"),
        ("0 0 9 * * ? *", 7, "seconds first and years last, write 0 9 * * *"),
        ("0 9 * *", 4, "the day of week is probably missing, write 0 9 * * *"),
        ("0 9 * * * root", 6, "probably a user or a command, write 0 9 * * *"),
        ("0 9 * * 1 /usr/bin/true --now", 7, "probably a user or a command, write 0 9 * * 1"),
        ("", 0, "exactly five are read"),
        ("hello", 1, "exactly five are read"),
        ("a b c d e f", 6, "exactly five are read"),
    ],
)
def test_exactly_five_fields(text: str, count: int, hint: str) -> None:
    fault = refused(text)
    assert fault.code == "cron_field_count"
    assert ("there is 1 field;" if count == 1 else f"there are {count} fields") in str(fault)
    assert hint in str(fault)


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("0 0 L * *", "L"),
        ("0 0 L-3 * *", "L"),
        ("0 0 LW * *", "L"),
        ("0 0 * * 5L", "L"),
        ("0 0 * * friL", "L"),
        ("0 0 15W * *", "W"),
        ("0 0 * * 5#2", "#"),
        ("0 0 * * MON#1", "#"),
        ("0 9 ? * MON", "?"),
        ("H H * * *", "H"),
        ("H(0-29)/10 * * * *", "H"),
        ("H/15 * * * *", "H"),
        ("R R * * *", "R"),
        ("0~30 * * * *", "~"),
        ("@reboot", "@reboot"),
        ("@every 5m", "@every 5m"),
    ],
)
def test_what_other_crons_know_is_refused_by_name(text: str, sign: str) -> None:
    fault = refused(text)
    assert fault.code == "cron_not_supported"
    assert f"{sign} is not supported" in str(fault)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("0 9 * * 8", "8 is not from 0 to 7"),
        ("60 9 * * *", "60 is not from 0 to 59"),
        ("0 24 * * *", "24 is not from 0 to 23"),
        ("0 0 0 * *", "0 is not from 1 to 31"),
        ("0 0 32 * *", "32 is not from 1 to 31"),
        ("0 0 1 13 *", "13 is not from 1 to 12"),
        ("0 0 1 0 *", "0 is not from 1 to 12"),
        ("1,,2 * * * *", "a value is missing"),
        ("5- * * * *", "a value is missing"),
        ("/5 * * * *", "a value is missing"),
        ("-5 * * * *", "a value is missing"),
        ("0 9 * * MONDAY", "or a name such as SUN"),
        ("0 9 * MON *", "or a name such as JAN"),
        ("0 MON * * *", "'MON' is not a number from 0 to 23"),
        ("+5 * * * *", "'+5' is not a number"),
        ("1_0 * * * *", "'1_0' is not a number"),
        ("٣ * * * *", "'٣' does not belong"),
        ("0 9 * * ſun", "'ſ' does not belong"),
        ("0 9 * * вт", "'в' does not belong"),
        ("0 9 * *\u00a0*", "does not belong"),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_its_field(text: str, hint: str) -> None:
    fault = refused(text)
    assert fault.code == "cron_value"
    assert hint in str(fault)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("*/0 * * * *", "'0' is not a whole number above 0"),
        ("*/x * * * *", "'X' is not a whole number above 0"),
        ("*/ * * * *", "'' is not a whole number above 0"),
        ("*/5/5 * * * *", "'5/5' is not a whole number above 0"),
        ("*/90 * * * *", "leaves only 0 of 0 to 59; write 0"),
        ("*/60 * * * *", "write 0"),
        ("0 9 1-5/7 * *", "leaves only 1 of 1 to 5; write 1"),
        ("0 9 * * 1/2", "write 1-6/2 or 1-7/2"),
    ],
)
def test_a_step_must_lead_somewhere(text: str, hint: str) -> None:
    fault = refused(text)
    assert fault.code == "cron_step"
    assert hint in str(fault)


@pytest.mark.parametrize("text", ["0 0 31 2 *", "0 0 30 feb *", "0 0 31 4,6,9,11 *", "0 0 30,31 2 */2"])
def test_dates_that_never_come_are_refused(text: str) -> None:
    fault = refused(text)
    assert fault.code == "cron_never"
    assert "never fires" in str(fault)


@pytest.mark.parametrize("text", ["0 0 29 2 *", "0 0 31 2 MON", "0 0 31 1,2 *", "0 0 31 */3 *"])
def test_dates_that_come_at_some_time_are_not(text: str) -> None:
    assert read_cron(text).text == text


@pytest.mark.parametrize(
    ("text", "pair", "apart"),
    [
        ("* * * * *", "00:00 and again at 00:01", "1 minute later"),
        ("*/4 * * * *", "00:00 and again at 00:04", "4 minutes later"),
        ("*/7 * * * *", "00:56 and again at 01:00", "4 minutes later"),
        ("0,58 * * * *", "00:58 and again at 01:00", "2 minutes later"),
        ("10,13,40 9 * * 1", "09:10 and again at 09:13", "3 minutes later"),
        ("0,59 0,23 * * *", "23:59 and again at 00:00", "1 minute later"),
        ("0,58 0,23 31,1 * *", "23:58 and again at 00:00", "2 minutes later"),
        ("0,58 0,23 * * sun,sat", "23:58 and again at 00:00", "2 minutes later"),
        ("2,58 0,23 29,1 2,3 *", "23:58 and again at 00:02", "4 minutes later"),
    ],
)
def test_two_times_are_five_minutes_apart(text: str, pair: str, apart: str) -> None:
    fault = refused(text)
    assert fault.code == "cron_too_often"
    assert pair in str(fault)
    assert apart in str(fault)


@pytest.mark.parametrize(
    "text", ["*/5 * * * *", "0,5 0 * * *", "0,58 23,0 1,3 * *", "0,59 0,23 * * mon,wed", "0,55 * * * *"]
)
def test_five_minutes_are_enough(text: str) -> None:
    assert read_cron(text).text == text


def test_a_day_may_be_right_by_month_or_by_week_unless_one_begins_with_a_star() -> None:
    either = read_cron("0 9 13 * 5")
    assert either.on(date(2026, 2, 6))  # a Friday
    assert either.on(date(2026, 8, 13))  # a Thursday
    assert not either.on(date(2026, 2, 7))
    both = read_cron("0 16 */2 * 6")
    assert [day for day in range(1, 32) if both.on(date(2026, 5, day))] == [9, 23]  # odd Saturdays
    whole = read_cron("0 16 1-31 * 6")
    assert all(whole.on(date(2026, 5, day)) for day in range(1, 32))


def test_blanks_of_any_number_part_the_fields() -> None:
    assert read_cron("  0\t9  *\n* * ").text == "0 9 * * *"


def values_of(text: str, field: Field) -> set[int]:
    """What a list of numbers, ranges and steps means, said in another way than the library does."""
    found: set[int] = set()
    for item in text.split(","):
        span, _, step = item.partition("/")
        low, _, high = span.partition("-")
        first = field.low if span == "*" else int(low)
        last = field.high if span == "*" else int(high or (field.high if step else low))
        found |= set(range(first, last + 1, int(step or 1)))
    return {value % 7 for value in found} if field.weekday else found


@st.composite
def items(draw: st.DrawFn, field: Field) -> str:
    low = draw(st.integers(field.low, field.last - 1))
    high = draw(st.integers(low + 1, field.last))
    step = draw(st.integers(1, high - low))
    whole = draw(st.integers(1, field.high - field.low))
    choices = [str(low), f"{low}-{high}", f"{low}-{high}/{step}", "*", f"*/{whole}"]
    return draw(st.sampled_from(choices))


@st.composite
def fields(draw: st.DrawFn, number: int) -> str:
    return ",".join(draw(st.lists(items(FIELDS[number]), min_size=1, max_size=4)))


@given(fields(1), fields(2), fields(3), fields(4))
def test_fields_mean_what_they_say(hour: str, day: str, month: str, weekday: str) -> None:
    try:
        cron = read_cron(f"30 {hour} {day} {month} {weekday}")
    except ScheduleFault as fault:
        assert fault.code == "cron_never"  # noqa: PT017 - a random day may not be in a random month
        return
    assert {time // 60 for time in cron.times} == values_of(hour, FIELDS[1])
    assert cron.days == values_of(day, FIELDS[2])
    assert cron.months == values_of(month, FIELDS[3])
    assert cron.weekdays == values_of(weekday, FIELDS[4])


@given(fields(0))
def test_minutes_mean_what_they_say_and_are_apart(minute: str) -> None:
    wanted = sorted(values_of(minute, FIELDS[0]))
    around = [late - early for early, late in zip(wanted, [*wanted[1:], wanted[0] + 60], strict=True)]
    try:
        cron = read_cron(f"{minute} * * * *")
    except ScheduleFault as fault:
        assert fault.code == "cron_too_often"  # noqa: PT017 - it is, as the next line says
        assert min(around) < 5
        return
    assert min(around) >= 5
    assert {time % 60 for time in cron.times} == set(wanted)


@given(st.text(max_size=40))
def test_no_text_breaks_the_reading(text: str) -> None:
    try:
        assert read_cron(text).weekdays <= EVERY_WEEKDAY
    except ScheduleFault as fault:
        assert str(fault)  # noqa: PT017 - any fault will do, another error would not
