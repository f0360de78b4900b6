"""What a process counts: for Prometheus when its client is installed and asked for, else for nobody."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

__all__ = ["CONTENT_TYPE", "Instrument", "Meters", "PrometheusMeters", "prometheus_meters"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Instrument(Protocol):
    """A counter, gauge or histogram; each understands the call that is its own."""

    def add(self, amount: float = 1, **labels: str) -> None:
        """Count up, or move a gauge."""
        ...

    def set(self, value: float, **labels: str) -> None:
        """Set a gauge."""
        ...

    def observe(self, value: float, **labels: str) -> None:
        """Record one sample of a histogram."""
        ...


class _Nothing:
    """An instrument of a process that nobody scrapes."""

    def add(self, amount: float = 1, **labels: str) -> None:
        """Forget it."""

    def set(self, value: float, **labels: str) -> None:
        """Forget it."""

    def observe(self, value: float, **labels: str) -> None:
        """Forget it."""


_NOTHING = _Nothing()


@dataclass(frozen=True, slots=True, kw_only=True)
class Meters:
    """Every instrument of Proctor; the default ones forget."""

    messages_in: Instrument = _NOTHING
    messages_out: Instrument = _NOTHING
    in_flight: Instrument = _NOTHING
    retried: Instrument = _NOTHING
    dead: Instrument = _NOTHING
    handling_seconds: Instrument = _NOTHING
    model_calls: Instrument = _NOTHING
    cost_micro_usd: Instrument = _NOTHING
    duplicate_cost: Instrument = _NOTHING
    duplicates: Instrument = _NOTHING
    cases: Instrument = _NOTHING
    captures: Instrument = _NOTHING
    captures_refused: Instrument = _NOTHING
    oldest_waiting_seconds: Instrument = _NOTHING
    outbox_rows: Instrument = _NOTHING
    retention_runs: Instrument = _NOTHING
    retention_rows: Instrument = _NOTHING
    retention_exports: Instrument = _NOTHING
    retention_overdue_seconds: Instrument = _NOTHING
    queue_ready: Instrument = _NOTHING
    workers: Instrument = _NOTHING
    schedule_ticks: Instrument = _NOTHING
    schedule_lateness_seconds: Instrument = _NOTHING
    schedules_waiting: Instrument = _NOTHING
    alerts: Instrument = _NOTHING
    deliveries: Instrument = _NOTHING
    oldest_delivery_seconds: Instrument = _NOTHING


@dataclass(frozen=True, slots=True)
class _Kind:
    kind: Literal["counter", "gauge", "histogram"]
    name: str
    help: str
    labels: tuple[str, ...] = ()


_KINDS: Mapping[str, _Kind] = {
    "messages_in": _Kind("counter", "proctor_messages_in", "Messages delivered to a handler", ("queue",)),
    "messages_out": _Kind("counter", "proctor_messages_out", "Messages sent and confirmed", ("key",)),
    "in_flight": _Kind("gauge", "proctor_messages_in_flight", "Handlers running now", ("queue",)),
    "retried": _Kind("counter", "proctor_messages_retried", "Messages sent up the retry ladder", ("queue",)),
    "dead": _Kind("counter", "proctor_messages_dead", "Messages given up", ("queue", "reason")),
    "handling_seconds": _Kind(
        "histogram", "proctor_message_handling_seconds", "Time of one handler call", ("queue",)
    ),
    "model_calls": _Kind(
        "counter", "proctor_model_calls", "Calls of models and bots", ("provider", "outcome")
    ),
    "cost_micro_usd": _Kind("counter", "proctor_cost_micro_usd", "Money spent on models", ("provider",)),
    "duplicate_cost": _Kind(
        "counter", "proctor_duplicate_cost", "Micro-USD reported by duplicates, charged to nobody"
    ),
    "duplicates": _Kind("counter", "proctor_duplicate_results", "Results that were already there"),
    "cases": _Kind("counter", "proctor_cases", "Cases that ended", ("status",)),
    "captures": _Kind("counter", "proctor_captures", "Conversations captured", ("source", "outcome")),
    "captures_refused": _Kind(
        "counter", "proctor_captures_refused", "Captures that were not taken", ("reason",)
    ),
    "oldest_waiting_seconds": _Kind(
        "gauge", "proctor_oldest_waiting_seconds", "Age of the oldest case that waits for a worker"
    ),
    "outbox_rows": _Kind("gauge", "proctor_outbox_rows", "Messages waiting for the broker"),
    "retention_runs": _Kind("counter", "proctor_retention_runs", "Runs deleted in time", ("status",)),
    "retention_rows": _Kind("counter", "proctor_retention_rows", "Rows deleted with them", ("table",)),
    "retention_exports": _Kind(
        "counter", "proctor_retention_exports", "Runs stored before their end", ("outcome",)
    ),
    "retention_overdue_seconds": _Kind(
        "gauge", "proctor_retention_overdue_seconds", "Since when the oldest run should be gone"
    ),
    "queue_ready": _Kind("gauge", "proctor_queue_ready", "Messages ready in a queue", ("queue",)),
    "workers": _Kind("gauge", "proctor_workers", "Workers heard of lately", ("service", "pool")),
    "schedule_ticks": _Kind("counter", "proctor_schedule_ticks", "Planned times decided on", ("outcome",)),
    "schedule_lateness_seconds": _Kind(
        "gauge", "proctor_schedule_lateness_seconds", "How late the last run was asked for"
    ),
    "schedules_waiting": _Kind("gauge", "proctor_schedules_waiting", "Schedules with a run that waits"),
    "alerts": _Kind("counter", "proctor_alerts", "Alerts decided", ("kind", "outcome")),
    "deliveries": _Kind("counter", "proctor_alert_deliveries", "Tries of webhooks", ("outcome",)),
    "oldest_delivery_seconds": _Kind(
        "gauge", "proctor_oldest_delivery_seconds", "Age of the oldest alert that has not arrived yet"
    ),
}
"""What each field of `Meters` is in Prometheus; a counter is shown with `_total` after its name."""


@dataclass(frozen=True, slots=True)
class PrometheusMeters:
    """Meters that are counted, and how to show them."""

    meters: Meters
    expose: Callable[[], bytes]
    registry: CollectorRegistry


def prometheus_meters(constant_labels: Mapping[str, str] | None = None) -> PrometheusMeters | None:
    """Build counting meters in a registry of their own; None when prometheus-client is not installed."""
    try:
        import prometheus_client as prometheus  # noqa: PLC0415 - the embedded runtime does without it
    except ImportError:
        return None
    registry = prometheus.CollectorRegistry()
    prometheus.ProcessCollector(registry=registry)
    kinds = {"counter": prometheus.Counter, "gauge": prometheus.Gauge, "histogram": prometheus.Histogram}
    made: dict[str, Instrument] = {}
    for name, known in _KINDS.items():
        made[name] = _Counted(kinds[known.kind](known.name, known.help, known.labels, registry=registry))
    if constant_labels:
        info = prometheus.Info("proctor_process", "What this process is", registry=registry)
        info.info(dict(constant_labels))
    return PrometheusMeters(Meters(**made), lambda: prometheus.generate_latest(registry), registry)


class _Counted:
    """An instrument on a Prometheus metric; children are kept, since looking them up costs a lock."""

    def __init__(self, metric: object) -> None:
        self._metric = metric
        self._children: dict[tuple[str, ...], object] = {}

    def add(self, amount: float = 1, **labels: str) -> None:
        """Count up, or move a gauge."""
        self._child(labels).inc(amount)  # type: ignore[attr-defined]  # a counter or a gauge, as declared

    def set(self, value: float, **labels: str) -> None:
        """Set a gauge."""
        self._child(labels).set(value)  # type: ignore[attr-defined]  # a gauge, as declared

    def observe(self, value: float, **labels: str) -> None:
        """Record one sample of a histogram."""
        self._child(labels).observe(value)  # type: ignore[attr-defined]  # a histogram, as declared

    def _child(self, labels: Mapping[str, str]) -> object:
        if not labels:
            return self._metric
        key = tuple(labels.values())
        child = self._children.get(key)
        if child is None:
            child = self._children[key] = self._metric.labels(**labels)  # type: ignore[attr-defined]  # has labels
        return child
