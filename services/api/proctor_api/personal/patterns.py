"""What personal data looks like in running text: addresses, phones, cards, accounts and tax numbers.

Every pattern starts at a boundary and counts what it repeats, so that no text makes it slow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["PATTERNS", "Kind", "Pattern", "decimals", "number_kind"]


class Kind(StrEnum):
    """Kinds of personal data, as the placeholders call them."""

    EMAIL = "email"
    IBAN = "iban"
    CARD = "card"
    PHONE = "phone"
    IPN = "ipn"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A look, what proves it, and the form in which two spellings of one datum are equal.

    The datum is the group `it`, or else the whole match.
    """

    kind: Kind
    regex: re.Pattern[str]
    proves: Callable[[str], bool]
    canonical: Callable[[str], str]


def decimals(text: str) -> str:
    """The decimal digits of a text, whatever script writes them."""
    return "".join(str(int(one)) for one in text if one.isdecimal())


def number_kind(number: int) -> Kind | None:
    """Say what a bare JSON number is: a card or a phone; a tax number cannot be told from a moment."""
    text = str(number)
    if _CARD.fullmatch(text) and _is_card(text):
        return Kind.CARD
    return Kind.PHONE if re.fullmatch(r"380[3-9]\d{8}", text) else None


_GAP = r"[\s.\-\u2010-\u2015\u2212\u200b-\u200f\u2060\ufeff]{0,2}"
_SUBSCRIBER = (
    rf"(?:\d{{3}}{_GAP}\d{{2}}{_GAP}\d{{2}}|\d{{2}}{_GAP}\d{{2}}{_GAP}\d{{3}}"
    rf"|\d{{2}}{_GAP}\d{{3}}{_GAP}\d{{2}}|\d{{3}}{_GAP}\d{{4}})"
)
_PHONES = (
    # Ukraine: the operator's or the city's code stands together, which a date with its time does not.
    rf"(?<![\w+])(?<!\w-)(?:\+?38{_GAP}|8{_GAP})?\(?0[3-9]\d\)?{_GAP}{_SUBSCRIBER}(?!\w)",
    rf"(?<![\w+])(?<!\w-)\+?[78]{_GAP}\(?[3489]\d\d\)?{_GAP}{_SUBSCRIBER}(?!\w)",
    r"(?<!\w)\+[1-9](?:[\s.\-()\u2010-\u2015]{0,2}\d){7,14}(?!\w)",
    r"(?<!\w)00[1-9]\d{9,12}(?!\w)",
    r"(?<!\w)\(\d{3}\)[ \u00a0]?\d{3}-\d{4}(?!\w)",
    r"(?<![\w-])\d{3}-\d{3}-\d{4}(?![\w-])",
)
_CARD = re.compile(r"(?<![\w+])\d{13,19}(?!\w)")
_CARDS = (
    # Groups first, with one separator throughout: an expiry date or a code may follow.
    re.compile(r"(?<!\w)\d{4}([\s\-\u2010-\u2015]{1,2})\d{4}\1\d{4}\1\d{4}\1\d{3}(?!\w)"),
    re.compile(r"(?<!\w)\d{4}([\s\-\u2010-\u2015]{1,2})\d{4}\1\d{4}\1\d{4}(?!\w)"),
    re.compile(r"(?<!\w)\d{4}([\s\-\u2010-\u2015]{1,2})\d{6}\1\d{5}(?!\w)"),
    _CARD,
)
_EMAIL = re.compile(
    r"(?<![\w.+%'\-])[\w.+%'\-]{1,64}@(?:[\w\-]{1,63}\.){1,8}[^\W\d_]{2,24}(?![\w\-]|\.[^\W_])"
)
_IBAN = re.compile(
    r"(?<!\w)[A-Za-z]{2}\d{2}(?:[ \u00a0]?[A-Za-z0-9]{4}){2,7}(?:[ \u00a0]?[A-Za-z0-9]{1,3})?(?!\w)"
)
_IPN = re.compile(r"(?<![\w№#])(?<![№#]\s)\d{10}(?!\w)")
_IPN_NAMED = re.compile(
    r"(?:(?<!\w)(?:іпн|інн|ипн|инн|рнокпп|ipn|inn|tin)|ідентифікаційн\w{2,3} (?:код|номер)\w{0,2})"
    r"\W{0,6}(?P<it>\d{10})(?!\w)",
    re.IGNORECASE,
)
_IPN_WEIGHTS = (-1, 5, 7, 9, 4, 6, 10, 5, 7)
_LAST_BIRTHDAY = 54_788
"""The first five digits count days from 1899-12-31; these are those of the year 2050."""


def _is_card(text: str) -> bool:
    digits = decimals(text)
    if digits[0] not in "234569":
        return False
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value  # noqa: PLR2004 - as Luhn adds the digits of a product
    return total % 10 == 0


def _is_iban(text: str) -> bool:
    plain = _account(text)
    return int("".join(str(int(one, 36)) for one in plain[4:] + plain[:4])) % 97 == 1


def _account(text: str) -> str:
    return "".join(text.split()).upper()


def _is_ipn(text: str) -> bool:
    digits = [int(one) for one in decimals(text)]
    if not 0 < int("".join(map(str, digits[:5]))) <= _LAST_BIRTHDAY:
        return False
    check = sum(weight * digit for weight, digit in zip(_IPN_WEIGHTS, digits, strict=False)) % 11 % 10
    return check == digits[9]


def _phone(text: str) -> str:
    digits = decimals(text)
    home = re.fullmatch(r"(?:00)?(?:380|80|0)(\d{9})", digits)
    return home[1] if home else digits.removeprefix("00")


def _anything(_text: str) -> bool:
    return True


def _patterns() -> Iterator[Pattern]:
    yield Pattern(Kind.EMAIL, _EMAIL, _anything, str.casefold)
    yield Pattern(Kind.IBAN, _IBAN, _is_iban, _account)
    for card in _CARDS:
        yield Pattern(Kind.CARD, card, _is_card, decimals)
    yield Pattern(Kind.IPN, _IPN_NAMED, _anything, decimals)
    for phone in _PHONES:
        yield Pattern(Kind.PHONE, re.compile(phone), _anything, _phone)
    yield Pattern(Kind.IPN, _IPN, _is_ipn, decimals)


PATTERNS = tuple(_patterns())
"""What to look for, in this order: an earlier one leaves nothing of what it found to a later one."""
