"""What tokens cost: one dated table, overridable by the user, money as integer micro-USD."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from importlib import resources
from pathlib import Path

from proctor_contracts.base import Json

from .types import Usage

__all__ = ["Price", "Prices"]

_DATED = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2}|latest)$")
_HIGHEST = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens, which is micro-USD per token."""

    input: Decimal
    cache_write: Decimal
    cache_read: Decimal
    output: Decimal

    def cost(self, usage: Usage) -> int:
        """Price one call's tokens in micro-USD, rounded half up once."""
        exact = (
            usage.prompt_tokens * self.input
            + usage.cache_write_tokens * self.cache_write
            + usage.cached_prompt_tokens * self.cache_read
            + usage.completion_tokens * self.output
        )
        return int(exact.to_integral_value(rounding=ROUND_HALF_UP))


class Prices:
    """Prices by provider and model; an unknown one is None, never 0.

    A model that is not listed is looked up once more without a date at its end (`-20250929`, `-latest`),
    then as the provider's `*`. No other likeness counts: a mini is not its big sister.
    """

    def __init__(self, table: Mapping[str, Mapping[str, Price]], *, date: str) -> None:
        self._table = table
        self.date = date

    def find(self, provider: str, model: str) -> Price | None:
        """Give a model's price, or None when it is unknown."""
        models = self._table.get(provider)
        if models is None:
            return None
        return models.get(model) or models.get(_DATED.sub("", model)) or models.get("*")

    def cost(self, provider: str, model: str, usage: Usage | None) -> int | None:
        """Price one call in micro-USD; None when the price or the usage is unknown."""
        if usage is None or (price := self.find(provider, model)) is None:
            return None
        return price.cost(usage)

    @classmethod
    def load(cls, override: Path | None = None) -> Prices:
        """Read the packaged table and lay the user's file (the same JSON form) over it, model by model.

        Raises:
            ValueError: naming the entry of the user's file that cannot be read.
        """
        packaged = json.loads(
            resources.files(__package__).joinpath("prices.json").read_text(encoding="utf-8")
        )
        table, date = _read(packaged), str(packaged["date"])
        if override is not None:
            try:
                document = json.loads(override.read_text(encoding="utf-8"))
            except (OSError, ValueError) as error:
                raise ValueError(f"cannot read the price file {override}: {error}") from error
            for provider, models in _read(document).items():
                table.setdefault(provider, {}).update(models)
            date = str(document.get("date", date))
        return cls(table, date=date)


def _read(document: Json) -> dict[str, dict[str, Price]]:
    prices = document.get("prices") if isinstance(document, dict) else None
    if not isinstance(prices, dict):
        raise ValueError(  # noqa: TRY004 - a wrong file is one kind of error, whatever is wrong in it
            'a price file is {"date": …, "prices": {provider: {model: {input, output, …}}}}'
        )
    return {
        str(provider): {
            str(model): _price(entry, where=f"{provider}/{model}") for model, entry in models.items()
        }
        for provider, models in prices.items()
    }


def _price(entry: Json, *, where: str) -> Price:
    if not isinstance(entry, dict) or "input" not in entry or "output" not in entry:
        raise ValueError(f"price of {where}: input and output are required, in USD per million tokens")
    plain = _amount(entry["input"], where=f"{where} input")
    return Price(
        input=plain,
        # Without a price of their own, cached tokens cost what fresh ones do: never less than the bill.
        cache_write=_amount(entry.get("cacheWrite", plain), where=f"{where} cacheWrite"),
        cache_read=_amount(entry.get("cacheRead", plain), where=f"{where} cacheRead"),
        output=_amount(entry["output"], where=f"{where} output"),
    )


def _amount(value: Json, *, where: str) -> Decimal:
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        amount = Decimal(-1)
    if not (amount.is_finite() and 0 <= amount <= _HIGHEST):
        raise ValueError(f"price of {where}: {value!r} is not an amount in USD per million tokens")
    return amount
