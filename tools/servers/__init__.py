"""RabbitMQ and PostgreSQL for tests and local runs: found, started in Docker, or installed and started."""

from __future__ import annotations

__all__: list[str] = []
