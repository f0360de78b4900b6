"""Checkable facts in a text: links, addresses, dates, times, phones, ids, money, percentages, numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from .text import nfc, visible

__all__ = ["Fact", "FactKind", "facts_in", "plain_number"]


class FactKind(StrEnum):
    """What kind of thing a fact is."""

    URL = "url"
    EMAIL = "email"
    DATE = "date"
    TIME = "time"
    PHONE = "phone"
    ID = "id"
    MONEY = "money"
    PERCENT = "percent"
    NUMBER = "number"


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact as written, where, and every normalised value that it may stand for.

    `1,200` may be 1200 or 1.2; it is supported when either is.
    """

    kind: FactKind
    text: str
    start: int
    values: tuple[str, ...]
    currency: str | None = None


_CURRENCY = {
    "UAH": ("₴", "грн", "грн.", "гривня", "гривні", "гривень", "гривень.", "uah", "hryvnia", "hryvnias"),
    "USD": ("$", "usd", "дол", "дол.", "долар", "долари", "доларів", "dollar", "dollars"),
    "EUR": ("€", "eur", "євро", "евро", "euro", "euros"),
    "GBP": ("£", "gbp", "фунт", "фунти", "фунтів", "pound", "pounds"),
    "PLN": ("zł", "pln", "злотий", "злоті", "злотих"),
    "RUB": ("₽", "руб", "руб.", "рублей", "рубля", "рубль", "rub"),  # noqa: RUF001 - Cyrillic on purpose
}
_CODE_OF = {name: code for code, names in _CURRENCY.items() for name in names}
_MONTHS = (
    "січень січня січ январь января january jan",
    "лютий лютого лют февраль февраля february feb",
    "березень березня бер март марта march mar",  # noqa: RUF001 - Cyrillic on purpose
    "квітень квітня квіт апрель апреля april apr",
    "травень травня трав май мая may",
    "червень червня черв июнь июня june jun",
    "липень липня лип июль июля july jul",
    "серпень серпня серп август августа august aug",
    "вересень вересня вер сентябрь сентября september sept sep",
    "жовтень жовтня жовт октябрь октября october oct",
    "листопад листопада лист ноябрь ноября november nov",
    "грудень грудня груд декабрь декабря december dec",
)
_MONTH_OF = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}

_TIMES = {
    3: ("тис", "тисяча", "тисячі", "тисячу", "тисяч", "thousand"),
    6: ("млн", "мільйон", "мільйона", "мільйони", "мільйонів", "million", "миллион", "миллионов"),
    9: ("млрд", "мільярд", "мільярда", "мільярди", "мільярдів", "billion", "bn"),
}
_SHORT_TIMES = {"k": 3, "к": 3, "m": 6, "м": 6}
_POWER_OF = {name: power for power, names in _TIMES.items() for name in names} | _SHORT_TIMES
_UNIT = (
    "шт|од|уп|пар|кг|гр|мг|г|т|л|мл|см|мм|м|км|год|хв|сек|с|дн|днів|дні|тиж|міс|років|роки|р"  # noqa: RUF001 - Cyrillic on purpose
    "|гб|тб|мб|вт|квт|мач|kg|mg|g|lbs?|oz|ml|l|cm|mm|m|km|in|ft|hrs?|h|mins?|min|sec|ms|s|days|d|pcs"  # noqa: RUF001 - as above
    "|gb|tb|mb|kb|ghz|mhz|hz|kw|w|v|mah|px|st|nd|rd|th"
)
_ORDINAL = "-(?:го|й|ій|а|я|е|є|ї|ої|му|м|та|те|ти|ма|ша|ше)"  # noqa: RUF001 - as above

_SPACE = "[ \u00a0\u202f\u2009]"
_NUMBER = (
    rf"\d{{1,3}}(?:{_SPACE}\d{{3}}(?!\d)){{1,6}}(?:[.,]\d{{1,20}})?"
    r"|\d{1,3}(?:,\d{3}(?!\d)){1,6}(?:\.\d{1,20})?"
    r"|\d{1,3}(?:\.\d{3}(?!\d)){1,6}(?:,\d{1,20})?"
    r"|\d{1,40}(?:[.,]\d{1,20})?"
)
_ALONE_BEFORE, _ALONE_AFTER = r"(?<![\w.,])", r"(?![\w]|[.,]\d)"
_SYMBOLS = "|".join(sorted((re.escape(name) for name in _CODE_OF), key=len, reverse=True))
_TIMES_WORD = "|".join(sorted((name for names in _TIMES.values() for name in names), key=len, reverse=True))
_MONTH = "|".join(sorted(_MONTH_OF, key=len, reverse=True))


# Every repetition is bounded or entered at its start only, so that a megabyte of repetition stays linear.
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_URL = _pattern(r"\b(?:https?://|www\.)[^\s<>\"«»]+")
_DOMAIN = _pattern(
    r"(?<![\w@.-])(?:[\w-]{1,63}\.){1,4}(?:com|net|org|ua|укр|shop|store|online|site|info|eu|io|app)(?![\w-]|\.\w)"
    r"(?:/[^\s<>\"«»]*)?"
)
_EMAIL = _pattern(r"(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)+")
_ISO_DATE = _pattern(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)")
_DOT_DATE = _pattern(r"(?<![\d.,/])(\d{1,2})[./](\d{1,2})[./](\d{4}|\d{2})(?![\d.,/]\d|\d)")
_DAY = rf"(\d{{1,2}})(?:st|nd|rd|th|{_ORDINAL})?"
_YEAR = rf"(?:,?{_SPACE}{{1,5}}(\d{{4}})(?!\d))?"
_DAY_MONTH = _pattern(rf"(?<![\d.,]){_DAY}{_SPACE}{{1,5}}(?:of{_SPACE}{{1,5}})?({_MONTH})\b\.?{_YEAR}")
_MONTH_DAY = _pattern(rf"\b({_MONTH})\.?{_SPACE}{{1,5}}{_DAY}(?![\w:]){_YEAR}")
_CLOCK = _pattern(r"(?<![\d:.,])(1[0-2]|0?\d)(?::([0-5]\d))?\s?([ap])\.?m\b\.?")
_TIME = _pattern(r"(?<![\d:])([01]?\d|2[0-3]):([0-5]\d)(?::[0-5]\d)?(?![\d:])")
_PHONE = _pattern(
    r"(?<![\w])(?:\+\d[\d\s()\u00a0-]{7,18}\d|\(?0\d{2}\)?[\s-]?\d{3}[\s-]?\d{2}[\s-]?\d{2})(?!\w)"
)
# Cards, parcels and accounts, as people write them: in groups of four.
_GROUPS = _pattern(
    r"(?<![\w-])(?:(?:\d{2}|\d{4})(?:[ -]\d{4}){3}|[a-z]{2}\d{2}(?: \d{4}){3,7}(?: \d{1,6})?)(?!\w|[ -]\d)"
)
_DOTTED = _pattern(r"(?<![\w.])v?(\d{1,9}(?:\.\d{1,9}){2,5})(?!\w|\.\d)")
_ID = _pattern(
    r"(?<![\w-])(?:[#№]\s?(?P<hash>[\w-]*\d[\w-]*)"
    r"|(?P<mixed>(?=[\w-]*\d)(?=[\w-]*[^\W\d_])[^\W_][\w-]{3,}))"
)
_MONEY = _pattern(
    rf"(?P<before>[$€£₴₽]){_SPACE}?(?P<a>{_NUMBER})(?:{_SPACE}?(?P<times>{_TIMES_WORD}|[kкmм])\.?)?(?!\w)"
    rf"|{_ALONE_BEFORE}(?P<b>{_NUMBER}){_SPACE}?(?:(?P<more>{_TIMES_WORD}|[kкmм])\.?{_SPACE}?)?"
    rf"(?P<after>{_SYMBOLS})(?![^\W\d_])"
)
_PERCENT = _pattern(rf"{_ALONE_BEFORE}({_NUMBER}){_SPACE}?(?:%|відсотк\w*|процент\w*|percent\b)")
_PLAIN = _pattern(
    rf"{_ALONE_BEFORE}({_NUMBER})(?:{_SPACE}?({_TIMES_WORD})\.?(?!\w)|(?:{_UNIT}|{_ORDINAL})(?!\w)|{_ALONE_AFTER})"
)
_MEASURED = _pattern(rf"\d+(?:{_UNIT}|{_ORDINAL})")
_THOUSANDS = re.compile(r"\d{1,3}(?:\.\d{3})+")
_NO_FACT = re.compile(
    r"^[ \t]*\d{1,3}[.)](?=\s)|(?<![\w/.])24/7(?![\w/])|(?<!\w)_++|(?<!_)_++(?!\w)|(?<=\d) ?[xх×*] ?(?=\d)",  # noqa: RUF001 - Cyrillic on purpose
    re.MULTILINE,
)
"""List numbers, round the clock, marks of emphasis, and what stands between the sides of a size."""
_SMALL = 10


def facts_in(text: str, *, small: bool = False) -> list[Fact]:
    """Find the facts of a text, in order; list numbers and 24/7 are none, nor bare counts from 0 to 10.

    With `small` these counts are found too.
    """
    rest = _NO_FACT.sub(lambda hit: " " * len(hit[0]), nfc(visible(text)))
    found: list[Fact] = []
    for pattern, read in _READERS:

        def taken(hit: re.Match[str], read: Callable[[re.Match[str]], Fact | None] = read) -> str:
            fact = read(hit)
            if fact is None:
                return hit[0]
            found.append(fact)
            return " " * len(hit[0])

        rest = pattern.sub(taken, rest)
    if not small:
        found = [fact for fact in found if not _is_small(fact)]
    return sorted(found, key=lambda fact: fact.start)


def plain_number(text: str) -> tuple[str, ...]:
    """Normalise a written number: thousands marks out, decimal point, no needless zeros.

    A single mark before exactly three digits is ambiguous, and both readings are returned.
    """
    text = re.sub(_SPACE, "", text)
    marks = [char for char in text if char in ".,"]
    if not marks:
        return (_trimmed(text),)
    if len(set(marks)) == 2:  # noqa: PLR2004 - both marks: the last one is the decimal point
        decimal = marks[-1]
        thousands = "," if decimal == "." else "."
        return (_trimmed(text.replace(thousands, "").replace(decimal, ".")),)
    if len(marks) > 1:
        return (_trimmed(text.replace(marks[0], "")),)
    as_decimal = _trimmed(text.replace(",", "."))
    whole, _, fraction = text.replace(",", ".").partition(".")
    if len(fraction) == 3 and len(whole) <= 3 and whole != "0":  # noqa: PLR2004 - a thousands group
        return (_trimmed(whole + fraction), as_decimal)
    return (as_decimal,)


def _trimmed(number: str) -> str:
    whole, _, fraction = number.partition(".")
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole


def _date(hit: re.Match[str], year: str | None, month: int, day: int) -> Fact | None:
    if not (1 <= month <= 12 and 1 <= day <= 31):  # noqa: PLR2004 - a calendar
        return None
    short = f"{month:02}-{day:02}"
    return Fact(FactKind.DATE, hit[0], hit.start(), (f"{year}-{short}",) if year else (short,))


def _dotted(hit: re.Match[str]) -> Fact | None:
    """Read 13.05.2026, 13.05.26 and 5/13/2026; where both orders are dates, both are possible."""
    first, second, year = int(hit[1]), int(hit[2]), hit[3] if len(hit[3]) > 2 else f"20{hit[3]}"  # noqa: PLR2004 - 13.05.26
    readings = [_date(hit, year, second, first), _date(hit, year, first, second)]
    values = dict.fromkeys(value for reading in readings if reading for value in reading.values)
    return Fact(FactKind.DATE, hit[0], hit.start(), tuple(values)) if values else None


def _clock(hit: re.Match[str]) -> Fact:
    hour = int(hit[1]) % 12 + (12 if hit[3].lower() == "p" else 0)
    return Fact(FactKind.TIME, hit[0], hit.start(), (f"{hour:02}:{hit[2] or '00'}",))


def _money(hit: re.Match[str]) -> Fact:
    sign = (hit["before"] or hit["after"]).lower()
    values = _multiplied(plain_number(hit["a"] or hit["b"]), hit["times"] or hit["more"])
    return Fact(FactKind.MONEY, hit[0], hit.start(), values, _CODE_OF[sign])


def _number(hit: re.Match[str]) -> Fact:
    return Fact(FactKind.NUMBER, hit[0], hit.start(), _multiplied(plain_number(hit[1]), hit[2]))


def _multiplied(values: tuple[str, ...], times: str | None) -> tuple[str, ...]:
    """Apply a word such as `тис` to a number: 1.5 тис is 1500."""
    if times is None:
        return values
    power = _POWER_OF[times.lower()]
    return tuple(_trimmed(format(Decimal(value).scaleb(power), "f")) for value in values)


def _is_small(fact: Fact) -> bool:
    value = fact.values[0]
    return fact.kind is FactKind.NUMBER and value.isdigit() and int(value) <= _SMALL


def _dotted_id(hit: re.Match[str]) -> Fact | None:
    if _THOUSANDS.fullmatch(hit[1]):
        return None
    return Fact(FactKind.ID, hit[0], hit.start(), (hit[1],))


def _grouped(hit: re.Match[str]) -> Fact:
    return Fact(FactKind.ID, hit[0], hit.start(), (re.sub(r"[ -]", "", hit[0]).upper(),))


def _link(hit: re.Match[str]) -> Fact:
    text = hit[0].rstrip(".,;:!?)]}'\u2019")
    value = re.sub(r"^https?://|^www\.", "", text.lower())
    return Fact(FactKind.URL, text, hit.start(), (value.removeprefix("www.").rstrip("/"),))


def _identifier(hit: re.Match[str]) -> Fact | None:
    if hit["mixed"] and _MEASURED.fullmatch(hit["mixed"]):
        return None
    return Fact(FactKind.ID, hit[0], hit.start(), ((hit["hash"] or hit["mixed"]).strip("-").upper(),))


_READERS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Fact | None]], ...] = (
    (_URL, _link),
    (_EMAIL, lambda hit: Fact(FactKind.EMAIL, hit[0], hit.start(), (hit[0].lower(),))),
    (_DOMAIN, _link),
    (_ISO_DATE, lambda hit: _date(hit, hit[1], int(hit[2]), int(hit[3]))),
    (_DOT_DATE, _dotted),
    (_DAY_MONTH, lambda hit: _date(hit, hit[3], _MONTH_OF[hit[2].lower()], int(hit[1]))),
    (_MONTH_DAY, lambda hit: _date(hit, hit[3], _MONTH_OF[hit[1].lower()], int(hit[2]))),
    (_CLOCK, _clock),
    (_TIME, lambda hit: Fact(FactKind.TIME, hit[0], hit.start(), (f"{int(hit[1]):02}:{hit[2]}",))),
    (_GROUPS, _grouped),
    (_PHONE, lambda hit: Fact(FactKind.PHONE, hit[0], hit.start(), (re.sub(r"\D", "", hit[0]),))),
    (_MONEY, _money),
    (_PERCENT, lambda hit: Fact(FactKind.PERCENT, hit[0], hit.start(), plain_number(hit[1]))),
    (_DOTTED, _dotted_id),
    (_ID, _identifier),
    (_PLAIN, _number),
)
