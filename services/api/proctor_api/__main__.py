"""`python -m proctor_api`: the API on PostgreSQL and RabbitMQ."""

from __future__ import annotations

import os
from collections.abc import Mapping

from proctor_chassis.lifecycle import run_service
from proctor_chassis.logging import configure
from proctor_chassis.process import serve
from proctor_chassis.secrets import Redactor, Secrets
from proctor_chassis.settings import SettingsError
from proctor_llm.prices import Prices

from .process import ApiProcess
from .settings import ApiSettings

__all__ = ["main"]


async def run(env: Mapping[str, str]) -> None:
    """Serve with the settings of the environment until a signal comes."""
    settings = ApiSettings.from_env(env)
    redactor = Redactor()
    secrets = Secrets(environ=env, embedded=False, redactor=redactor)
    configure(settings.logs, redact=redactor.json, service="api")
    process = ApiProcess(settings=settings, prices=_prices(settings), secrets=secrets)

    async def start() -> None:
        await process.start()

    await run_service(start, process.stop, until=process.ended)


def main() -> None:
    """Run the process."""
    serve(lambda: run(os.environ), name="api")


def _prices(settings: ApiSettings) -> Prices:
    try:
        return Prices.load(settings.llm.price_file)
    except (ValueError, OSError) as error:
        raise SettingsError(str(error)) from error


if __name__ == "__main__":
    main()
