"""Everything of the first release."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create every table."""
    op.create_table(
        "accounts",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("balance_micro", sa.BigInteger(), nullable=True),
        sa.Column("max_concurrent_cases", sa.Integer(), nullable=True),
        sa.Column("runs_per_minute", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_accounts")),
        sa.UniqueConstraint("name", name=op.f("uq_accounts_name")),
    )
    op.create_table(
        "claims",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("owner", sa.String(length=128), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_claims")),
    )
    op.create_table(
        "outbox",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("run_id", sa.Uuid(), nullable=True),
        sa.Column("exchange", sa.String(length=64), nullable=False),
        sa.Column("key", sa.String(length=128), nullable=False),
        sa.Column("message_id", sa.String(length=256), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
    )
    op.create_index("ix_outbox_run_id", "outbox", ["run_id"], unique=False)
    op.create_table(
        "outbox_dead",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("run_id", sa.Uuid(), nullable=True),
        sa.Column("exchange", sa.String(length=64), nullable=False),
        sa.Column("key", sa.String(length=128), nullable=False),
        sa.Column("message_id", sa.String(length=256), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox_dead")),
    )
    op.create_table(
        "api_keys",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("prefix", sa.String(length=16), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_api_keys_account_id_accounts"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_keys")),
    )
    op.create_index("ix_api_keys_account_id", "api_keys", ["account_id"], unique=False)
    op.create_index("uq_api_keys_hash", "api_keys", ["hash"], unique=True)
    op.create_table(
        "integrations",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("agent_prompt", sa.Text(), nullable=False),
        sa.Column("platform_assistant_id", sa.String(length=256), nullable=True),
        sa.Column("provider", sa.String(length=16), nullable=False),
        sa.Column("model", sa.String(length=256), nullable=True),
        sa.Column("endpoint", sa.Text(), nullable=True),
        sa.Column("locale", sa.String(length=8), nullable=True),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.id"],
            name=op.f("fk_integrations_account_id_accounts"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_integrations")),
        sa.UniqueConstraint("account_id", "name", name=op.f("uq_integrations_account_id_name")),
    )
    op.create_table(
        "handlers",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("integration_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=256), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("method", sa.String(length=8), nullable=False),
        sa.Column("headers", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=True),
        sa.Column("parameters_schema", sa.Text(), nullable=True),
        sa.Column("is_side_effect", sa.Boolean(), nullable=True),
        sa.Column("effect", sa.Text(), nullable=True),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_handlers_account_id_accounts"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["integration_id"],
            ["integrations.id"],
            name=op.f("fk_handlers_integration_id_integrations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_handlers")),
        sa.UniqueConstraint("integration_id", "name", name=op.f("uq_handlers_integration_id_name")),
    )
    op.create_table(
        "test_cases",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("integration_id", sa.Uuid(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("ref", sa.String(length=64), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("category", sa.String(length=64), nullable=False),
        sa.Column("priority", sa.String(length=8), nullable=False),
        sa.Column("input", sa.Text(), nullable=False),
        sa.Column("assertions", sa.Text(), nullable=False),
        sa.Column("rubric", sa.Text(), nullable=True),
        sa.Column("weight", sa.Integer(), nullable=False),
        sa.Column("threshold", sa.Integer(), nullable=True),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("critical", sa.Boolean(), nullable=False),
        sa.Column("retry_policy", sa.String(length=8), nullable=True),
        sa.Column("reference", sa.Text(), nullable=True),
        sa.Column("budget", sa.Text(), nullable=True),
        sa.Column("search_text", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.id"],
            name=op.f("fk_test_cases_account_id_accounts"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["integration_id"],
            ["integrations.id"],
            name=op.f("fk_test_cases_integration_id_integrations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_test_cases")),
    )
    op.create_index(
        "ix_test_cases_account_id_integration_id_category",
        "test_cases",
        ["account_id", "integration_id", "category"],
        unique=False,
    )
    op.create_index("ix_test_cases_integration_id_id", "test_cases", ["integration_id", "id"], unique=False)
    op.create_index(
        "uq_test_cases_integration_id_ref",
        "test_cases",
        ["integration_id", "ref"],
        unique=True,
        postgresql_where=sa.text("ref IS NOT NULL"),
        sqlite_where=sa.text("ref IS NOT NULL"),
    )
    op.create_table(
        "test_runs",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("integration_id", sa.Uuid(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("trigger", sa.String(length=16), nullable=False),
        sa.Column("mode", sa.String(length=16), nullable=False),
        sa.Column("provider", sa.String(length=16), nullable=False),
        sa.Column("model", sa.String(length=256), nullable=True),
        sa.Column("agent_prompt_snapshot", sa.Text(), nullable=False),
        sa.Column("prompt_overridden", sa.Boolean(), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("warnings", sa.Text(), nullable=False),
        sa.Column("window", sa.Integer(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("remaining", sa.Integer(), nullable=False),
        sa.Column("next_ordinal", sa.Integer(), nullable=False),
        sa.Column("in_flight", sa.Integer(), nullable=False),
        sa.Column("judging", sa.Integer(), nullable=False),
        sa.Column("passed", sa.Integer(), nullable=False),
        sa.Column("failed", sa.Integer(), nullable=False),
        sa.Column("error", sa.Integer(), nullable=False),
        sa.Column("cancelled", sa.Integer(), nullable=False),
        sa.Column("flaky", sa.Integer(), nullable=False),
        sa.Column("budget_micro", sa.BigInteger(), nullable=True),
        sa.Column("reserved_micro", sa.BigInteger(), nullable=False),
        sa.Column("cost_micro", sa.BigInteger(), nullable=False),
        sa.Column("unknown_costs", sa.Integer(), nullable=False),
        sa.Column("event_seq", sa.Integer(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=True),
        sa.Column("gate_decision", sa.Text(), nullable=True),
        sa.Column("agent_models", sa.Text(), nullable=False),
        sa.Column("judge_models", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Uuid(), nullable=True),
        sa.Column("prompt_version_id", sa.Uuid(), nullable=True),
        sa.Column("compare_run_id", sa.Uuid(), nullable=True),
        sa.Column("schedule_id", sa.Uuid(), nullable=True),
        sa.Column("rerun_of", sa.Uuid(), nullable=True),
        sa.Column("idempotency_key", sa.String(length=128), nullable=True),
        sa.Column("idempotency_hash", sa.String(length=64), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_test_runs_account_id_accounts"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["integration_id"],
            ["integrations.id"],
            name=op.f("fk_test_runs_integration_id_integrations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_test_runs")),
        sa.UniqueConstraint(
            "account_id", "idempotency_key", name=op.f("uq_test_runs_account_id_idempotency_key")
        ),
    )
    op.create_index("ix_test_runs_account_id_id", "test_runs", ["account_id", "id"], unique=False)
    op.create_index("ix_test_runs_integration_id_id", "test_runs", ["integration_id", "id"], unique=False)
    op.create_index(
        "ix_test_runs_running",
        "test_runs",
        ["status"],
        unique=False,
        postgresql_where=sa.text("status IN ('pending', 'running')"),
        sqlite_where=sa.text("status IN ('pending', 'running')"),
    )
    op.create_table(
        "run_cases",
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("case_id", sa.Uuid(), nullable=False),
        sa.Column("ref", sa.String(length=64), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("category", sa.String(length=64), nullable=False),
        sa.Column("priority", sa.String(length=8), nullable=False),
        sa.Column("weight", sa.Integer(), nullable=False),
        sa.Column("critical", sa.Boolean(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("snapshot", sa.Text(), nullable=False),
        sa.Column("search_text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["test_runs.id"], name=op.f("fk_run_cases_run_id_test_runs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", "case_id", name=op.f("pk_run_cases")),
    )
    op.create_table(
        "run_events",
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("event", sa.String(length=32), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["test_runs.id"], name=op.f("fk_run_events_run_id_test_runs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", "seq", name=op.f("pk_run_events")),
    )
    op.create_table(
        "test_results",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("case_id", sa.Uuid(), nullable=False),
        sa.Column("trial", sa.Integer(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("weather", sa.String(length=300), nullable=True),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("stage", sa.String(length=16), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("deciding_attempt", sa.Integer(), nullable=True),
        sa.Column("history", sa.Text(), nullable=False),
        sa.Column("score", sa.Integer(), nullable=True),
        sa.Column("score_min", sa.Integer(), nullable=True),
        sa.Column("score_max", sa.Integer(), nullable=True),
        sa.Column("first_status", sa.String(length=16), nullable=True),
        sa.Column("flaky", sa.Boolean(), nullable=False),
        sa.Column("needs_review", sa.Boolean(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("cost_micro", sa.BigInteger(), nullable=True),
        sa.Column("reserved_micro", sa.BigInteger(), nullable=False),
        sa.Column("usage", sa.Text(), nullable=True),
        sa.Column("judge_usage", sa.Text(), nullable=True),
        sa.Column("latencies", sa.Text(), nullable=True),
        sa.Column("duration_ms", sa.BigInteger(), nullable=True),
        sa.Column("losses", sa.Integer(), nullable=False),
        sa.Column("dispatched_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["run_id"], ["test_runs.id"], name=op.f("fk_test_results_run_id_test_runs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_test_results")),
        sa.UniqueConstraint("run_id", "case_id", "trial", name=op.f("uq_test_results_run_id_case_id_trial")),
        sa.UniqueConstraint("run_id", "ordinal", name=op.f("uq_test_results_run_id_ordinal")),
    )
    op.create_index(
        "ix_test_results_out",
        "test_results",
        ["stage", "dispatched_at"],
        unique=False,
        postgresql_where=sa.text("stage IN ('executing', 'judging')"),
        sqlite_where=sa.text("stage IN ('executing', 'judging')"),
    )
    op.create_table(
        "result_phases",
        sa.Column("result_id", sa.Uuid(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("phase", sa.String(length=8), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["result_id"],
            ["test_results.id"],
            name=op.f("fk_result_phases_result_id_test_results"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("result_id", "attempt", "phase", name=op.f("pk_result_phases")),
    )
    op.create_index("ix_result_phases_run_id", "result_phases", ["run_id"], unique=False)


def downgrade() -> None:
    """Drop every table."""
    op.drop_index("ix_result_phases_run_id", table_name="result_phases")
    op.drop_table("result_phases")
    op.drop_index(
        "ix_test_results_out",
        table_name="test_results",
        postgresql_where=sa.text("stage IN ('executing', 'judging')"),
        sqlite_where=sa.text("stage IN ('executing', 'judging')"),
    )
    op.drop_table("test_results")
    op.drop_table("run_events")
    op.drop_table("run_cases")
    op.drop_index(
        "ix_test_runs_running",
        table_name="test_runs",
        postgresql_where=sa.text("status IN ('pending', 'running')"),
        sqlite_where=sa.text("status IN ('pending', 'running')"),
    )
    op.drop_index("ix_test_runs_integration_id_id", table_name="test_runs")
    op.drop_index("ix_test_runs_account_id_id", table_name="test_runs")
    op.drop_table("test_runs")
    op.drop_index(
        "uq_test_cases_integration_id_ref",
        table_name="test_cases",
        postgresql_where=sa.text("ref IS NOT NULL"),
        sqlite_where=sa.text("ref IS NOT NULL"),
    )
    op.drop_index("ix_test_cases_integration_id_id", table_name="test_cases")
    op.drop_index("ix_test_cases_account_id_integration_id_category", table_name="test_cases")
    op.drop_table("test_cases")
    op.drop_table("handlers")
    op.drop_table("integrations")
    op.drop_index("uq_api_keys_hash", table_name="api_keys")
    op.drop_index("ix_api_keys_account_id", table_name="api_keys")
    op.drop_table("api_keys")
    op.drop_table("outbox_dead")
    op.drop_index("ix_outbox_run_id", table_name="outbox")
    op.drop_table("outbox")
    op.drop_table("claims")
    op.drop_table("accounts")
