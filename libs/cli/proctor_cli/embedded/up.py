"""The whole product in one process: the embedded platform with its API on a port."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from proctor_api.errors import ApiError
from proctor_api.local import LocalApi
from proctor_chassis.clock import SystemClock
from proctor_chassis.egress import Operator
from proctor_chassis.metrics import Meters, prometheus_meters
from proctor_chassis.settings import HttpSettings, SettingsError, WorkerSettings
from proctor_cli.exits import ExitCode, Stop, missing_package
from proctor_cli.interrupts import interrupts
from proctor_cli.startup import settled
from proctor_cli.state import Owner, StateFolder
from proctor_contracts.schemas.integrations import KeyCreate

from .boot import boot
from .watching import Watching

__all__ = ["up"]

KEY_NAME = "proctor up"
CONCURRENCY = "PROCTOR_CONCURRENCY"
DEFAULT_CONVERSATIONS = "50"


async def up(
    folder: StateFolder, *, host: str, port: int, env: Mapping[str, str], ready: Callable[[str, str], None]
) -> None:
    """Serve until interrupted; `ready` is told the URL and a private key once requests are answered.

    Raises:
        Stop: when the folder has an owner, the port is taken, a setting is wrong, or a package is missing.
    """
    try:
        from proctor_api.app import create_app  # noqa: PLC0415 - a server is only needed here
        from proctor_api.probes import Probes  # noqa: PLC0415 - as above
        from proctor_api.retention.settings import RetentionSettings  # noqa: PLC0415 - as above
        from proctor_api.retention.worker import Retention  # noqa: PLC0415 - as above
        from proctor_api.server import HttpServer  # noqa: PLC0415 - as above

        watching = Watching.from_env(env)
    except ModuleNotFoundError as error:
        raise missing_package("proctor up", error, extra="web") from error
    except SettingsError as error:
        raise Stop(ExitCode.USAGE, str(error)) from error
    try:
        conversations = WorkerSettings.from_env({CONCURRENCY: DEFAULT_CONVERSATIONS, **env}).concurrency
        keeping = RetentionSettings.from_env(env, rules=Operator.from_environ(env, embedded=True))
    except (SettingsError, ValueError) as error:
        raise Stop(ExitCode.USAGE, str(error)) from error
    counted = prometheus_meters({"service": "embedded"})
    meters = counted.meters if counted is not None else Meters()
    with folder.owned(), interrupts() as interrupted:
        async with boot(
            folder.database_url,
            env=env,
            workers=True,
            meters=meters,
            conversations=conversations,
            log_level="warning",
            watching=watching,
        ) as platform:
            probes = Probes(
                database=platform.api.services.database,
                bus=platform.bus,
                observe=platform.api.pipeline.observe,
                expose=None if counted is None else counted.expose,
            )
            app = create_app(platform.api.services, probes)
            server = HttpServer(app, HttpSettings(host=host, port=port))
            key = await _local_key(platform.api, folder.path / "key")
            try:
                url = f"http://{_shown(host)}:{await server.start()}"
            except SettingsError as error:
                cure = "choose another port with --port, or --port 0 for any that is free"
                message = f"cannot answer at {host}:{port} ({error.__cause__ or error}); {cure}"
                raise Stop(ExitCode.USAGE, message) from error
            folder.announce(Owner(url=url, key=key, pid=os.getpid()))
            retention = Retention(
                database=platform.api.services.database,
                runs=platform.api.services.runs,
                results=platform.api.services.results,
                settings=keeping,
                clock=SystemClock(),
                meters=meters,
                owner="local",
            )
            try:
                await platform.api.resume()  # what the last owner left unfinished goes on
                retention.start()
                settled()
                ready(url, key)
                await interrupted.first.wait()
            finally:
                folder.withdraw()
                await retention.stop()
                await server.stop()


def _shown(host: str) -> str:
    if host in {"0.0.0.0", "::"}:  # noqa: S104 - only compared with
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


async def _local_key(api: LocalApi, file: Path) -> str:
    """Give the folder's key: the one of last time while it is good, so that scripts need not change."""
    if known := _read(file):
        with contextlib.suppress(ApiError):
            await api.services.authenticator.authenticate(f"Bearer {known}")
            return known
    made = await api.services.keys.create(api.caller, KeyCreate(name=KEY_NAME))
    _write(file, made.key)
    return made.key


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _write(file: Path, key: str) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        out.write(key + "\n")
