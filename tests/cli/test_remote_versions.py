"""What the client asks of a server about agents and versions."""

from __future__ import annotations

import json

import pytest

from proctor_cli.client import PlatformRefused, PlatformUnavailable
from proctor_contracts.schemas.agents import VersionCreate
from tests.cli.fake_versions import FakeVersions
from tests.cli.test_remote import Server, bot, data, problem
from tests.reports.documents import uid

BOT, AGENT = uid(2), uid(3)
VERSIONS = f"/api/testing/agents/{AGENT}/versions"


@pytest.fixture
def server() -> Server:
    return Server()


async def test_a_bot_is_found_by_name_or_by_id(server: Server) -> None:
    server.on("GET", "/api/integrations", data([bot("mine", BOT)]))
    server.on("GET", f"/api/integrations/{BOT}", data(bot("mine", BOT)))
    async with server.client() as platform:
        for name in ("mine", str(BOT)):
            assert (await platform.find_integration(name)).id == BOT
    assert server.seen[0][1] == "/api/integrations?name=mine&take=1"


async def test_a_bot_that_is_not_there_is_refused_with_its_name(server: Server) -> None:
    server.on("GET", "/api/integrations", data([]))
    async with server.client() as platform:
        with pytest.raises(PlatformRefused, match="other"):
            await platform.find_integration("other")


async def test_a_refusal_is_not_taken_for_a_missing_bot(server: Server) -> None:
    server.on("GET", f"/api/integrations/{BOT}", problem(403, "forbidden"))
    async with server.client() as platform:
        with pytest.raises(PlatformRefused, match="forbidden"):
            await platform.find_integration(str(BOT))


async def test_versions_are_asked_for_made_and_steered(server: Server) -> None:
    kept = FakeVersions(bot=BOT, agent=AGENT)
    agent = await kept.agent_of(BOT)
    first, second = kept.kept[0], await kept.create_version(AGENT, VersionCreate(prompt="two"))
    done = await kept.activate_version(AGENT, second.id)
    compared = await kept.diff_versions(AGENT, first.id, second.id)

    def wire(value: object) -> object:
        return json.loads(value.model_dump_json())  # type: ignore[attr-defined]  # every value here is a model

    server.on("GET", "/api/testing/agents", data([wire(agent)]), data([]))
    server.on("GET", VERSIONS, data([wire(second)]))
    server.on("POST", VERSIONS, data(wire(second)))
    server.on("POST", f"{VERSIONS}/{second.id}/activate", data(wire(done)))
    server.on("POST", f"{VERSIONS}/{first.id}/rollback", data(wire(second)))
    server.on("POST", f"/api/testing/agents/{AGENT}/sync", data(wire(second)))
    server.on("GET", f"{VERSIONS}/{first.id}/diff/{second.id}", data(wire(compared)))
    async with server.client() as platform:
        assert await platform.agent_of(BOT) == agent
        assert await platform.versions(AGENT, number=2, take=1) == (second,)
        assert await platform.create_version(AGENT, VersionCreate(prompt="two")) == second
        assert await platform.activate_version(AGENT, second.id) == done
        assert await platform.rollback_version(AGENT, first.id) == second
        assert await platform.sync_agent(AGENT) == second
        assert await platform.diff_versions(AGENT, first.id, second.id) == compared
        with pytest.raises(PlatformUnavailable):
            await platform.agent_of(BOT)
    assert server.seen[0][1] == f"/api/testing/agents?integrationId={BOT}"
    assert server.seen[1][1] == f"{VERSIONS}?versionNumber=2&take=1"
    assert server.seen[2][2] == {"prompt": "two"}
