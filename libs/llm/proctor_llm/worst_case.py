"""What calls may cost at most, so that a budget can be reserved before they are made."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING

from .prices import Prices

__all__ = ["MESSAGE_OVERHEAD", "call_cost", "conversation_cost", "tokens_at_most"]

MESSAGE_OVERHEAD = 16
"""Tokens that a provider adds around one message, role marks included; on the safe side."""


def tokens_at_most(text: str) -> int:
    """Bound a text's tokens: byte-level tokenizers never make more tokens than UTF-8 bytes."""
    return (len(text) if text.isascii() else len(text.encode("utf-8", "replace"))) + MESSAGE_OVERHEAD


def call_cost(
    prices: Prices, provider: str, model: str, *, prompt_tokens: int, max_tokens: int
) -> int | None:
    """Bound one call's cost in micro-USD; None when the price is unknown."""
    price = prices.find(provider, model)
    if price is None:
        return None
    # Writing a cache may cost more than plain input, and whether a provider does is not ours to say.
    dearest = max(price.input, price.cache_write)
    exact = prompt_tokens * dearest + max_tokens * price.output
    return int(exact.to_integral_value(rounding=ROUND_CEILING))


def conversation_cost(
    prices: Prices, provider: str, model: str, *, system: str, turns: Sequence[Sequence[str]], max_tokens: int
) -> int | None:
    """Bound a scripted conversation's cost in micro-USD; None when the price is unknown.

    `turns` holds, call by call, the texts that are added to the history before it. Every reply is taken
    to be as long as `max_tokens` allows and to be sent again with each later call.
    """
    prompt = tokens_at_most(system)
    total = 0
    for added in turns:
        prompt += sum(map(tokens_at_most, added))
        cost = call_cost(prices, provider, model, prompt_tokens=prompt, max_tokens=max_tokens)
        if cost is None:
            return None
        total += cost
        prompt += max_tokens + MESSAGE_OVERHEAD
    return total
