"""Agents, versions of their prompts, and comparisons."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "test_agents",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("integration_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("current_version_id", sa.Uuid(), nullable=True),
        sa.Column("default_provider", sa.String(length=16), nullable=True),
        sa.Column("default_model", sa.String(length=256), nullable=True),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.id"],
            name=op.f("fk_test_agents_account_id_accounts"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["integration_id"],
            ["integrations.id"],
            name=op.f("fk_test_agents_integration_id_integrations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_test_agents")),
        sa.UniqueConstraint("integration_id", name=op.f("uq_test_agents_integration_id")),
    )
    op.create_index("ix_test_agents_account_id_id", "test_agents", ["account_id", "id"], unique=False)
    op.create_table(
        "prompt_versions",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.Column("version_number", sa.Integer(), nullable=False),
        sa.Column("prompt", sa.Text(), nullable=False),
        sa.Column("source", sa.String(length=16), nullable=False),
        sa.Column("parent_version_id", sa.Uuid(), nullable=True),
        sa.Column("platform_version", sa.String(length=256), nullable=True),
        sa.Column("platform_synced_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("generation_context", sa.Text(), nullable=True),
        sa.Column("exported_to_platform_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("notes", sa.Text(), nullable=True),
        sa.Column("created_by", sa.String(length=128), nullable=True),
        sa.Column("is_immutable", sa.Boolean(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.id"],
            name=op.f("fk_prompt_versions_account_id_accounts"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["agent_id"],
            ["test_agents.id"],
            name=op.f("fk_prompt_versions_agent_id_test_agents"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_prompt_versions")),
        sa.UniqueConstraint(
            "agent_id", "version_number", name=op.f("uq_prompt_versions_agent_id_version_number")
        ),
    )
    op.create_table(
        "compare_runs",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.Column("integration_id", sa.Uuid(), nullable=False),
        sa.Column("matrix", sa.Text(), nullable=False),
        sa.Column("case_ids", sa.Text(), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("run_ids", sa.Text(), nullable=False),
        sa.Column("baseline", sa.Integer(), nullable=False),
        sa.Column("budget_micro", sa.BigInteger(), nullable=True),
        sa.Column("warnings", sa.Text(), nullable=False),
        sa.Column("idempotency_key", sa.String(length=128), nullable=True),
        sa.Column("idempotency_hash", sa.String(length=64), nullable=True),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.id"],
            name=op.f("fk_compare_runs_account_id_accounts"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["agent_id"],
            ["test_agents.id"],
            name=op.f("fk_compare_runs_agent_id_test_agents"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["integration_id"],
            ["integrations.id"],
            name=op.f("fk_compare_runs_integration_id_integrations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_compare_runs")),
        sa.UniqueConstraint(
            "account_id", "idempotency_key", name=op.f("uq_compare_runs_account_id_idempotency_key")
        ),
    )
    op.create_index("ix_compare_runs_account_id_id", "compare_runs", ["account_id", "id"], unique=False)
    # Runs of a comparison are looked up by it.
    op.create_index("ix_test_runs_compare_run_id", "test_runs", ["compare_run_id"], unique=False)


def downgrade() -> None:
    """Drop the tables."""
    op.drop_index("ix_test_runs_compare_run_id", table_name="test_runs")
    op.drop_index("ix_compare_runs_account_id_id", table_name="compare_runs")
    op.drop_table("compare_runs")
    op.drop_table("prompt_versions")
    op.drop_index("ix_test_agents_account_id_id", table_name="test_agents")
    op.drop_table("test_agents")
