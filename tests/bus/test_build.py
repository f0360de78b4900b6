from __future__ import annotations

from proctor_chassis.bus.build import bus_from
from proctor_chassis.bus.inprocess import InProcessBus
from proctor_chassis.bus.rabbit import RabbitBus
from proctor_chassis.settings import BusSettings
from proctor_contracts.topology import runner_queue


async def test_without_a_url_the_bus_stays_inside_the_process() -> None:
    bus = bus_from(BusSettings(pools=("gpu",)))
    assert isinstance(bus, InProcessBus)
    assert bus.local
    assert await bus.depth(runner_queue("gpu").name) is not None


async def test_a_url_means_a_broker_that_need_not_be_there_yet() -> None:
    bus = bus_from(BusSettings(amqp_url="amqp://nobody@127.0.0.1:1/"))
    assert isinstance(bus, RabbitBus)
    assert not bus.local
    assert not bus.connected
    await bus.stop(grace_seconds=0)
