from __future__ import annotations

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_chassis.egress import Allowed, Operator, PublicOnly, Refused, Rules, decide, parse_target
from proctor_chassis.egress.policy import Address, Refusal

PUBLIC = "93.184.216.34"


def verdict(rules: Rules, url: str, *addresses: str) -> Allowed | Refused:
    target = parse_target(url)
    if isinstance(target, Refused):
        return target
    return decide(rules, target, tuple(ip_address(one) for one in addresses) or None)


def code(rules: Rules, url: str, *addresses: str) -> str | None:
    found = verdict(rules, url, *addresses)
    return found.code if isinstance(found, Refused) else None


@pytest.mark.parametrize(
    "url",
    [
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:a9fe:a9fe]/",
        "http://[::ffff:93.184.216.34]/",
        "http://[::]/",
        "http://[::1]/",
        "http://0.0.0.0/",
        "http://[fe80::1%25eth0]/",
        "http://[fe80::1]/",
        "http://169.254.169.254/",
        "http://100.64.0.1/",
        "http://10.0.0.1/",
        "http://172.16.0.1/",
        "http://192.168.1.1/",
        "http://192.0.0.8/",
        "http://192.88.99.1/",
        "http://198.18.0.1/",
        "http://203.0.113.7/",
        "http://224.0.0.1/",
        "http://240.0.0.1/",
        "http://255.255.255.255/",
        "http://[64:ff9b::7f00:1]/",
        "http://[64:ff9b::5db8:d822]/",
        "http://[64:ff9b:1::1]/",
        "http://[2002:7f00:1::]/",
        "http://[2002:5db8:d822::1]/",
        "http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
        "http://[2001:db8::1]/",
        "http://[fc00::1]/",
        "http://[fd00:ec2::254]/",
        "http://[ff02::1]/",
        "http://[::7f00:1]/",
    ],
)
def test_addresses_that_are_not_public_are_refused_when_a_user_types_them(url: str) -> None:
    assert code(PublicOnly(), url) in {Refusal.NOT_PUBLIC, Refusal.BAD_URL}


@pytest.mark.parametrize(
    "url",
    [
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://0/",
        "http://0x7f.1/",
        "http://134744072/",
        "http://①②⑦.0.0.1/",
        "http://169.254.169.254./",
        "http://LOCALHOST/",
        "http://localhost./",
        "http://printer.local/",
        "http://metadata.google.internal/",
    ],
)
def test_hosts_that_are_numbers_or_local_names_are_refused_before_resolution(url: str) -> None:
    assert code(PublicOnly(), url) in {Refusal.AMBIGUOUS_HOST, Refusal.NOT_PUBLIC, Refusal.BAD_URL}


@pytest.mark.parametrize(
    ("url", "refusal"),
    [
        ("http://hooks.example@127.0.0.1/", Refusal.CREDENTIALS),
        ("http://127.0.0.1:80@hooks.example/", Refusal.CREDENTIALS),
        ("http://@hooks.example/", Refusal.CREDENTIALS),
        ("http://hooks.example\\@127.0.0.1/", Refusal.BAD_URL),
        ("http://exa\tmple.com/", Refusal.BAD_URL),
        ("http://exa\nmple.com/", Refusal.BAD_URL),
        (" http://example.com/", Refusal.BAD_URL),
        ("http://exam\u00a0ple.com/", Refusal.BAD_URL),
        ("http://example.com/\ud800", Refusal.BAD_URL),
        ("ftp://example.com/", Refusal.BAD_SCHEME),
        ("file:///etc/hostname", Refusal.BAD_SCHEME),
        ("gopher://example.com/", Refusal.BAD_SCHEME),
        ("//hooks.example/", Refusal.BAD_SCHEME),
        ("hooks.example/path", Refusal.BAD_SCHEME),
        ("", Refusal.BAD_SCHEME),
        ("http:///path", Refusal.BAD_URL),
        ("https://hooks.example:0/", Refusal.BAD_URL),
        ("https://hooks.example:99999/", Refusal.BAD_URL),
        ("https://hooks.example:port/", Refusal.BAD_URL),
        ("https://-bad-.example/", Refusal.BAD_URL),
        ("https://a..example/", Refusal.BAD_URL),
        ("https://" + "a" * 64 + ".example/", Refusal.BAD_URL),
    ],
)
@pytest.mark.parametrize("rules", [PublicOnly(), Operator(loopback=True)])
def test_urls_that_two_parsers_may_read_differently_are_refused_by_both_rule_sets(
    url: str, refusal: Refusal, rules: Rules
) -> None:
    assert code(rules, url) == refusal


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://приклад.укр/hook?a=1", "xn--80aikifvh.xn--j1amh"),
        ("https://Hooks.Example./x", "hooks.example"),
        ("https://hooks.example:8443/", "hooks.example"),
    ],
)
def test_ordinary_and_international_names_are_read(url: str, host: str) -> None:
    target = parse_target(url)
    assert not isinstance(target, Refused)
    assert target.host == host
    assert isinstance(decide(PublicOnly(), target, (ip_address(PUBLIC),)), Allowed)


def test_a_public_address_is_allowed_and_is_the_one_to_connect_to() -> None:
    assert verdict(PublicOnly(), "https://hooks.example/", PUBLIC) == Allowed((ip_address(PUBLIC),))
    assert verdict(PublicOnly(), f"https://{PUBLIC}/") == Allowed((ip_address(PUBLIC),))
    assert code(PublicOnly(), "https://[2606:2800:220:1:248:1893:25c8:1946]/") is None


@pytest.mark.parametrize("other", ["127.0.0.1", "10.1.2.3", "::1", "::ffff:10.0.0.1", "64:ff9b::a00:1"])
def test_one_private_address_in_a_mixed_answer_refuses_the_whole_name(other: str) -> None:
    assert code(PublicOnly(), "https://hooks.example/", PUBLIC, other) == Refusal.NOT_PUBLIC
    assert code(PublicOnly(), "https://hooks.example/", other, PUBLIC) == Refusal.NOT_PUBLIC


def test_a_name_without_an_address_is_refused() -> None:
    target = parse_target("https://hooks.example/")
    assert not isinstance(target, Refused)
    found = decide(PublicOnly(), target, ())
    assert isinstance(found, Refused)
    assert found.code is Refusal.UNRESOLVED


def test_the_operator_rule_set_allows_only_what_is_listed() -> None:
    rules = Operator().allowing(
        "bot.example", "10.0.0.0/8", "*.corp.example", "one.example:8080", "192.168.1.5"
    )
    assert code(rules, "http://bot.example:9999/", "10.9.9.9") is None
    assert code(rules, "http://bot.example/", "172.16.0.1") is None
    assert code(rules, "http://a.corp.example/", PUBLIC) is None
    assert code(rules, "http://corp.example/", PUBLIC) == Refusal.NOT_LISTED
    assert code(rules, "http://evilcorp.example/", PUBLIC) == Refusal.NOT_LISTED
    assert code(rules, "http://one.example:8080/", PUBLIC) is None
    assert code(rules, "http://one.example/", PUBLIC) == Refusal.NOT_LISTED
    assert code(rules, "http://10.1.2.3:5000/") is None
    assert code(rules, "http://192.168.1.5/") is None
    assert code(rules, "http://192.168.1.6/") == Refusal.NOT_LISTED
    assert code(rules, "http://other.example/", "10.0.0.7") is None
    assert code(rules, "http://other.example/", "10.0.0.7", PUBLIC) == Refusal.NOT_LISTED


def test_an_operator_refusal_says_what_to_set() -> None:
    found = verdict(Operator(), "http://bot.example/", PUBLIC)
    assert isinstance(found, Refused)
    assert "add bot.example" in found.reason
    assert "PROCTOR_EGRESS_ALLOW" in found.reason


def test_loopback_is_for_the_embedded_mode() -> None:
    for url, *addresses in (
        ("http://127.0.0.1:8900/chat",),
        ("http://[::1]:8900/",),
        ("http://localhost:8900/", "127.0.0.1", "::1"),
        ("http://[::ffff:127.0.0.1]/",),
    ):
        assert code(Operator(loopback=True), url, *addresses) is None
        assert code(Operator(loopback=False), url, *addresses) == Refusal.NOT_LISTED
    assert code(Operator(loopback=True), "http://localhost/", "127.0.0.1", "10.0.0.1") == Refusal.NOT_LISTED


METADATA_AND_KIN = ["169.254.169.254", "::ffff:169.254.169.254", "0.0.0.0", "224.0.0.1", "fe80::1"]  # noqa: S104 - an address to refuse


@pytest.mark.parametrize("address", METADATA_AND_KIN)
def test_a_listed_name_does_not_lead_to_metadata_or_link_local_addresses(address: str) -> None:
    rules = Operator().allowing("bot.example")
    assert code(rules, "http://bot.example/", address) == Refusal.UNSAFE


def test_a_listed_network_is_taken_at_its_word() -> None:
    rules = Operator().allowing("169.254.0.0/16")
    assert code(rules, "http://169.254.169.254/") is None


def test_providers_and_the_core_url_of_the_environment_count_as_listed() -> None:
    environ = {
        "PROCTOR_EGRESS_ALLOW": "bot.example, 10.0.0.0/8",
        "OPENAI_BASE_URL": "http://gateway.example:4000/v1",
        "INTEG_CORE_URL": "http://core.example:3010",
    }
    rules = Operator.from_environ(environ, embedded=False)
    for url in (
        "https://api.anthropic.com/v1/messages",
        "https://api.groq.com/openai/v1/chat/completions",
        "http://gateway.example:4000/v1/chat/completions",
        "http://core.example:3010/hook",
        "http://bot.example/",
    ):
        assert code(rules, url, PUBLIC) is None
    assert code(rules, "https://api.openai.com/v1", PUBLIC) == Refusal.NOT_LISTED
    assert code(rules, "http://core.example/", PUBLIC) == Refusal.NOT_LISTED
    assert code(rules, "http://127.0.0.1/") == Refusal.NOT_LISTED


def test_an_international_name_is_listed_in_either_spelling() -> None:
    for entry in ("приклад.укр", "xn--80aikifvh.xn--j1amh", "ПРИКЛАД.укр."):
        assert code(Operator().allowing(entry), "https://приклад.укр/", PUBLIC) is None


@pytest.mark.parametrize(
    "entry", ["*", "bot.example/path", "http://", "ftp://x/", "bot.example:http", "10.0.0.0/99"]
)
def test_an_entry_that_cannot_be_read_is_named(entry: str) -> None:
    with pytest.raises(ValueError, match=r"is n|has no"):
        Operator().allowing(entry)


addresses: st.SearchStrategy[Address] = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6))


@given(st.lists(addresses, min_size=1, max_size=4))
def test_a_user_typed_target_is_allowed_only_if_every_address_alone_is(found: list[Address]) -> None:
    target = parse_target("https://hooks.example/")
    assert not isinstance(target, Refused)
    together = isinstance(decide(PublicOnly(), target, found), Allowed)
    assert together == all(isinstance(decide(PublicOnly(), target, (one,)), Allowed) for one in found)


@given(addresses)
def test_nothing_is_public_that_the_standard_library_calls_private(address: Address) -> None:
    target = parse_target("https://hooks.example/")
    assert not isinstance(target, Refused)
    if isinstance(decide(PublicOnly(), target, (address,)), Allowed):
        assert address.is_global
        assert not address.is_private
        assert not address.is_multicast
        assert not address.is_link_local


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_and_never_raises(text: str) -> None:
    for url in (text, f"http://{text}", f"https://{text}.example/"):
        found = verdict(PublicOnly(), url, "127.0.0.1")
        if isinstance(found, Allowed):
            # Only a literal public address needs no resolution.
            assert found.addresses[0].is_global
