"""The only place with SQL: tables, repositories, outbox, migrations."""
