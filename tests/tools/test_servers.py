from __future__ import annotations

from urllib.parse import urlsplit

import aio_pika
import asyncpg
import pytest

from tests.support.servers import (
    Retired,
    abandoned_vhosts,
    broker_queues,
    fresh_amqp,
    fresh_database,
    restart_broker,
    restart_database,
)
from tools.servers.choose import ensure
from tools.servers.model import Servers
from tools.servers.probe import (
    amqp_answers,
    database_answers,
    free_port,
    plain_dsn,
    queues_can_be_declared,
    url_answers,
)

pytestmark = pytest.mark.real


async def test_a_module_has_an_empty_database_for_itself(database_url: str, servers: Servers) -> None:
    connection = await asyncpg.connect(plain_dsn(database_url))
    try:
        await connection.execute("CREATE TABLE mine (id int)")
        with fresh_database(servers) as other:
            assert other != database_url
            beside = await asyncpg.connect(plain_dsn(other))
            tables = await beside.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
            await beside.close()
        assert tables == []
    finally:
        await connection.close()


async def test_a_module_has_a_virtual_host_for_itself(amqp_url: str, servers: Servers) -> None:
    connection = await aio_pika.connect(amqp_url)
    async with connection:
        channel = await connection.channel()
        queue = await channel.declare_queue("only-here", durable=True)
        await channel.default_exchange.publish(aio_pika.Message(b"x"), routing_key=queue.name)
        with fresh_amqp(servers) as other:
            assert broker_queues(servers, other) == {}
        declared = await channel.declare_queue("only-here", durable=True, passive=True)
        assert declared.declaration_result.message_count == 1


def test_asking_again_gives_the_same_servers(servers: Servers) -> None:
    assert ensure() == servers


def test_a_closed_port_and_a_wrong_password_are_no_server(servers: Servers) -> None:
    port = free_port()
    assert not amqp_answers(f"amqp://guest:guest@127.0.0.1:{port}/")
    assert not database_answers(f"postgresql://postgres:postgres@127.0.0.1:{port}/postgres")
    assert not url_answers(f"http://127.0.0.1:{port}/")
    assert not amqp_answers(servers.amqp_url.replace("proctor:", "nobody:", 1))
    assert not database_answers(servers.database_url.replace("proctor:", "nobody:", 1))


async def test_both_servers_come_back_from_a_crash_with_their_data(amqp_url: str, database_url: str) -> None:
    async with await aio_pika.connect(amqp_url) as connection:
        channel = await connection.channel()
        queue = await channel.declare_queue("kept", durable=True)
        lasting = aio_pika.Message(b"x", delivery_mode=aio_pika.DeliveryMode.PERSISTENT)
        await channel.default_exchange.publish(lasting, routing_key=queue.name)
    database = await asyncpg.connect(plain_dsn(database_url))
    await database.execute("CREATE TABLE kept (id int)")
    restart_broker()
    restart_database(kill=True)
    await database.close(timeout=5)
    async with await aio_pika.connect(amqp_url) as connection:
        channel = await connection.channel()
        again = await channel.declare_queue("kept", durable=True, passive=True)
        assert again.declaration_result.message_count == 1
    database = await asyncpg.connect(plain_dsn(database_url))
    assert await database.fetchval("SELECT count(*) FROM kept") == 0
    await database.close()


def test_virtual_hosts_are_not_deleted_while_the_broker_recovers() -> None:
    now = [100.0]
    hosts = Retired(clock=lambda: now[0])
    hosts.retire(["one"])
    assert hosts.due() == ["one"]
    hosts.broker_came_back()
    hosts.retire(["two"])
    now[0] += Retired.SETTLING_SECONDS / 2
    hosts.retire(["three"])
    assert hosts.due() == []
    now[0] += Retired.SETTLING_SECONDS
    assert hosts.due() == ["two", "three"]
    assert hosts.due() == []


def test_virtual_hosts_of_processes_that_are_gone_are_found(servers: Servers, amqp_url: str) -> None:
    mine = urlsplit(amqp_url).path.removeprefix("/")
    with fresh_amqp(servers):
        assert mine not in abandoned_vhosts(servers)


def test_a_broker_that_makes_queues_is_told_from_one_that_cannot(servers: Servers) -> None:
    assert queues_can_be_declared(servers.amqp_url)
    assert not queues_can_be_declared(f"{servers.amqp_url.removesuffix('/')}/no-such-host")
