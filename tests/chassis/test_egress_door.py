from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator
from ipaddress import ip_address

import aiohttp
import pytest

from proctor_chassis.egress import Operator, PublicOnly, check_url
from proctor_chassis.egress.door import OutgoingDoor, own_resolve, system_resolve
from proctor_chassis.egress.fetch import AnswerTooLargeError, fetch
from proctor_chassis.egress.policy import Address
from proctor_contracts.egress import EgressRefused
from tests.support.stub_provider import Drip, Raw, Say, StubProvider

LOOPBACK = ip_address("127.0.0.1")
PUBLIC = ip_address("93.184.216.34")


class Answers:
    """A resolver that gives its answers one after another, the last one for ever."""

    def __init__(self, *answers: tuple[Address, ...]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, _port: int) -> tuple[Address, ...]:
        self.asked.append(host)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@pytest.fixture
async def stub() -> AsyncIterator[StubProvider]:
    async with StubProvider() as provider:
        yield provider


async def get(door: OutgoingDoor, url: str) -> str:
    async with door.request("POST", url, data=b"{}") as response:
        return await response.text()


async def test_the_checked_address_is_the_one_connected_to(stub: StubProvider) -> None:
    resolve = Answers((LOOPBACK,), (ip_address("10.255.255.1"),))
    door = OutgoingDoor(rules=Operator(loopback=True), resolve=resolve, dns_ttl_seconds=0)
    url = stub.bot_url.replace("127.0.0.1", "bot.example")
    assert "You said" in await get(door, url)
    assert resolve.asked == ["bot.example"]
    assert stub.requests[0].headers["Host"].startswith("bot.example:")
    await door.aclose()


async def test_a_second_answer_with_a_private_address_is_refused_at_connect(stub: StubProvider) -> None:
    resolve = Answers((LOOPBACK,))
    door = OutgoingDoor(rules=PublicOnly(), resolve=resolve, dns_ttl_seconds=0)
    url = stub.bot_url.replace("127.0.0.1", "hooks.example")
    check_url(PublicOnly(), url)  # nothing in the URL itself gives it away
    with pytest.raises(EgressRefused) as refused:
        await get(door, url)
    assert refused.value.code == "address_not_public"
    assert stub.requests == []
    await door.aclose()


async def test_a_mixed_answer_is_refused_before_anything_is_sent(stub: StubProvider) -> None:
    door = OutgoingDoor(rules=PublicOnly(), resolve=Answers((PUBLIC, LOOPBACK)))
    with pytest.raises(EgressRefused):
        await get(door, stub.bot_url.replace("127.0.0.1", "hooks.example"))
    assert stub.requests == []
    await door.aclose()


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "2130706433", "127.1", "0x7f000001", "[::ffff:127.0.0.1]", "localhost"]
)
async def test_loopback_in_any_spelling_never_leaves_the_public_door(stub: StubProvider, host: str) -> None:
    door = OutgoingDoor(rules=PublicOnly())
    with pytest.raises(EgressRefused):
        await get(door, stub.bot_url.replace("127.0.0.1", host))
    assert stub.requests == []
    await door.aclose()


async def test_a_redirect_is_not_followed(stub: StubProvider) -> None:
    stub.script(Raw(b"", status=302, headers={"Location": "http://169.254.169.254/latest"}))
    door = OutgoingDoor(rules=Operator(loopback=True))
    async with door.request("POST", stub.bot_url, data=b"{}") as response:
        assert response.status == 302
    assert len(stub.requests) == 1
    await door.aclose()


async def test_proxies_of_the_environment_are_not_used(
    stub: StubProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    door = OutgoingDoor(rules=Operator(loopback=True))
    stub.script(Say("direct"))
    assert "direct" in await get(door, stub.bot_url)
    await door.aclose()


async def test_cookies_of_one_conversation_never_reach_another(stub: StubProvider) -> None:
    stub.script(Raw(b"{}", headers={"Set-Cookie": "session=1"}), Say("second"))
    door = OutgoingDoor(rules=Operator(loopback=True))
    await get(door, stub.bot_url)
    await get(door, stub.bot_url)
    assert "Cookie" not in stub.requests[1].headers
    await door.aclose()


async def test_a_name_that_does_not_resolve_is_a_connection_error() -> None:
    async def nothing(_host: str, _port: int) -> tuple[Address, ...]:
        raise OSError(-2, "Name or service not known")

    door = OutgoingDoor(rules=PublicOnly(), resolve=nothing)
    with pytest.raises(aiohttp.ClientConnectionError):
        await get(door, "http://hooks.example/")
    await door.aclose()


async def test_many_requests_share_connections_and_the_door_can_be_closed_twice(stub: StubProvider) -> None:
    door = OutgoingDoor(rules=Operator(loopback=True))
    answers = await asyncio.gather(*(get(door, stub.bot_url) for _ in range(20)))
    assert len(answers) == 20
    await door.aclose()
    await door.aclose()


async def test_the_system_resolver_gives_loopback_for_localhost() -> None:
    found = await system_resolve("localhost", 80)
    assert found
    assert all(one.is_loopback for one in found)


async def test_lookups_that_hang_on_threads_of_their_own_hold_up_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer = threading.Event()

    def hang(*_: object, **__: object) -> list[object]:
        answer.wait(20)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    resolve = own_resolve(threads=4)
    lookups = [asyncio.ensure_future(resolve("slow.example", 443)) for _ in range(100)]
    try:
        async with asyncio.timeout(5):
            assert await asyncio.to_thread(lambda: "done") == "done"
    finally:
        answer.set()
        await asyncio.gather(*lookups)


async def test_many_at_once_to_a_refused_name_are_each_refused(stub: StubProvider) -> None:
    door = OutgoingDoor(rules=PublicOnly(), resolve=Answers((LOOPBACK,)))
    url = stub.bot_url.replace("127.0.0.1", "hooks.example")
    found = await asyncio.gather(*(get(door, url) for _ in range(10)), return_exceptions=True)
    assert [type(one) for one in found] == [EgressRefused] * 10
    await door.aclose()


async def test_what_is_refused_when_saved_names_its_code() -> None:
    for url, code in (("http://127.1/", "ambiguous_host"), ("http://u:p@x.example/", "credentials_in_url")):
        with pytest.raises(EgressRefused) as refused:
            check_url(PublicOnly(), url)
        assert refused.value.code == code


async def test_a_whole_exchange_is_fetched(stub: StubProvider) -> None:
    stub.script(Raw(b"gone", status=410, headers={"X-Why": "moved"}))
    door = OutgoingDoor(rules=Operator(loopback=True))
    answer = await fetch(door, "POST", stub.bot_url, data=b'{"a": 1}', seconds=5, limit=100)
    assert (answer.status, answer.body, answer.headers["X-Why"]) == (410, b"gone", "moved")
    assert stub.requests[0].body == {"a": 1}
    await door.aclose()


async def test_a_drip_is_ended_by_the_time_of_the_whole_exchange(stub: StubProvider) -> None:
    stub.script(Drip())
    door = OutgoingDoor(rules=Operator(loopback=True))
    with pytest.raises(TimeoutError):
        await fetch(door, "POST", stub.bot_url, data=b"{}", seconds=0.1, limit=100_000)
    await stub.left(1)
    await door.aclose()


async def test_a_long_answer_is_not_read_to_the_end(stub: StubProvider) -> None:
    stub.script(Raw(b"x" * 1_000_000))
    door = OutgoingDoor(rules=Operator(loopback=True))
    with pytest.raises(AnswerTooLargeError):
        await fetch(door, "POST", stub.bot_url, data=b"{}", seconds=5, limit=999_999)
    await door.aclose()
