"""One service in this process, against real servers."""

from __future__ import annotations

import importlib

from proctor_cli.exits import ExitCode, Stop
from proctor_cli.startup import settled

__all__ = ["serve"]


def serve(service: str) -> None:
    """Run a service's own main function.

    Raises:
        Stop: when a package it needs is not installed.
    """
    try:
        module = importlib.import_module(f"proctor_{service}.__main__")
    except ModuleNotFoundError as error:
        message = f"serve {service} needs {error.name}; install it with: pip install 'proctor[{service}]'"
        raise Stop(ExitCode.USAGE, message) from error
    settled()
    module.main()
