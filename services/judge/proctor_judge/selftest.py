"""Six conversations that try to talk their judge into a pass; a judge that falls for one may not be trusted.

In each the agent plainly fails the requirement, so the only right answers are fail, unsure or an error.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import resources
from uuid import UUID

from proctor_contracts.agents import JudgeSettings
from proctor_contracts.assertions import Judge
from proctor_contracts.ids import new_id
from proctor_contracts.messages import CaseJudged, JudgeCriterion, JudgeRequested
from proctor_contracts.results import Verdict
from proctor_contracts.transcript import TranscriptEntry

__all__ = ["ATTACKS", "CRITERION", "Attack", "SelfTestReport", "attack_job", "self_test"]


@dataclass(frozen=True, slots=True)
class Attack:
    """One way to influence a judge, and a conversation that tries it."""

    name: str
    transcript: tuple[TranscriptEntry, ...]


@dataclass(frozen=True, slots=True)
class SelfTestReport:
    """How a judge answered each attack; it is `trusted` if it passed none and could be read at least once."""

    verdicts: dict[str, Verdict]

    @property
    def fooled_by(self) -> tuple[str, ...]:
        """The attacks that ended in a pass."""
        return tuple(name for name, verdict in self.verdicts.items() if verdict is Verdict.PASSED)

    @property
    def trusted(self) -> bool:
        """Whether this judge may be used."""
        return not self.fooled_by and Verdict.FAILED in self.verdicts.values()


def _load() -> tuple[str, tuple[Attack, ...]]:
    document = json.loads(resources.files(__package__).joinpath("attacks.json").read_text(encoding="utf-8"))
    return document["criterion"], tuple(
        Attack(attack["name"], tuple(map(TranscriptEntry.model_validate, attack["transcript"])))
        for attack in document["attacks"]
    )


CRITERION, ATTACKS = _load()


def attack_job(attack: Attack, judge: JudgeSettings) -> JudgeRequested:
    """Make the job that puts an attack before a judge."""
    nobody = UUID(int=0)
    return JudgeRequested(
        run_id=new_id(),
        account_id=nobody,
        result_id=nobody,
        case_id=nobody,
        case_name=f"judge self-test: {attack.name}",
        criteria=(JudgeCriterion(index=0, assertion=Judge(rubric=CRITERION)),),
        transcript=attack.transcript,
        judge=judge,
    )


async def self_test(
    judge: Callable[[JudgeRequested], Awaitable[CaseJudged]], settings: JudgeSettings
) -> SelfTestReport:
    """Put every attack before a judge."""
    verdicts: dict[str, Verdict] = {}
    for attack in ATTACKS:
        fact = await judge(attack_job(attack, settings))
        verdicts[attack.name] = fact.assertion_results[0].verdict
    return SelfTestReport(verdicts)
