from __future__ import annotations

import sys
from dataclasses import fields

import pytest

from proctor_chassis.bus.inprocess import InProcessBus
from proctor_chassis.metrics import Meters, prometheus_meters
from tests.bus.world import Collected, collector, executed, taking


def test_meters_that_nobody_scrapes_forget() -> None:
    meters = Meters()
    for item in fields(meters):
        getattr(meters, item.name).add(1, queue="q")
    assert Meters() == meters


def test_every_meter_is_shown_in_prometheus() -> None:
    counted = prometheus_meters({"service": "runner"})
    assert counted is not None
    shown = counted.expose().decode()
    for name in (
        "proctor_messages_in_total",
        "proctor_messages_out_total",
        "proctor_messages_in_flight",
        "proctor_messages_retried_total",
        "proctor_messages_dead_total",
        "proctor_model_calls_total",
        "proctor_cost_micro_usd_total",
        "proctor_duplicate_cost_total",
        "proctor_oldest_waiting_seconds",
        'proctor_process_info{service="runner"}',
    ):
        assert name.removesuffix("_total") in shown
    assert {type(getattr(counted.meters, item.name)) for item in fields(Meters)} == {
        type(counted.meters.messages_in)
    }


def test_counters_gauges_and_histograms_do_their_own() -> None:
    counted = prometheus_meters()
    assert counted is not None
    meters = counted.meters
    meters.model_calls.add(provider="openai", outcome="ok")
    meters.model_calls.add(2, provider="openai", outcome="ok")
    meters.model_calls.add(provider="openai", outcome="rate_limited")
    meters.oldest_waiting_seconds.set(12.5)
    meters.in_flight.add(3, queue="q")
    meters.in_flight.add(-1, queue="q")
    meters.handling_seconds.observe(0.2, queue="q")
    text = counted.expose().decode()
    assert 'proctor_model_calls_total{outcome="ok",provider="openai"} 3.0' in text
    assert 'proctor_model_calls_total{outcome="rate_limited",provider="openai"} 1.0' in text
    assert "proctor_oldest_waiting_seconds 12.5" in text
    assert 'proctor_messages_in_flight{queue="q"} 2.0' in text
    assert 'proctor_message_handling_seconds_count{queue="q"} 1.0' in text


def test_labels_may_come_in_any_order() -> None:
    counted = prometheus_meters()
    assert counted is not None
    counted.meters.model_calls.add(provider="a", outcome="b")
    counted.meters.model_calls.add(outcome="b", provider="a")
    assert 'proctor_model_calls_total{outcome="b",provider="a"} 2.0' in counted.expose().decode()


def test_without_the_client_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    assert prometheus_meters() is None


async def test_the_bus_counts_what_it_carries() -> None:
    counted = prometheus_meters()
    assert counted is not None
    bus, got = InProcessBus(meters=counted.meters), Collected()
    await bus.start([collector(taking(got))])
    await bus.publish(executed(1))
    await bus.publish_raw(
        exchange="proctor.events", key="case.executed", body=b"{", message_id="bad", correlation="run"
    )
    await got.first(1)
    await bus.stop(grace_seconds=5)
    text = counted.expose().decode()
    assert 'proctor_messages_out_total{key="case.executed"} 2.0' in text
    assert 'proctor_messages_in_total{queue="proctor.collector.results"} 2.0' in text
    assert 'proctor_messages_dead_total{queue="proctor.collector.results",reason="undecodable"} 1.0' in text
    assert 'proctor_messages_in_flight{queue="proctor.collector.results"} 0.0' in text
