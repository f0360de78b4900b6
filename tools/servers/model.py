"""What is known about the servers in use, and the file that remembers it between commands."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

__all__ = ["Origin", "Servers", "ServersError", "data_root", "load", "save", "state_folder"]

REPOSITORY = Path(__file__).resolve().parents[2]


class ServersError(Exception):
    """The servers could not be had; the message says what to do."""


class Origin(StrEnum):
    """Where one of the two servers came from, in the order in which they are tried."""

    environment = "environment"
    found = "found"
    docker = "docker"
    packages = "packages"


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """The two servers: where they are, who started them, and how to look inside the broker."""

    amqp_url: str
    database_url: str
    amqp_origin: Origin
    database_origin: Origin
    management_url: str | None = None
    metrics_url: str | None = None
    broker_handle: str | None = None
    database_handle: str | None = None

    def describe(self) -> str:
        """Two lines for a person: where each server came from and its URL."""
        return (
            f"RabbitMQ   {EXPLAIN[self.amqp_origin]}: {self.amqp_url}\n"
            f"PostgreSQL {EXPLAIN[self.database_origin]}: {self.database_url}"
        )


EXPLAIN = {
    Origin.environment: "from the environment",
    Origin.found: "already running at its default address",
    Origin.docker: "in a Docker container",
    Origin.packages: "from the distribution's package, on a private port",
}


def state_folder() -> Path:
    """The folder in the checkout (not committed) that holds the state file and the logs."""
    folder = REPOSITORY / ".services"
    folder.mkdir(exist_ok=True)
    return folder


def data_root() -> Path:
    """The folder for server data; outside the checkout for root, since PostgreSQL runs as another user."""
    if os.geteuid() != 0:
        return state_folder() / "data"
    name = "-".join(part for part in REPOSITORY.parts if part != REPOSITORY.anchor)
    return Path("/var/lib/proctor-servers") / name


def load() -> Servers | None:
    """The servers of the last start in this checkout, or None."""
    try:
        raw = json.loads((state_folder() / "servers.json").read_text())
        return Servers(
            **raw
            | {
                "amqp_origin": Origin(raw["amqp_origin"]),
                "database_origin": Origin(raw["database_origin"]),
            }
        )
    except (OSError, ValueError, TypeError, KeyError):
        return None


def save(servers: Servers | None) -> None:
    """Remember the servers for the next command, or forget them."""
    path = state_folder() / "servers.json"
    if servers is None:
        path.unlink(missing_ok=True)
        return
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps(asdict(servers), indent=2))
    draft.chmod(0o600)
    draft.replace(path)
