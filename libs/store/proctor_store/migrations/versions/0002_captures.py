"""Captured conversations, and whether an account keeps the personal data in them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table and the account's switch."""
    op.add_column(
        "accounts",
        sa.Column("keeps_personal_data", sa.Boolean(), server_default=sa.false(), nullable=False),
    )
    op.create_table(
        "captured_conversations",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("integration_id", sa.Uuid(), nullable=False),
        sa.Column("source", sa.String(length=16), nullable=False),
        sa.Column("external_id", sa.String(length=256), nullable=True),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("transcript", sa.Text(), nullable=False),
        sa.Column("metadata", sa.Text(), nullable=True),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("flagged_reason", sa.Text(), nullable=True),
        sa.Column("converted_case_id", sa.Uuid(), nullable=True),
        sa.Column("converted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("idempotency_key", sa.String(length=128), nullable=True),
        sa.Column("idempotency_hash", sa.String(length=64), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.id"],
            name=op.f("fk_captured_conversations_account_id_accounts"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["integration_id"],
            ["integrations.id"],
            name=op.f("fk_captured_conversations_integration_id_integrations"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["converted_case_id"],
            ["test_cases.id"],
            name=op.f("fk_captured_conversations_converted_case_id_test_cases"),
            ondelete="SET NULL",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_captured_conversations")),
        sa.UniqueConstraint(
            "account_id",
            "idempotency_key",
            name=op.f("uq_captured_conversations_account_id_idempotency_key"),
        ),
    )
    op.create_index(
        "uq_captured_conversations_integration_id_external_id",
        "captured_conversations",
        ["integration_id", "external_id"],
        unique=True,
        postgresql_where=sa.text("external_id IS NOT NULL"),
        sqlite_where=sa.text("external_id IS NOT NULL"),
    )
    for columns in (("account_id", "id"), ("integration_id", "status", "id"), ("converted_case_id",)):
        op.create_index(
            f"ix_captured_conversations_{'_'.join(columns)}", "captured_conversations", list(columns)
        )


def downgrade() -> None:
    """Drop what was made."""
    op.drop_table("captured_conversations")
    op.drop_column("accounts", "keeps_personal_data")
