"""One service in this process, against real servers."""

from __future__ import annotations

import importlib

from proctor_cli.exits import missing_package
from proctor_cli.startup import settled

__all__ = ["serve"]


def serve(service: str) -> None:
    """Run a service's own main function.

    Raises:
        Stop: when a package it needs is not installed.
    """
    try:
        module = importlib.import_module(f"proctor_{service}.__main__")
        settled()
        module.main()  # a broker's or a database's library is imported only here
    except ModuleNotFoundError as error:
        raise missing_package(f"proctor serve {service}", error, extra=service) from error
