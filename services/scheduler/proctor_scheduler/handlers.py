"""What the scheduler does with a completed run."""

from __future__ import annotations

import logging

from proctor_chassis.bus import Meta
from proctor_contracts.messages import RunCompleted

__all__ = ["Handlers"]

_log = logging.getLogger(__name__)


class Handlers:
    """Takes completed runs off the queue of the scheduler."""

    async def run_completed(self, message: RunCompleted, meta: Meta) -> None:
        """Log the run, so that an operator sees it arrive."""
        _log.info(
            "run.completed",
            extra={
                "run": str(message.run_id),
                "status": message.status,
                "trigger": message.trigger,
                "delivery": meta.delivery,
            },
        )
