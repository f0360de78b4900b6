from __future__ import annotations

from dataclasses import dataclass, field

from proctor_contracts.enums import Provider
from proctor_llm.calls import TryRecord
from proctor_llm.metering import counting


@dataclass
class Noted:
    seen: list[tuple[float, dict[str, str]]] = field(default_factory=list)

    def add(self, amount: float = 1, **labels: str) -> None:
        self.seen.append((amount, labels))


def test_every_try_is_counted_and_its_cost_where_it_is_known() -> None:
    calls, cost = Noted(), Noted()
    meter = counting(calls=calls, cost_micro_usd=cost)
    for outcome, micro in (("stop", 120), ("rate_limited", None), ("stop", 0)):
        meter(TryRecord(Provider.GROQ, "m", outcome, 0.1, None, micro))
    assert [labels["outcome"] for _, labels in calls.seen] == ["stop", "rate_limited", "stop"]
    assert cost.seen == [(120, {"provider": "groq"})]
