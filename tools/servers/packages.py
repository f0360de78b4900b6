"""Find the servers' programs, and install the distribution's packages when they are missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from .model import ServersError

__all__ = ["postgresql_programs", "rabbitmq_programs"]

APT = "apt-get"
BLOCK_START = Path("/usr/sbin/policy-rc.d")


def postgresql_programs() -> Path:
    """The folder with `initdb` and `pg_ctl`, newest version first; installs PostgreSQL when there is none."""
    return _find_postgresql() or _installed("postgresql", _find_postgresql)


def rabbitmq_programs() -> Path:
    """The folder with RabbitMQ's own scripts (not the distribution's wrappers); installs it when missing."""
    return _find_rabbitmq() or _installed("rabbitmq-server", _find_rabbitmq)


def _find_postgresql() -> Path | None:
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    newest = sorted(found, key=lambda folder: float(folder.parent.name), reverse=True)
    if newest:
        return newest[0]
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path else None


def _find_rabbitmq() -> Path | None:
    for folder in (Path("/usr/lib/rabbitmq/bin"), Path("/opt/homebrew/sbin"), Path("/usr/local/sbin")):
        if (folder / "rabbitmq-server").exists() and shutil.which("erl"):
            return folder
    return None


def _installed(package: str, find: Callable[[], Path | None]) -> Path:
    if not shutil.which(APT) or os.geteuid() != 0:
        raise ServersError(
            f"{package} is not here and cannot be installed (that needs apt-get and root). Install it, start"
            " Docker, or set PROCTOR_AMQP_URL and PROCTOR_DATABASE_URL to servers that are running."
        )
    sys.stdout.write(f"Installing {package} with apt-get …\n")
    sys.stdout.flush()
    # The package would start a server at the default port at once; a policy file forbids that.
    guard = not BLOCK_START.exists()
    if guard:
        BLOCK_START.write_text("#!/bin/sh\nexit 101\n")
        BLOCK_START.chmod(0o755)
    try:
        # The package lists may be missing or stale: try with what is there, then once more after an update.
        if _apt("install", "--yes", "--no-install-recommends", package).returncode != 0:
            _apt("update")
            done = _apt("install", "--yes", "--no-install-recommends", package)
            if done.returncode != 0:
                raise ServersError(f"apt-get could not install {package}:\n{done.stderr[-2000:]}")
    finally:
        if guard:
            BLOCK_START.unlink(missing_ok=True)
    programs = find()
    if programs is None:
        raise ServersError(f"{package} was installed but its programs were not found")
    return programs


def _apt(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [APT, "-o", "DPkg::Lock::Timeout=300", *arguments]
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
