"""The command behind `make services`: start, stop, status and restarts."""

from __future__ import annotations

import argparse
import logging
import sys

from . import choose
from .model import ServersError


def main() -> int:
    """Carry out one command and say what is in use."""
    parser = argparse.ArgumentParser(prog="python -m tools.servers", description=__doc__)
    commands = ["start", "stop", "status", "env", "restart-broker", "restart-database"]
    parser.add_argument("command", choices=commands)
    parser.add_argument("--kill", action="store_true", help="restart without a clean stop")
    arguments = parser.parse_args()
    # Probing a server that is not up yet is expected; its client would print an error each time.
    logging.getLogger().addHandler(logging.NullHandler())
    try:
        return _carry_out(arguments.command, kill=arguments.kill)
    except ServersError as error:
        sys.stderr.write(f"{error}\n")
        return 1


def _carry_out(command: str, *, kill: bool) -> int:
    if command == "start":
        sys.stdout.write(f"{choose.ensure().describe()}\n")
    elif command == "stop":
        choose.stop()
        sys.stdout.write("Stopped.\n")
    elif command == "restart-broker":
        choose.restart_broker(kill=kill)
    elif command == "restart-database":
        choose.restart_database(kill=kill)
    else:
        servers = choose.running()
        if servers is None:
            sys.stderr.write("No servers are running for this checkout; `make services` starts them.\n")
            return 1
        if command == "status":
            sys.stdout.write(f"{servers.describe()}\n")
        else:
            sys.stdout.write(
                f"export PROCTOR_AMQP_URL='{servers.amqp_url}'\n"
                f"export PROCTOR_DATABASE_URL='{servers.database_url}'\n"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
