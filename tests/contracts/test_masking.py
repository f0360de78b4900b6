from __future__ import annotations

import pytest

from proctor_contracts.masking import masked_url


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
