"""Scheduler and alerter beside the embedded platform, for a server: nobody sits before its runs."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from proctor_alerter.settings import AlerterSettings
    from proctor_chassis.clock import Clock
    from proctor_chassis.metrics import Meters
    from proctor_chassis.process import Service
    from proctor_chassis.secrets import Redactor, Secrets
    from proctor_store.session import Database

__all__ = ["Watching"]


@dataclass(frozen=True, slots=True)
class Watching:
    """How runs are started on a clock and what is told of them, as the environment says."""

    alerter: AlerterSettings

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Self:
        """Read what the alerter is told.

        Raises:
            SettingsError: naming the variable that is wrong.
            ModuleNotFoundError: when a library that only servers need is not there.
        """
        import proctor_scheduler.app  # noqa: F401, PLC0415 - to miss its libraries now and not later
        from proctor_alerter.settings import AlerterSettings  # noqa: PLC0415 - a server's library

        return cls(AlerterSettings.from_env(env))

    def services(
        self,
        *,
        database: Database,
        secrets: Secrets,
        redactor: Redactor,
        clock: Clock,
        meters: Meters,
        wake_relay: Callable[[], None],
    ) -> Sequence[Service]:
        """Make both on the database of the API, whose relay `wake_relay` wakes."""
        from proctor_alerter.app import create_alerter  # noqa: PLC0415 - as above
        from proctor_scheduler.app import create_scheduler  # noqa: PLC0415 - as above

        self.alerter.hide(redactor)
        return (
            create_scheduler(database=database, clock=clock, meters=meters, wake_relay=wake_relay),
            create_alerter(
                database=database,
                settings=self.alerter,
                secrets=secrets,
                redactor=redactor,
                clock=clock,
                meters=meters,
                rng=random.SystemRandom(),
            ),
        )
