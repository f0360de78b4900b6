"""Alembic revisions, run by `proctor_store.migrate`."""
