"""The event side as an AsyncAPI document: FastStream writes it from the topology and the messages.

What is served is the file beside the contracts (`asyncapi.json`), so that a process without the broker's
client can serve it; a test compares the two.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from faststream.rabbit import ExchangeType, RabbitBroker, RabbitExchange, RabbitQueue
from faststream.specification import AsyncAPI

from proctor_contracts.messages import (
    CaptureRecorded,
    CaseExecuted,
    CaseJudged,
    CaseRequested,
    JudgeRequested,
    Message,
    RegressionDetected,
    RunCompleted,
    ScheduleFired,
)
from proctor_contracts.topology import DEAD, Binding, Queue, case_key, work_queues

__all__ = ["document", "model_of"]

_MODELS: Mapping[str, type[Message]] = {
    "judge.requested": JudgeRequested,
    "case.executed": CaseExecuted,
    "case.judged": CaseJudged,
    "capture.recorded": CaptureRecorded,
    "run.completed": RunCompleted,
    "schedule.fired": ScheduleFired,
    "regression.detected": RegressionDetected,
}


def model_of(key: str) -> type[Message]:
    """Say what travels under a routing key."""
    return CaseRequested if key.startswith(case_key("")) else _MODELS[key]


def document() -> str:
    """Write the AsyncAPI 3.0 document of everything that is queued, as JSON."""
    broker = RabbitBroker()
    for queue in work_queues():
        for binding in queue.bindings:
            if binding.exchange != DEAD:
                _describe(broker, queue, binding)
    title = "Proctor's messages"
    found = AsyncAPI(broker, title=title, version="1", schema_version="3.0.0").to_specification().to_json()
    return json.dumps(json.loads(found), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _describe(broker: RabbitBroker, queue: Queue, binding: Binding) -> None:
    model = model_of(binding.key)

    async def handler(message: Message) -> None:
        """Stand for whoever consumes this queue; only its signature is read."""

    handler.__annotations__ = {"message": model, "return": None}
    broker.subscriber(
        RabbitQueue(queue.name, routing_key=binding.key),
        RabbitExchange(binding.exchange.name, type=ExchangeType(binding.exchange.kind)),
        title=f"{queue.name} from {binding.key}",
        description=" ".join((model.__doc__ or "").split()),
    )(handler)
