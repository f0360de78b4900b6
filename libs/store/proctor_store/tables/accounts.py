"""Accounts and their API keys."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, Boolean, ForeignKey, Index, Integer, String, false
from sqlalchemy.orm import Mapped, mapped_column

from proctor_store.base import Base, Created
from proctor_store.columns import Guid, Moment

__all__ = ["Account", "ApiKey"]


class Account(Created, Base):
    """A customer; null balance and limits mean unlimited. Money is micro-USD.

    Captures of an account that does not keep personal data are stored with placeholders instead.
    """

    __tablename__ = "accounts"

    id: Mapped[UUID] = mapped_column(Guid, primary_key=True)
    name: Mapped[str] = mapped_column(String(128), unique=True)
    balance_micro: Mapped[int | None] = mapped_column(BigInteger)
    max_concurrent_cases: Mapped[int | None] = mapped_column(Integer)
    runs_per_minute: Mapped[int | None] = mapped_column(Integer)
    keeps_personal_data: Mapped[bool] = mapped_column(Boolean, server_default=false())


class ApiKey(Created, Base):
    """A key by its SHA-256; the key itself is shown once and never stored."""

    __tablename__ = "api_keys"
    __table_args__ = (
        Index("ix_api_keys_account_id", "account_id"),
        Index("uq_api_keys_hash", "hash", unique=True),
    )

    id: Mapped[UUID] = mapped_column(Guid, primary_key=True)
    account_id: Mapped[UUID] = mapped_column(ForeignKey("accounts.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(String(16))
    name: Mapped[str] = mapped_column(String(128))
    prefix: Mapped[str] = mapped_column(String(16))
    hash: Mapped[str] = mapped_column(String(64))
    last_used_at: Mapped[datetime | None] = mapped_column(Moment)
    revoked_at: Mapped[datetime | None] = mapped_column(Moment)
