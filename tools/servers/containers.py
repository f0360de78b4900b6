"""The servers in Docker containers, with fixed ports so that a restart keeps the address."""

from __future__ import annotations

import secrets
import shutil
import subprocess
from dataclasses import dataclass

from .model import ServersError
from .probe import amqp_answers, database_answers, free_port, wait_for

__all__ = ["Started", "docker_works", "remove", "restart", "start_broker", "start_database"]

RABBITMQ_IMAGE = "rabbitmq:4-management"
POSTGRES_IMAGE = "postgres:17"
START_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Started:
    """A running container: its id and the URLs of what is inside."""

    handle: str
    url: str
    management_url: str | None = None
    metrics_url: str | None = None


def docker_works() -> bool:
    """Whether there is an engine behind the client; a client alone is common and of no use."""
    client = shutil.which("docker")
    if client is None:
        return False
    try:
        done = subprocess.run([client, "info"], capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def start_broker() -> Started:
    """A RabbitMQ container with its management and Prometheus plugins on."""
    amqp, management, metrics, password = free_port(), free_port(), free_port(), secrets.token_hex(12)
    handle = _start(
        RABBITMQ_IMAGE,
        ports={5672: amqp, 15672: management, 15692: metrics},
        env={"RABBITMQ_DEFAULT_USER": "proctor", "RABBITMQ_DEFAULT_PASS": password},
    )
    url = f"amqp://proctor:{password}@127.0.0.1:{amqp}/"
    if not wait_for(lambda: amqp_answers(url), seconds=START_SECONDS, alive=lambda: True):
        raise ServersError(f"RabbitMQ in container {handle[:12]} did not become ready; see docker logs")
    return Started(
        handle, url, f"http://proctor:{password}@127.0.0.1:{management}", f"http://127.0.0.1:{metrics}"
    )


def start_database() -> Started:
    """A PostgreSQL container."""
    port, password = free_port(), secrets.token_hex(12)
    handle = _start(
        POSTGRES_IMAGE,
        ports={5432: port},
        env={"POSTGRES_USER": "proctor", "POSTGRES_PASSWORD": password, "POSTGRES_DB": "postgres"},
    )
    url = f"postgresql://proctor:{password}@127.0.0.1:{port}/postgres"
    if not wait_for(lambda: database_answers(url), seconds=START_SECONDS, alive=lambda: True):
        raise ServersError(f"PostgreSQL in container {handle[:12]} did not become ready; see docker logs")
    return Started(handle, url)


def restart(handle: str, *, kill: bool) -> None:
    """Restart a container; with `kill` it gets no time to stop cleanly."""
    import docker  # noqa: PLC0415 - only machines with an engine need it

    container = docker.from_env().containers.get(handle)
    if kill:
        container.kill()
        container.start()
    else:
        container.restart()


def remove(handle: str) -> None:
    """Stop and delete a container with its data; one that is gone already is fine."""
    import docker  # noqa: PLC0415 - only machines with an engine need it
    from docker.errors import NotFound  # noqa: PLC0415 - as above

    try:
        docker.from_env().containers.get(handle).remove(force=True, v=True)
    except NotFound:
        return


def _start(image: str, *, ports: dict[int, int], env: dict[str, str]) -> str:
    from testcontainers.core.config import testcontainers_config  # noqa: PLC0415 - slow to import
    from testcontainers.core.container import DockerContainer  # noqa: PLC0415 - slow to import

    # The reaper would remove the containers when this command ends; `stop` removes them instead.
    testcontainers_config.ryuk_disabled = True
    container = DockerContainer(image)
    for inside, outside in ports.items():
        container = container.with_bind_ports(inside, outside)
    for name, value in env.items():
        container = container.with_env(name, value)
    return str(container.start().get_wrapped_container().id)
