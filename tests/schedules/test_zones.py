"""Time zones by their names."""

from __future__ import annotations

import subprocess
import sys

import pytest

from proctor_schedules.faults import ScheduleFault
from proctor_schedules.zones import read_zone


@pytest.mark.parametrize("name", ["UTC", "Europe/Kyiv", "Europe/Kiev", "Australia/Lord_Howe", "Etc/GMT-2"])
def test_a_zone_is_found_by_its_name(name: str) -> None:
    assert read_zone(name).key == name


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Europe/Kyyiv", "write Europe/Kyiv"),
        ("europe/kyiv", "Europe/Kyiv"),
        ("Kyiv", "Europe/Kyiv"),
        ("New York", "America/New_York"),
        ("UTC+2", "is an offset"),
        ("+02:00", "is an offset"),
        ("Mars/Phobos", "a name such as Europe/Kyiv"),
        ("../../etc/passwd", "there is no time zone"),
        ("/etc/localtime", "there is no time zone"),
        ("localtime", "there is no time zone"),
        ("Factory", "there is no time zone"),
        ("", "there is no time zone"),
        ("UTC\0", "there is no time zone"),
    ],
)
def test_an_unknown_zone_is_refused_with_those_that_are_near(name: str, hint: str) -> None:
    with pytest.raises(ScheduleFault) as caught:
        read_zone(name)
    assert (caught.value.code, caught.value.field) == ("timezone_unknown", "timezone")
    assert hint in str(caught.value)


def test_a_machine_without_zone_files_has_those_of_the_package() -> None:
    code = "from proctor_schedules.zones import read_zone; print(read_zone('Europe/Kyiv').key)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONTZPATH": ""},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.strip() == "Europe/Kyiv"
