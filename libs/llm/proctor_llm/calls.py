"""One call from first try to answer or error: limits, deadline, retries, and a bill that holds every try."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import assert_never

from proctor_contracts.egress import EgressRefused
from proctor_contracts.enums import Blame, Provider

from .door import Surroundings
from .errors import LlmError, LlmErrorCode
from .limits import Limits
from .prices import Prices
from .retry import GiveUp, RetryPolicy, TryAgain, next_wait
from .types import Completion, Usage

__all__ = ["Caller", "Meter", "Tally", "TryRecord"]


@dataclass(slots=True)
class Tally:
    """What one try has used so far; an adapter writes it as it learns it, so a broken try is billed too."""

    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class TryRecord:
    """One try, for metrics: `outcome` is a finish or an error code, `seconds` its own time."""

    provider: Provider
    model: str
    outcome: str
    seconds: float
    usage: Usage | None
    cost_micro_usd: int | None


Meter = Callable[[TryRecord], None]


@dataclass(slots=True)
class _Bill:
    """The sum over the tries; `unpriced` once a try used tokens whose price is unknown."""

    usage: Usage | None = None
    cost: int = 0
    priced: bool = False
    unpriced: bool = False

    def add(self, usage: Usage | None, cost: int | None) -> None:
        if usage is None:
            return
        self.usage = usage if self.usage is None else self.usage + usage
        if cost is None:
            self.unpriced = True
        else:
            self.cost += cost
            self.priced = True

    @property
    def total(self) -> int | None:
        return self.cost if self.priced and not self.unpriced else None


class Caller:
    """Runs an adapter's tries for one provider."""

    def __init__(
        self,
        *,
        provider: Provider,
        limits: Limits,
        prices: Prices,
        policy: RetryPolicy,
        surroundings: Surroundings,
        meter: Meter | None,
    ) -> None:
        self._provider = provider
        self._limits = limits
        self._prices = prices
        self._policy = policy
        self._surroundings = surroundings
        self._meter = meter
        self._blame = Blame.AGENT if provider is Provider.HTTP else Blame.PROVIDER

    async def call(
        self,
        attempt: Callable[[Tally], Awaitable[Completion]],
        *,
        model: str,
        deadline: float,
        try_seconds: float | None = None,
    ) -> Completion:
        """Try until an answer comes, the error is final, or the deadline (loop time) is reached.

        `try_seconds` bounds one try. A try that hits it is not repeated: the peer may still be at work.

        Raises:
            LlmError: with the usage and cost of every try.
        """
        gate = self._limits.gate(self._provider, model)
        bill = _Bill()
        tries = 0
        while True:
            tries += 1
            tally = Tally()
            started: float | None = None
            try:
                async with asyncio.timeout_at(deadline), gate:
                    started = self._surroundings.monotonic()
                    if try_seconds is None:
                        completion = await attempt(tally)
                    else:
                        async with asyncio.timeout(try_seconds):
                            completion = await attempt(tally)
            except (LlmError, TimeoutError, EgressRefused) as raised:
                error = self._named(raised, started=started)
                self._charge(bill, model, error.code, tally.usage, started)
                await self._wait_or_raise(error, bill, tries=tries, deadline=deadline)
            else:
                cost = self._charge(bill, model, completion.finish, completion.usage, started)
                if tries == 1:
                    return (
                        completion if cost is None else dataclasses.replace(completion, cost_micro_usd=cost)
                    )
                return dataclasses.replace(
                    completion, usage=bill.usage, cost_micro_usd=bill.total, tries=tries
                )

    def _named(self, raised: Exception, *, started: float | None) -> LlmError:
        match raised:
            case LlmError():
                return raised
            case EgressRefused():
                return LlmError(
                    LlmErrorCode.REFUSED_BY_EGRESS,
                    f"the egress policy refuses the request: {raised.reason}",
                    blame=Blame.INFRASTRUCTURE,
                )
            case _ if started is None:
                message = (
                    "the time was over before the call could start: other calls hold every place of its limit"
                )
                return LlmError(LlmErrorCode.TIMEOUT, message, blame=Blame.INFRASTRUCTURE)
            case _:
                waited = self._surroundings.monotonic() - started
                message = f"no complete reply within {waited:.1f} s"
                return LlmError(LlmErrorCode.TIMEOUT, message, blame=self._blame)

    def _charge(
        self, bill: _Bill, model: str, outcome: str, usage: Usage | None, started: float | None
    ) -> int | None:
        cost = self._prices.cost(self._provider, model, usage)
        bill.add(usage, cost)
        if self._meter is not None:
            seconds = 0.0 if started is None else self._surroundings.monotonic() - started
            self._meter(TryRecord(self._provider, model, outcome, seconds, usage, cost))
        return cost

    async def _wait_or_raise(self, error: LlmError, bill: _Bill, *, tries: int, deadline: float) -> None:
        decision = next_wait(
            error,
            tries,
            now=self._surroundings.monotonic(),
            deadline=deadline,
            policy=self._policy,
            rng=self._surroundings.rng,
        )
        match decision:
            case TryAgain(seconds=seconds):
                await self._surroundings.sleep(seconds)
            case GiveUp(code=code, message=message):
                final = LlmError(code or error.code, message or error.message, blame=error.blame)
                final.retry_after = error.retry_after
                final.usage, final.cost_micro_usd, final.tries = bill.usage, bill.total, tries
                raise final from error
            case _:
                assert_never(decision)
