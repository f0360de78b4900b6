from __future__ import annotations

import json
from pathlib import Path

import pytest

from proctor_llm.prices import Prices
from proctor_llm.types import Usage

PRICES = Prices.load()


def test_cached_tokens_are_billed_once_and_at_their_own_price() -> None:
    usage = Usage(prompt_tokens=3, cache_write_tokens=12_304, cached_prompt_tokens=0, completion_tokens=550)
    assert PRICES.cost("anthropic", "claude-sonnet-4-5", usage) == 54_399
    usage = Usage(prompt_tokens=5, cache_write_tokens=0, cached_prompt_tokens=10_000, completion_tokens=10)
    assert PRICES.cost("anthropic", "claude-sonnet-4-5", usage) == 3_165


def test_an_unknown_model_costs_an_unknown_amount_not_nothing() -> None:
    assert PRICES.cost("anthropic", "claude-unheard-of", Usage(10, 0, 0, 10)) is None
    assert PRICES.cost("http", "any", Usage(10, 0, 0, 10)) is None
    assert PRICES.cost("anthropic", "claude-sonnet-4-5", None) is None


def test_a_date_in_the_model_name_does_not_matter_but_a_size_does() -> None:
    assert PRICES.find("anthropic", "claude-sonnet-4-5-20250929") == PRICES.find(
        "anthropic", "claude-sonnet-4-5"
    )
    assert PRICES.find("openai", "gpt-4o-2024-11-20") == PRICES.find("openai", "gpt-4o")
    assert PRICES.find("openai", "gpt-4o-mini") != PRICES.find("openai", "gpt-4o")
    assert PRICES.find("openai", "gpt-4o-gigantic") is None


def test_half_a_micro_dollar_rounds_up(tmp_path: Path) -> None:
    file = tmp_path / "prices.json"
    file.write_text(
        json.dumps({"prices": {"http": {"bot": {"input": "0.5", "output": "0.25"}}}}), encoding="utf-8"
    )
    prices = Prices.load(file)
    assert prices.cost("http", "bot", Usage(1, 0, 0, 0)) == 1
    assert prices.cost("http", "bot", Usage(0, 0, 0, 1)) == 0
    assert prices.cost("http", "bot", Usage(5, 0, 0, 0)) == 3


def test_the_users_file_lies_over_the_packaged_one(tmp_path: Path) -> None:
    file = tmp_path / "prices.json"
    table = {
        "anthropic": {"claude-sonnet-4-5": {"input": 1, "output": 2}},
        "openai": {"*": {"input": "0", "output": 0}},
    }
    file.write_text(json.dumps({"date": "2030-01-01", "prices": table}), encoding="utf-8")
    prices = Prices.load(file)
    assert prices.date == "2030-01-01"
    # Without a price of its own a cached token costs what a fresh one does.
    assert prices.cost("anthropic", "claude-sonnet-4-5", Usage(1, 10, 100, 1_000)) == 1 + 10 + 100 + 2_000
    assert prices.cost("openai", "local-llama", Usage(1, 1, 1, 1)) == 0
    assert prices.cost("anthropic", "claude-haiku-4-5", Usage(1, 0, 0, 0)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "not json",
        "[]",
        "{}",
        '{"prices": {"http": {"bot": {"input": 1}}}}',
        '{"prices": {"http": {"bot": {"input": "-1", "output": 1}}}}',
        '{"prices": {"http": {"bot": {"input": "NaN", "output": 1}}}}',
        '{"prices": {"http": {"bot": {"input": "cheap", "output": 1}}}}',
    ],
)
def test_a_price_file_that_cannot_be_read_says_what_is_wrong(tmp_path: Path, text: str) -> None:
    file = tmp_path / "prices.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"price"):
        Prices.load(file)
