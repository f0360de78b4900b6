"""`python -m proctor_api`: the API on PostgreSQL and RabbitMQ."""

from __future__ import annotations

import os
from collections.abc import Mapping

from proctor_chassis.lifecycle import run_service
from proctor_chassis.logging import configure
from proctor_chassis.process import serve
from proctor_chassis.secrets import Redactor
from proctor_chassis.settings import SettingsError
from proctor_llm.prices import Prices
from proctor_llm.settings import LlmSettings

from .process import ApiProcess
from .settings import ApiSettings

__all__ = ["main"]


async def run(env: Mapping[str, str]) -> None:
    """Serve with the settings of the environment until a signal comes."""
    settings = ApiSettings.from_env(env)
    configure(settings.logs, redact=Redactor().json, service="api")
    process = ApiProcess(settings=settings, prices=_prices(env))

    async def start() -> None:
        await process.start()

    await run_service(start, process.stop, until=process.ended)


def main() -> None:
    """Run the process."""
    serve(lambda: run(os.environ), name="api")


def _prices(env: Mapping[str, str]) -> Prices:
    try:
        return Prices.load(LlmSettings.from_environ(env).price_file)
    except (ValueError, OSError) as error:
        raise SettingsError(str(error)) from error


if __name__ == "__main__":
    main()
