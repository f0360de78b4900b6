"""A matrix of two versions and two providers, each provider in a pool of its own, on real servers."""

from __future__ import annotations

import asyncio
import json
import signal
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

from tests.support.platform_processes import SECRET, Fleet, case
from tests.support.processes import Process
from tests.support.rest import PATIENCE, Rest
from tests.support.servers import fresh_amqp, fresh_database
from tests.support.stub_provider import Reply, Say, Seen, Status, polite_answer
from tests.support.until import until
from tools.servers.model import Servers

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="module")]

CASES = 40
BROKEN = frozenset(range(0, CASES, 4))
"""Cases that the hasty prompt gets wrong: ten of forty."""
CAREFUL, HASTY = "Ти — уважний помічник.", "Ти — поспішний помічник."
MODELS = {"anthropic": "claude-sonnet-4-5", "openai": "gpt-4o"}
POOLS = {"anthropic": "claude", "openai": "high"}
AT_ONCE = 5

RECOUNT = """
SELECT (SELECT count(*) FROM test_results t WHERE t.run_id = r.id) AS results,
  (SELECT count(*) FROM result_phases p WHERE p.run_id = r.id) AS phases,
  (SELECT count(DISTINCT (result_id, attempt, phase)) FROM result_phases p WHERE p.run_id = r.id) AS keys,
  (SELECT count(*) FROM run_events e WHERE e.run_id = r.id AND e.event = 'run.completed') AS ends
FROM test_runs r WHERE r.compare_run_id = $1
"""


def by_prompt(seen: Seen) -> Reply:
    """A model that does as it is told: in haste it forgets what it was asked."""
    asked = seen.last_user_text
    hasty = HASTY in json.dumps(seen.body, ensure_ascii=False)
    if hasty and any(asked.endswith(f"№{number}") for number in BROKEN):
        return Say("Гаразд.")
    return polite_answer(seen)


class Stage:
    """An API, and a runner for each of the two pools; claude is played by one stub, openai by the other."""

    def __init__(self, fleet: Fleet, rest: Rest, claude: Process, agent: str, versions: list[str]) -> None:
        self.fleet = fleet
        self.rest = rest
        self.claude = claude
        self.agent = agent
        self.versions = versions

    async def compare(self, **more: Any) -> Any:
        """Start both versions with both providers, the careful one with claude as the baseline."""
        matrix = [
            {"promptVersionId": version, "provider": provider, "model": model}
            for version in self.versions
            for provider, model in MODELS.items()
        ]
        path = f"/testing/compare/agents/{self.agent}"
        return await self.rest.post(path, {"matrix": matrix, "baseline": 0, **more})

    async def over(self, compare: str) -> Any:
        """Wait for the end of a comparison; its detail."""
        never = asyncio.Event()
        async with asyncio.timeout(PATIENCE):
            while (found := await self.rest.get(f"/testing/compare/{compare}"))["completedAt"] is None:
                try:
                    await asyncio.wait_for(never.wait(), 0.1)
                except TimeoutError:
                    continue
        return found


async def runner(fleet: Fleet, pool: str) -> Process:
    return await fleet.serve(
        "runner",
        PROCTOR_POOL=pool,
        PROCTOR_POOLS="claude",
        PROCTOR_CONCURRENCY=str(AT_ONCE),
        OPENAI_BASE_URL=fleet.bot.openai_url,
        OPENAI_API_KEY=SECRET,
    )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def started(servers: Servers) -> AsyncIterator[Stage]:
    with fresh_amqp(servers) as amqp_url, fresh_database(servers) as database_url:
        async with Fleet.on(amqp_url, database_url) as fleet:
            pools = ",".join(f"{provider}={pool}" for provider, pool in POOLS.items())
            api, claude, _ = await asyncio.gather(
                fleet.serve("api", PROCTOR_POOLS="claude", PROCTOR_POOL_BY_PROVIDER=pools),
                runner(fleet, "claude"),
                runner(fleet, "high"),
            )
            rest = await fleet.api(api)
            body = {"name": "compared", "provider": "anthropic", "model": MODELS["anthropic"]}
            bot = (await rest.post("/integrations", {**body, "agentPrompt": CAREFUL}))["id"]
            await rest.cases(bot, [case(number) for number in range(CASES)])
            (agent,) = await rest.get(f"/testing/agents?integrationId={bot}")
            hasty = await rest.post(f"/testing/agents/{agent['id']}/versions", {"prompt": HASTY})
            versions = [agent["currentVersionId"], hasty["id"]]
            yield Stage(fleet, rest, claude, agent["id"], versions)


@pytest.fixture
def stage(started: Stage) -> Any:
    """The stage with both models doing as they are told; no log may show a fault after."""
    started.fleet.forget()
    started.fleet.bot.answer = started.fleet.judge.answer = by_prompt
    yield started
    assert started.fleet.faults() == []


async def test_a_matrix_in_two_pools_loses_nothing_when_the_runner_of_one_is_killed(stage: Stage) -> None:
    claude = stage.fleet.judge
    claude.hold = asyncio.Event()
    compare = await stage.compare()
    assert [cell["pool"] for cell in compare["cells"]] == [
        POOLS[cell["provider"]] for cell in compare["cells"]
    ]
    # The other pool goes on while this one stands still with work in hand.
    await until(lambda: claude.in_flight == AT_ONCE)
    for cell in compare["cells"]:
        if cell["provider"] == "openai":
            await stage.rest.ended(cell["runId"])
    await stage.claude.end(signal.SIGKILL)
    await until(lambda: claude.in_flight == 0)
    held, claude.hold = claude.hold, None
    held.set()
    stage.claude = await runner(stage.fleet, "claude")

    detail = await stage.over(compare["id"])
    assert detail["status"] == "completed"
    rows = await stage.fleet.rows(RECOUNT, UUID(compare["id"]))
    assert [tuple(row.values()) for row in rows] == [(CASES, CASES, CASES, 1)] * 4

    # One table: 160 results side by side, the ten cases that differ first.
    table = detail["rows"]
    assert (len(table), detail["rowsTotal"]) == (CASES, CASES)
    assert Counter(result["status"] for row in table for result in row["cells"]) == {
        "passed": 2 * CASES + 2 * (CASES - len(BROKEN)),
        "failed": 2 * len(BROKEN),
    }
    assert {row["caseRef"] for row in table[: len(BROKEN)]} == {f"c-{number}" for number in BROKEN}
    assert not any(row["differs"] for row in table[len(BROKEN) :])

    # One verdict for each pair of cells: the prompt makes the difference, the provider none.
    verdicts = {frozenset((pair["a"], pair["b"])): pair for pair in detail["pairs"]}
    assert len(verdicts) == len(detail["pairs"]) == 6
    prompt = [0, 0, 1, 1]
    for pair in detail["pairs"]:
        same = prompt[pair["a"]] == prompt[pair["b"]]
        told = "no_evidence" if same else "worse" if prompt[pair["b"]] else "better"
        assert pair["verdict"] == told, pair["summary"]
    same_prompt = verdicts[frozenset((0, 1))]
    assert same_prompt["summary"].startswith("no evidence of a difference")
    assert "points" in same_prompt["summary"]
    hasty = verdicts[frozenset((0, 2))]
    assert set(hasty["broken"]) == {f"c-{number}" for number in BROKEN}
    assert hasty["test"]["worse"] == len(BROKEN)
    assert hasty["test"]["meanDifference"] == -len(BROKEN) / CASES


async def test_a_cell_whose_provider_fails_ends_in_errors_and_the_others_end_as_they_would(
    stage: Stage,
) -> None:
    stage.fleet.bot.answer = lambda _: Status(401)
    detail = await stage.over((await stage.compare())["id"])
    statuses = [
        (cell["provider"], cell["run"]["status"], cell["run"]["summary"]["error"]) for cell in detail["cells"]
    ]
    assert statuses == [("anthropic", "completed", 0), ("openai", "failed", CASES)] * 2
    verdicts = {(pair["a"], pair["b"]): pair["verdict"] for pair in detail["pairs"]}
    assert verdicts[0, 2] == "worse"
    assert {verdict for places, verdict in verdicts.items() if 1 in places or 3 in places} == {
        "not_comparable"
    }


async def test_cancelling_a_matrix_ends_every_cell_of_it(stage: Stage) -> None:
    for stub in (stage.fleet.bot, stage.fleet.judge):
        stub.hold = asyncio.Event()
    compare = await stage.compare()
    await until(lambda: stage.fleet.bot.in_flight == stage.fleet.judge.in_flight == AT_ONCE)
    cancelled = await stage.rest.post(f"/testing/compare/{compare['id']}/cancel")
    assert cancelled["status"] == "cancelled"
    assert {cell["run"]["status"] for cell in cancelled["cells"]} == {"cancelled"}
    await until(lambda: stage.fleet.bot.in_flight == stage.fleet.judge.in_flight == 0)
