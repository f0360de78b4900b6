"""How Alembic runs here: on the connection and in the transaction that `proctor_store.migrate` opened."""

from __future__ import annotations

from alembic import context
from sqlalchemy import text

import proctor_store.tables  # noqa: F401 - registers every table
from proctor_store.base import Base

for table in Base.metadata.tables.values():
    for index in table.indexes:
        if "where" in index.info:
            index.dialect_kwargs["postgresql_where"] = text(index.info["where"])

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
