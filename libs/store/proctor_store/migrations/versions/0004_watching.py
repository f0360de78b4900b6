"""Schedules, alerts with their deliveries, and what a run says of its models and of its end."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables and columns."""
    op.create_table(
        "alerts",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("integration_id", sa.Uuid(), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("schedule_id", sa.Uuid(), nullable=True),
        sa.Column("kind", sa.String(length=24), nullable=False),
        sa.Column("occasion", sa.String(length=8), nullable=False),
        sa.Column("verdict", sa.String(length=16), nullable=True),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("untold", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_alerts_account_id_accounts"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["integration_id"],
            ["integrations.id"],
            name=op.f("fk_alerts_integration_id_integrations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alerts")),
        sa.UniqueConstraint("run_id", "kind", "occasion", name=op.f("uq_alerts_run_id_kind_occasion")),
    )
    op.create_index("ix_alerts_account_id_id", "alerts", ["account_id", "id"], unique=False)
    op.create_index("ix_alerts_created_at", "alerts", ["created_at"], unique=False)
    op.create_table(
        "test_schedules",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("integration_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("cron_expression", sa.String(length=256), nullable=False),
        sa.Column("timezone", sa.String(length=64), nullable=False),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("notifications", sa.Text(), nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("waiting_for", sa.String(length=16), nullable=True),
        sa.Column("counted_from", sa.DateTime(timezone=True), nullable=False),
        sa.Column("counted_local", sa.String(length=32), nullable=True),
        sa.Column("next_run_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_run_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_run_id", sa.Uuid(), nullable=True),
        sa.Column("last_run_status", sa.String(length=16), nullable=True),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.id"],
            name=op.f("fk_test_schedules_account_id_accounts"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["integration_id"],
            ["integrations.id"],
            name=op.f("fk_test_schedules_integration_id_integrations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_test_schedules")),
    )
    op.create_index("ix_test_schedules_account_id_id", "test_schedules", ["account_id", "id"], unique=False)
    op.create_index(
        "ix_test_schedules_due",
        "test_schedules",
        ["next_run_at"],
        unique=False,
        sqlite_where=sa.text("is_active"),
        postgresql_where=sa.text("is_active"),
    )
    op.create_index("ix_test_schedules_integration_id", "test_schedules", ["integration_id"], unique=False)
    op.create_index(
        "ix_test_schedules_waiting",
        "test_schedules",
        ["account_id"],
        unique=False,
        sqlite_where=sa.text("waiting_for IS NOT NULL"),
        postgresql_where=sa.text("waiting_for IS NOT NULL"),
    )
    op.create_table(
        "alert_deliveries",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("alert_id", sa.Uuid(), nullable=False),
        sa.Column("integration_id", sa.Uuid(), nullable=False),
        sa.Column("source", sa.String(length=16), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("format", sa.String(length=8), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("next_attempt_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("claimed_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.id"],
            name=op.f("fk_alert_deliveries_account_id_accounts"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["alert_id"], ["alerts.id"], name=op.f("fk_alert_deliveries_alert_id_alerts"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert_deliveries")),
    )
    op.create_index("ix_alert_deliveries_alert_id", "alert_deliveries", ["alert_id"], unique=False)
    op.create_index(
        "ix_alert_deliveries_due",
        "alert_deliveries",
        ["next_attempt_at"],
        unique=False,
        sqlite_where=sa.text("state = 'pending'"),
        postgresql_where=sa.text("state = 'pending'"),
    )
    op.create_table(
        "run_looks",
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("integration_id", sa.Uuid(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("findings", sa.Text(), nullable=False),
        sa.Column("baseline_run_ids", sa.Text(), nullable=False),
        sa.Column("model_changes", sa.Text(), nullable=False),
        sa.Column("confirm", sa.Text(), nullable=False),
        sa.Column("confirming_run_id", sa.Uuid(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_run_looks_account_id_accounts"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["integration_id"],
            ["integrations.id"],
            name=op.f("fk_run_looks_integration_id_integrations"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["test_runs.id"], name=op.f("fk_run_looks_run_id_test_runs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_run_looks")),
    )
    op.create_index(
        "ix_run_looks_asked",
        "run_looks",
        ["updated_at"],
        unique=False,
        sqlite_where=sa.text("state <> 'settled'"),
        postgresql_where=sa.text("state <> 'settled'"),
    )
    op.create_index(
        "ix_run_looks_settled",
        "run_looks",
        ["updated_at"],
        unique=False,
        sqlite_where=sa.text("state = 'settled'"),
        postgresql_where=sa.text("state = 'settled'"),
    )
    op.create_table(
        "schedule_ticks",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("schedule_id", sa.Uuid(), nullable=False),
        sa.Column("planned_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("planned_local", sa.String(length=32), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("fires", sa.Integer(), nullable=False),
        sa.Column("missed", sa.Integer(), nullable=False),
        sa.Column("fired_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("run_id", sa.Uuid(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.id"],
            name=op.f("fk_schedule_ticks_account_id_accounts"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["schedule_id"],
            ["test_schedules.id"],
            name=op.f("fk_schedule_ticks_schedule_id_test_schedules"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_schedule_ticks")),
        sa.UniqueConstraint(
            "schedule_id", "planned_at", name=op.f("uq_schedule_ticks_schedule_id_planned_at")
        ),
    )
    op.create_index(
        "ix_schedule_ticks_account_id_fired_at", "schedule_ticks", ["account_id", "fired_at"], unique=False
    )
    op.create_index(
        "ix_schedule_ticks_open",
        "schedule_ticks",
        ["schedule_id"],
        unique=False,
        sqlite_where=sa.text("status IN ('waiting', 'fired')"),
        postgresql_where=sa.text("status IN ('waiting', 'fired')"),
    )
    op.create_index("ix_schedule_ticks_created_at", "schedule_ticks", ["created_at"], unique=False)
    op.create_table(
        "delivery_attempts",
        sa.Column("delivery_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("duration_ms", sa.Integer(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("error", sa.String(length=64), nullable=True),
        sa.Column("detail", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["delivery_id"],
            ["alert_deliveries.id"],
            name=op.f("fk_delivery_attempts_delivery_id_alert_deliveries"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("delivery_id", "number", name=op.f("pk_delivery_attempts")),
    )
    op.add_column("integrations", sa.Column("alerts", sa.Text(), nullable=True))
    op.add_column("test_runs", sa.Column("agent_fingerprints", sa.Text(), nullable=True))
    op.add_column("test_runs", sa.Column("judge_fingerprints", sa.Text(), nullable=True))
    op.add_column("test_runs", sa.Column("confirms_run_id", sa.Uuid(), nullable=True))
    op.add_column("test_runs", sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("test_runs", sa.Column("export_failures", sa.Integer(), server_default="0", nullable=False))
    op.add_column("test_runs", sa.Column("export_after", sa.DateTime(timezone=True), nullable=True))
    op.create_index("ix_test_runs_status_completed_at", "test_runs", ["status", "completed_at"], unique=False)
    op.create_index(
        "ix_test_runs_deleted_at",
        "test_runs",
        ["deleted_at"],
        unique=False,
        sqlite_where=sa.text("deleted_at IS NOT NULL"),
        postgresql_where=sa.text("deleted_at IS NOT NULL"),
    )
    op.create_index("ix_outbox_dead_created_at", "outbox_dead", ["created_at"], unique=False)
    op.create_index(
        "ix_test_runs_integration_id_completed_at",
        "test_runs",
        ["integration_id", "completed_at"],
        unique=False,
    )
    op.create_index(
        "ix_test_runs_schedule_id",
        "test_runs",
        ["schedule_id"],
        unique=False,
        sqlite_where=sa.text("schedule_id IS NOT NULL"),
        postgresql_where=sa.text("schedule_id IS NOT NULL"),
    )
    op.create_index(
        "uq_test_runs_confirms_run_id",
        "test_runs",
        ["confirms_run_id"],
        unique=True,
        sqlite_where=sa.text("confirms_run_id IS NOT NULL"),
        postgresql_where=sa.text("confirms_run_id IS NOT NULL"),
    )


def downgrade() -> None:
    """Drop them."""
    op.drop_index("uq_test_runs_confirms_run_id", table_name="test_runs")
    op.drop_index("ix_test_runs_schedule_id", table_name="test_runs")
    op.drop_index("ix_test_runs_integration_id_completed_at", table_name="test_runs")
    op.drop_index("ix_outbox_dead_created_at", table_name="outbox_dead")
    op.drop_index("ix_test_runs_deleted_at", table_name="test_runs")
    op.drop_index("ix_test_runs_status_completed_at", table_name="test_runs")
    op.drop_column("test_runs", "export_after")
    op.drop_column("test_runs", "export_failures")
    op.drop_column("test_runs", "deleted_at")
    op.drop_column("test_runs", "confirms_run_id")
    op.drop_column("test_runs", "judge_fingerprints")
    op.drop_column("test_runs", "agent_fingerprints")
    op.drop_column("integrations", "alerts")
    op.drop_table("delivery_attempts")
    op.drop_index("ix_schedule_ticks_created_at", table_name="schedule_ticks")
    op.drop_index("ix_schedule_ticks_open", table_name="schedule_ticks")
    op.drop_index("ix_schedule_ticks_account_id_fired_at", table_name="schedule_ticks")
    op.drop_table("schedule_ticks")
    op.drop_index("ix_run_looks_settled", table_name="run_looks")
    op.drop_index("ix_run_looks_asked", table_name="run_looks")
    op.drop_table("run_looks")
    op.drop_index("ix_alert_deliveries_due", table_name="alert_deliveries")
    op.drop_index("ix_alert_deliveries_alert_id", table_name="alert_deliveries")
    op.drop_table("alert_deliveries")
    op.drop_index("ix_test_schedules_waiting", table_name="test_schedules")
    op.drop_index("ix_test_schedules_integration_id", table_name="test_schedules")
    op.drop_index("ix_test_schedules_due", table_name="test_schedules")
    op.drop_index("ix_test_schedules_account_id_id", table_name="test_schedules")
    op.drop_table("test_schedules")
    op.drop_index("ix_alerts_created_at", table_name="alerts")
    op.drop_index("ix_alerts_account_id_id", table_name="alerts")
    op.drop_table("alerts")
