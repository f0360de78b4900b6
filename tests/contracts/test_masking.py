from __future__ import annotations

import pytest

from proctor_contracts.masking import masked_url, without_address


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://hooks.slack.com/services/T0/B0/xyz", "https://hooks.slack.com/***/***/***/***"),
        ("https://hooks.example/", "https://hooks.example/"),
        ("https://hooks.example", "https://hooks.example"),
        ("https://hooks.example:8443/alerts/v1", "https://hooks.example:8443/alerts/v1"),
        ("https://hooks.example/h?token=abc&x=&flag", "https://hooks.example/h?token=***&x=***&***"),
        ("https://user:pass@hooks.example/h#frag", "https://***@hooks.example/h#***"),
        ("https://discord.com/api/webhooks/123456789012/aB3_x-9aaaa", "https://discord.com/api/webhooks/***/***"),
        ("https://hooks.example/notifications/incoming", "https://hooks.example/notifications/incoming"),
        ("https://hooks.example/qwertyuiopasdfghjklzx", "https://hooks.example/***"),
        ("https://[::1/", "***"),
    ],
)  # fmt: skip
def test_what_may_be_secret_in_an_address_is_not_shown(url: str, shown: str) -> None:
    assert masked_url(url) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("url='https://a.example/h/T0KENT0KEN?k=hush-hush'", "url='https://a.example/h/***?k=***'"),
        ("POST /h/T0KENT0KEN?k=hush-hush HTTP/1.1", "POST /h/***?*** HTTP/1.1"),
        ("hush-hush is not a key", "*** is not a key"),
        ("no such hook", "no such hook"),
    ],
)
def test_a_text_about_an_address_is_shown_without_what_may_be_secret_in_it(text: str, shown: str) -> None:
    assert without_address(text, "https://a.example/h/T0KENT0KEN?k=hush-hush") == shown


def test_a_secret_is_found_in_a_text_however_it_is_written() -> None:
    assert (
        without_address(
            "пароль and %D0%BF%D0%B0%D1%80%D0%BE%D0%BB%D1%8C",
            "https://a.example/?k=%D0%BF%D0%B0%D1%80%D0%BE%D0%BB%D1%8C",
        )
        == "*** and ***"
    )
    assert without_address("a b a", "https://a.example/?k=a&l=b") == "a b a"
    assert without_address("anything", "https://[::1/") == "anything"
