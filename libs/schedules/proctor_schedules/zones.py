"""Time zones by name, from the system's files or, where there are none, from the `tzdata` package."""

from __future__ import annotations

import difflib
import re
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from .faults import ZONE, ScheduleFault

__all__ = ["forget_zones", "read_zone"]

_OFFSET = re.compile(r"(UTC|GMT|Z)?[+-]?[0-9]{1,2}(:?[0-9]{2})?")
# Names of files beside the zones, which mean another zone on every machine, or none.
_NO_ZONES = frozenset({"Factory", "localtime"})


def read_zone(name: str) -> ZoneInfo:
    """Find a time zone of the IANA data by its exact name.

    Raises:
        ScheduleFault: when there is none, naming those that are spelled alike.
    """
    if name not in _known():
        raise ScheduleFault("timezone_unknown", _unknown(name), field=ZONE)
    return ZoneInfo(name)


def forget_zones() -> None:
    """Read the files of time zones anew from now on: they may have been changed since this process began."""
    ZoneInfo.clear_cache()
    _known.cache_clear()


@lru_cache(maxsize=1)
def _known() -> frozenset[str]:
    return frozenset(available_timezones()) - _NO_ZONES


def _unknown(name: str) -> str:
    if _OFFSET.fullmatch(name.upper()):
        return f"{name!r} is an offset, which changes with the season; name a place, such as Europe/Kyiv"
    folded = {zone.casefold(): zone for zone in sorted(_known())}
    wanted = name.casefold().replace(" ", "_")
    near = difflib.get_close_matches(wanted, folded, n=3, cutoff=0.75)
    near += [one for one in folded if one.rpartition("/")[2] == wanted and one not in near]
    cure = " or ".join(folded[one] for one in near[:3]) if near else "a name such as Europe/Kyiv"
    return f"there is no time zone {name!r}; write {cure}"
