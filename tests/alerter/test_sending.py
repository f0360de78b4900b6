"""One try over HTTP: what leaves, where it may go, and what each answer is taken for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from ipaddress import ip_address
from typing import Any
from uuid import UUID

import pytest
from standardwebhooks import Webhook as Receiver

from proctor_alerter.retrying import Tried
from proctor_alerter.sending import READ_BYTES, SHOWN_CHARACTERS, Sender
from proctor_alerter.settings import AlerterSettings, Webhook
from proctor_alerter.targets import Source, Target
from proctor_chassis.clock import SystemClock
from proctor_chassis.egress import Operator, PublicOnly, check_url
from proctor_chassis.egress.door import Resolve, system_resolve
from proctor_chassis.egress.policy import Address
from proctor_chassis.secrets import Redactor, Secrets
from proctor_contracts.alerts import WebhookFormat
from proctor_contracts.egress import EgressRefused
from proctor_store.repositories.deliveries import Claimed, DeliveryRecord
from tests.alerter.world import KEY
from tests.support.manual_clock import EPOCH
from tests.support.webhooks import Call, Dripping, HungUp, Never, Raw, WebhookServer

BODY = '{"category": "Мова"}'
WRITTEN = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
DELIVERY = DeliveryRecord(
    id=UUID(int=7), account_id=UUID(int=1), alert_id=UUID(int=2), integration_id=UUID(int=3),
    source="environment", target="", format="json", body=BODY, state="pending", tries=0,
    next_attempt_at=EPOCH, claimed_until=None, created_at=EPOCH, updated_at=EPOCH,
)  # fmt: skip
PUBLIC, LOOPBACK = ip_address("93.184.216.34"), ip_address("127.0.0.1")


@pytest.fixture
async def hooks() -> AsyncIterator[WebhookServer]:
    async with WebhookServer() as server:
        yield server


class Senders:
    """Senders that are closed at the end."""

    def __init__(self) -> None:
        self.made: list[Sender] = []

    def __call__(
        self,
        operators: str | None = None,
        *,
        key: bytes | None = None,
        seconds: float = 5.0,
        resolve: Resolve = system_resolve,
        **environ: str,
    ) -> Sender:
        webhook = None
        if operators is not None:
            rules = Operator().allowing(operators)
            webhook = Webhook(url=operators, format=WebhookFormat.JSON, rules=rules, key=key)
        redactor = Redactor()
        sender = Sender(
            settings=AlerterSettings(webhook=webhook),
            secrets=Secrets(environ=environ, embedded=False, redactor=redactor),
            redactor=redactor,
            clock=SystemClock().now,
            resolve=resolve,
            seconds=seconds,
        )
        self.made.append(sender)
        return sender


@pytest.fixture
async def senders() -> AsyncIterator[Senders]:
    made = Senders()
    yield made
    for sender in made.made:
        await sender.aclose()


def of(sender: Sender, *, source: str = "environment", alerts: Any = None) -> Target | None:
    return sender.target(Claimed(replace(DELIVERY, source=source), alerts))


async def post(sender: Sender) -> Tried:
    return await sender.send(DELIVERY, of(sender))


async def typed(sender: Sender, url: str, secret: str | None = None) -> Tried:
    return await sender.send(DELIVERY, Target(Source.INTEGRATION, url, WebhookFormat.JSON, secret))


async def test_the_bytes_of_the_row_leave_signed_and_named(hooks: WebhookServer, senders: Senders) -> None:
    raw: list[bytes] = []

    def answer(call: Call) -> Any:
        raw.append(call.raw)
        return Raw(b"thanks")

    hooks.answers["/a"] = answer
    tried = await post(senders(f"{hooks.url}/a", key=KEY))
    assert tried == Tried(status=200, detail="thanks")
    (call,) = hooks.calls
    assert raw == [BODY.encode()]
    assert call.method == "POST"
    assert call.headers["content-type"] == "application/json; charset=utf-8"
    assert call.headers["webhook-id"] == str(DELIVERY.id)
    assert Receiver(WRITTEN).verify(raw[0], dict(call.headers)) == {"category": "Мова"}


@pytest.mark.parametrize("status", [204, 301, 400, 410, 429, 500])
async def test_any_status_is_the_answer(hooks: WebhookServer, senders: Senders, status: int) -> None:
    headers = {"Location": f"{hooks.url}/elsewhere", "Retry-After": "7"}
    hooks.answers["/a"] = Raw(b"", status=status, headers=headers)
    tried = await post(senders(f"{hooks.url}/a"))
    assert (tried.status, tried.error, tried.retry_after) == (status, None, 7)
    assert [call.path for call in hooks.calls] == ["/a"]


async def test_a_redirect_to_a_private_address_is_not_followed(
    hooks: WebhookServer, senders: Senders
) -> None:
    hooks.answers["/a"] = Raw(b"", status=302, headers={"Location": "http://169.254.169.254/latest"})
    tried = await post(senders(f"{hooks.url}/a"))
    assert tried.status == 302
    assert "redirects are not followed" in (tried.detail or "")


@pytest.mark.parametrize(("answer", "error"), [(Never(), "timeout"), (HungUp(), "connection_broken")])
async def test_no_answer_has_a_reason(
    hooks: WebhookServer, senders: Senders, answer: Any, error: str
) -> None:
    hooks.answers["/a"] = answer
    tried = await post(senders(f"{hooks.url}/a", seconds=0.2))
    assert (tried.status, tried.error) == (None, error)


async def test_nobody_there_is_unreachable(senders: Senders) -> None:
    tried = await post(senders("http://127.0.0.1:1/a"))
    assert (tried.status, tried.error) == (None, "unreachable")


async def test_a_certificate_that_nobody_vouches_for_is_refused(senders: Senders) -> None:
    async with WebhookServer(tls=True) as hooks:
        tried = await post(senders(f"{hooks.url}/a"))
        assert (tried.status, tried.error) == (None, "tls_failed")
        assert hooks.calls == []


async def test_an_answer_that_never_ends_or_is_too_long_is_still_an_answer(
    hooks: WebhookServer, senders: Senders
) -> None:
    hooks.answers["/drip"] = Dripping()
    assert (await post(senders(f"{hooks.url}/drip", seconds=0.2))).status == 200
    hooks.answers["/long"] = Raw("я\x00".encode() * READ_BYTES * 100, status=500)
    tried = await post(senders(f"{hooks.url}/long"))
    assert tried.status == 500
    assert tried.detail is not None
    assert len(tried.detail) == SHOWN_CHARACTERS
    assert "\x00" not in tried.detail


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 abc\r\n\r\n", b"HTTP/1.1 200 OK\r\nA B: c\r\n\r\n", b"HTTP/1.1 500 Oh\r\n\r\n"]
)
async def test_what_went_wrong_is_kept_without_the_address(senders: Senders, answer: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.readuntil(BODY.encode())
        writer.write(answer + asked)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1") as server:
        port = server.sockets[0].getsockname()[1]
        tried = await post(senders(f"http://127.0.0.1:{port}/h/T0KENT0KEN?k=hush-hush"))
    assert tried.detail
    assert "***" in tried.detail
    assert "T0KEN" not in tried.detail
    assert "hush" not in tried.detail


async def test_an_answer_that_repeats_a_secret_is_kept_without_it(
    hooks: WebhookServer, senders: Senders
) -> None:
    hooks.answers["/a"] = Raw(b"your token is hunter2-hunter2", status=401)
    tried = await post(senders(f"{hooks.url}/a", PROCTOR_SECRET_TOKEN="hunter2-hunter2"))
    assert tried.detail == "your token is [secret:TOKEN]"


W_01 = [
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://[::]/",
    "http://0.0.0.0/",
    "http://[fe80::1%25eth0]/",
    "http://169.254.169.254/",
]
W_03 = [
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0177.0.0.1/",
    "http://127.1/",
    "http://0/",
    "http://①②⑦.0.0.1/",
    "http://169.254.169.254./",
    "http://LOCALHOST/",
    "http://localhost./",
]
W_06 = [
    "http://hooks.example@127.0.0.1/",
    "http://127.0.0.1:80@hooks.example/",
    "http://hooks.example\\@127.0.0.1/",
    "http://exa\tmple.com/",
    "ftp://hooks.example/",
    "file:///etc/hostname",
    "//hooks.example/",
    "https://hooks.example:0/",
]


@pytest.mark.parametrize("url", [*W_01, *W_03, *W_06])
async def test_an_address_that_may_not_be_saved_may_not_be_sent_to_either(senders: Senders, url: str) -> None:
    with pytest.raises(EgressRefused) as refused:
        check_url(PublicOnly(), url)
    asked: list[str] = []

    async def resolve(host: str, _port: int) -> tuple[Address, ...]:
        asked.append(host)
        return (PUBLIC,)

    tried = await typed(senders(resolve=resolve), url)
    assert (tried.status, tried.error) == (None, refused.value.code)
    assert asked == []


async def test_an_international_name_is_sent_to(hooks: WebhookServer, senders: Senders) -> None:
    check_url(PublicOnly(), "https://приклад.укр/")
    asked: list[str] = []

    async def resolve(host: str, _port: int) -> tuple[Address, ...]:
        asked.append(host)
        return (LOOPBACK,)

    port = hooks.url.rpartition(":")[2]
    await typed(senders(resolve=resolve), f"http://приклад.укр:{port}/")
    assert asked == ["xn--80aikifvh.xn--j1amh"]


@pytest.mark.parametrize("answers", [(LOOPBACK,), (PUBLIC, LOOPBACK), (LOOPBACK, PUBLIC)])
async def test_a_name_that_leads_to_a_private_address_is_refused_at_send(
    hooks: WebhookServer, senders: Senders, answers: tuple[Address, ...]
) -> None:
    async def resolve(_host: str, _port: int) -> tuple[Address, ...]:
        return answers

    url = hooks.url.replace("127.0.0.1", "hooks.example")
    check_url(PublicOnly(), url)
    tried = await typed(senders(resolve=resolve), url)
    assert (tried.status, tried.error) == (None, "address_not_public")
    assert hooks.calls == []


async def test_a_name_is_resolved_at_every_try_and_the_checked_address_is_used(
    hooks: WebhookServer, senders: Senders
) -> None:
    answers = [(LOOPBACK,), (ip_address("10.1.2.3"),)]

    async def rebinding(_host: str, _port: int) -> tuple[Address, ...]:
        return answers.pop(0)

    operators = senders(hooks.url.replace("127.0.0.1", "hooks.example") + "/a", resolve=rebinding)
    assert (await post(operators)).status == 200
    assert hooks.calls[0].headers["Host"].startswith("hooks.example:")
    assert answers == [(ip_address("10.1.2.3"),)]


async def test_a_name_without_an_address_may_have_one_later(senders: Senders) -> None:
    async def nothing(_host: str, _port: int) -> tuple[Address, ...]:
        raise OSError(-2, "Name or service not known")

    assert (await typed(senders(resolve=nothing), "https://hooks.example/")).error == "unreachable"


async def test_a_users_secret_is_looked_up_and_a_wrong_one_named(senders: Senders) -> None:
    sender = senders(PROCTOR_SECRET_WEAK="weak")
    missing = await typed(sender, "https://hooks.example/", "OURS")
    assert missing.error == "missing_secret"
    assert "PROCTOR_SECRET_OURS" in (missing.detail or "")
    weak = await typed(sender, "https://hooks.example/", "WEAK")
    assert weak.error == "bad_secret"
    assert "weak" not in (weak.detail or "").replace("WEAK", "")


async def test_a_delivery_goes_where_its_settings_say_now(senders: Senders) -> None:
    sender = senders("https://operator.example/a")
    found = of(sender)
    assert found is not None
    assert found.url == "https://operator.example/a"
    own = {"webhookUrl": "https://own.example/b", "webhookSecret": {"secret": "OURS"}}
    found = of(sender, source="integration", alerts=own)
    assert found is not None
    assert (found.url, found.secret) == ("https://own.example/b", "OURS")
    # Once a user names no address any more, what was for it does not go to the operator.
    assert of(sender, source="integration") is None
    found = of(sender, alerts=own)
    assert found is not None
    assert found.source is Source.ENVIRONMENT
    assert of(senders()) is None
    assert (await sender.send(DELIVERY, None)).error == "no_webhook"
