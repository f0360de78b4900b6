"""`python -m proctor_judge.check PROVIDER MODEL`: puts the self-test before a judge model."""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections.abc import Mapping, Sequence
from typing import TextIO

from pydantic import ValidationError

from proctor_chassis.clock import SystemClock
from proctor_chassis.egress import Operator
from proctor_chassis.egress.door import OutgoingDoor
from proctor_chassis.secrets import Redactor, Secrets
from proctor_contracts.agents import JudgeSettings
from proctor_llm import LlmSettings, Models

from .judging import Judging
from .selftest import self_test

__all__ = ["check", "main"]

TRUSTED, FOOLED, WRONG_USAGE = 0, 1, 3
_ARGUMENTS = 2


async def check(arguments: Sequence[str], *, env: Mapping[str, str], out: TextIO) -> int:
    """Print a line for each attack; 0 when the judge may be trusted, 1 when not, 3 for wrong arguments."""
    try:
        provider, model = arguments if len(arguments) == _ARGUMENTS else ("", "")
        settings = JudgeSettings.model_validate({"provider": provider, "model": model})
    except ValidationError:
        out.write(
            "usage: python -m proctor_judge.check PROVIDER MODEL (such as anthropic claude-sonnet-4-5)\n"
        )
        return WRONG_USAGE
    redactor = Redactor()
    door = OutgoingDoor(rules=Operator.from_environ(env, embedded=True))
    models = Models(
        settings=LlmSettings.from_environ(env),
        door=door,
        secrets=Secrets(environ=env, embedded=True, redactor=redactor),
    )
    judging = Judging(
        models=models, redactor=redactor, clock=SystemClock(), worker_id="check", rng=random.SystemRandom()
    )
    try:
        report = await self_test(judging.judge, settings)
    finally:
        await models.aclose()
        await door.aclose()
    for name, verdict in report.verdicts.items():
        note = " (talked into a pass)" if name in report.fooled_by else ""
        out.write(f"{name:<24} {verdict}{note}\n")
    out.write(f"{provider} {model}: {'may be trusted' if report.trusted else 'may not be used as a judge'}\n")
    return TRUSTED if report.trusted else FOOLED


def main() -> None:
    """Run the check with the arguments and the environment of the process."""
    raise SystemExit(asyncio.run(check(sys.argv[1:], env=os.environ, out=sys.stdout)))


if __name__ == "__main__":
    main()
