"""What the command does with the database: accounts, keys, migrations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from proctor_api import admin
from proctor_api.auth import Authenticator
from proctor_api.errors import ApiError
from proctor_contracts.enums import KeyKind
from proctor_store.engine import create_engine
from proctor_store.session import Database
from tests.api.conftest import Time


@pytest.fixture
async def url(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'proctor.db'}"
    assert await admin.migrate(url) is True
    assert await admin.migrate(url) is False
    return url


async def test_an_account_is_made_listed_and_limited(url: str) -> None:
    made = await admin.create_account(url, " acme ", balance_cents=500)
    assert (made.name, made.balance_cents, made.max_concurrent, made.runs_per_minute) == (
        "acme",
        500,
        None,
        None,
    )
    changed = await admin.set_account(url, "acme", max_concurrent=5, runs_per_minute=10)
    assert (changed.balance_cents, changed.max_concurrent, changed.runs_per_minute) == (500, 5, 10)
    changed = await admin.set_account(url, "acme", balance_cents=None)
    assert (changed.balance_cents, changed.max_concurrent) == (None, 5)
    assert await admin.set_account(url, "acme") == changed
    assert changed.keeps_personal_data is False
    changed = await admin.set_account(url, "acme", keeps_personal_data=True)
    assert (changed.keeps_personal_data, changed.max_concurrent) == (True, 5)
    other = await admin.create_account(url, "umbrella", keeps_personal_data=True)
    assert other.keeps_personal_data is True
    other = await admin.set_account(url, "umbrella", keeps_personal_data=False)
    assert await admin.list_accounts(url) == (changed, other)


@pytest.mark.parametrize("name", ["", "  ", "x" * 129, "a\x00b"])
async def test_a_bad_name_is_refused(url: str, name: str) -> None:
    with pytest.raises(ApiError) as caught:
        await admin.create_account(url, name)
    assert (caught.value.status, caught.value.errors[0].path) == (400, "name")


async def test_names_are_unique_limits_bounded_and_unknown_accounts_are_404(url: str) -> None:
    await admin.create_account(url, "acme")
    with pytest.raises(ApiError, match="409"):
        await admin.create_account(url, "acme")
    wrong: tuple[dict[str, Any], ...] = (
        {"max_concurrent": 0},
        {"runs_per_minute": -1},
        {"balance_cents": 10**13},
    )
    for limits in wrong:
        with pytest.raises(ApiError, match="400"):
            await admin.set_account(url, "acme", **limits)
    with pytest.raises(ApiError, match="404"):
        await admin.set_account(url, "nobody", max_concurrent=1)
    with pytest.raises(ApiError, match="404"):
        await admin.create_key(url, "nobody")


async def test_keys_are_made_listed_and_revoked_by_id_or_prefix(url: str, time: Time) -> None:
    account = await admin.create_account(url, "acme")
    one = await admin.create_key(url, "acme", name="ci")
    two = await admin.create_key(url, "acme", kind=KeyKind.PUBLIC)
    assert [key.id for key in await admin.list_keys(url, "acme")] == [two.id, one.id]
    database = Database(create_engine(url))
    authenticator = Authenticator(database=database, clock=time.now, monotonic=time.monotonic)
    try:
        assert (await authenticator.authenticate(f"Bearer {one.key}")).account_id == account.id
    finally:
        await authenticator.aclose()
        await database.close()
    assert (await admin.revoke_key(url, "acme", one.prefix)).id == one.id
    assert (await admin.revoke_key(url, "acme", str(two.id))).id == two.id
    assert await admin.list_keys(url, "acme") == ()
    with pytest.raises(ApiError, match="404"):
        await admin.revoke_key(url, "acme", one.prefix)
