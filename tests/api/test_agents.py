"""Agents and versions over HTTP, on both databases."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import pytest

from tests.api.conftest import BOTH, Api, case

pytestmark = BOTH


async def agent_of(api: Api, bot: str) -> Any:
    (agent,) = await api.data("GET", f"/testing/agents?integrationId={bot}")
    return agent


async def draft(api: Api, agent: str, prompt: str, **more: Any) -> Any:
    body = {"prompt": prompt, **more}
    return await api.data("POST", f"/testing/agents/{agent}/versions", body, status=201)


async def versions(api: Api, agent: str) -> Any:
    return await api.data("GET", f"/testing/agents/{agent}/versions")


async def prompt_of(api: Api, bot: str) -> Any:
    return (await api.data("GET", f"/integrations/{bot}"))["agentPrompt"]


async def test_the_first_look_makes_the_agent_with_version_1_from_the_prompt(api: Api) -> None:
    bot = await api.integration(agentPrompt="Ти — асистент.")
    agent = await agent_of(api, bot)
    assert (agent["name"], agent["integrationId"], agent["promptDiffers"]) == ("main", bot, False)
    (first,) = await versions(api, agent["id"])
    assert (first["id"], first["versionNumber"]) == (agent["currentVersionId"], 1)
    assert (first["prompt"], first["source"], first["isCurrent"]) == ("Ти — асистент.", "manual", True)
    assert agent["currentVersion"]["versionNumber"] == 1
    assert await api.data("GET", f"/testing/agents/{agent['id']}") == agent
    assert await agent_of(api, bot) == agent
    assert await api.data("GET", "/testing/agents") == [agent]


async def test_fifty_first_looks_at_once_make_one_agent_and_one_version(api: Api) -> None:
    bot = await api.integration(agentPrompt="Привіт")
    seen = await asyncio.gather(*(agent_of(api, bot) for _ in range(50)))
    assert len({agent["id"] for agent in seen}) == 1
    assert [one["versionNumber"] for one in await versions(api, seen[0]["id"])] == [1]


async def test_numbers_have_no_gap_when_many_draft_at_once_and_some_are_refused(api: Api) -> None:
    agent = (await agent_of(api, await api.integration()))["id"]
    path = f"/testing/agents/{agent}/versions"

    async def attempt(number: int) -> int:
        parent = str(uuid4()) if number % 3 == 0 else None
        answer = await api("POST", path, {"prompt": f"p{number}", "parentVersionId": parent})
        return answer.status_code

    codes = await asyncio.gather(*(attempt(number) for number in range(24)))
    assert sorted(codes) == [201] * 16 + [400] * 8
    assert [one["versionNumber"] for one in await versions(api, agent)] == list(range(17, 0, -1))


async def test_versions_are_paged_newest_first_and_found_by_number(api: Api) -> None:
    agent = (await agent_of(api, await api.integration()))["id"]
    for number in range(2, 6):
        await draft(api, agent, f"p{number}")
    path = f"/testing/agents/{agent}/versions"
    page = (await api("GET", f"{path}?take=2")).json()
    assert [one["versionNumber"] for one in page["data"]] == [5, 4]
    following = (await api("GET", f"{path}?take=2&cursor={page['meta']['nextCursor']}")).json()
    assert [one["versionNumber"] for one in following["data"]] == [3, 2]
    assert following["meta"]["total"] == 5
    assert [one["prompt"] for one in await api.data("GET", f"{path}?versionNumber=3")] == ["p3"]
    assert await api.data("GET", f"{path}?versionNumber=9") == []
    await api.problem("GET", f"{path}?versionNumber=681812836839")


async def test_activating_writes_the_prompt_back_and_names_what_was_current(api: Api) -> None:
    bot = await api.integration(agentPrompt="one")
    agent = await agent_of(api, bot)
    second = await draft(api, agent["id"], "two", notes="коротше", createdBy="олена")
    assert (second["parentVersionId"], second["isCurrent"]) == (agent["currentVersionId"], False)
    assert (second["notes"], second["createdBy"]) == ("коротше", "олена")
    assert await prompt_of(api, bot) == "one"
    path = f"/testing/agents/{agent['id']}/versions/{second['id']}"
    done = await api.data("POST", f"{path}/activate")
    assert (done["currentVersionId"], done["previousVersionId"]) == (second["id"], agent["currentVersionId"])
    assert await prompt_of(api, bot) == "two"
    assert (await api.data("GET", path))["isCurrent"] is True


async def test_a_prompt_changed_past_the_versions_is_seen_and_activating_mends_it(api: Api) -> None:
    bot = await api.integration(agentPrompt="one")
    agent = await agent_of(api, bot)
    await api.data("PATCH", f"/integrations/{bot}", {"agentPrompt": "edited in the platform"})
    assert (await agent_of(api, bot))["promptDiffers"] is True
    current = agent["currentVersionId"]
    done = await api.data("POST", f"/testing/agents/{agent['id']}/versions/{current}/activate")
    assert (done["previousVersionId"], done["promptDiffers"]) == (current, False)
    assert await prompt_of(api, bot) == "one"


async def test_of_activations_at_once_one_stays_and_every_answer_is_true(api: Api) -> None:
    bot = await api.integration(agentPrompt="v1")
    agent = await agent_of(api, bot)
    made = [await draft(api, agent["id"], f"v{number}") for number in range(2, 8)]
    path = f"/testing/agents/{agent['id']}/versions"
    answers = await asyncio.gather(
        *(api.data("POST", f"{path}/{version['id']}/activate") for version in made)
    )
    # Each answer names its own version as current, and together they are one chain that ends where we are.
    assert [one["currentVersionId"] for one in answers] == [version["id"] for version in made]
    before = {one["currentVersionId"]: one["previousVersionId"] for one in answers}
    last = (await agent_of(api, bot))["currentVersionId"]
    chain = [last]
    while chain[-1] in before:
        chain.append(before[chain[-1]])
    assert sorted(chain) == sorted([agent["currentVersionId"], *before])
    assert await prompt_of(api, bot) == next(one["prompt"] for one in made if one["id"] == last)


async def test_rolling_back_clones_a_version_and_activates_the_clone(api: Api) -> None:
    bot = await api.integration(agentPrompt="one")
    agent = await agent_of(api, bot)
    path = f"/testing/agents/{agent['id']}/versions"
    second = await draft(api, agent["id"], "two")
    await api.data("POST", f"{path}/{second['id']}/activate")
    clone = await api.data("POST", f"{path}/{agent['currentVersionId']}/rollback", status=201)
    assert (clone["versionNumber"], clone["source"], clone["prompt"]) == (3, "rollback", "one")
    assert (clone["parentVersionId"], clone["isCurrent"]) == (agent["currentVersionId"], True)
    assert await prompt_of(api, bot) == "one"
    assert [one["prompt"] for one in await versions(api, agent["id"])] == ["one", "two", "one"]


async def test_sync_keeps_an_immutable_snapshot_that_is_not_current(api: Api) -> None:
    bot = await api.integration(agentPrompt="one", platformAssistantId="asst_7")
    agent = await agent_of(api, bot)
    await api.data("PATCH", f"/integrations/{bot}", {"agentPrompt": "from the platform"})
    snapshot = await api.data("POST", f"/testing/agents/{agent['id']}/sync", status=201)
    assert (snapshot["source"], snapshot["isImmutable"]) == ("platform_sync", True)
    assert (snapshot["prompt"], snapshot["platformVersion"]) == ("from the platform", "asst_7")
    assert snapshot["platformSyncedAt"] is not None
    assert (snapshot["isCurrent"], snapshot["versionNumber"]) == (False, 2)
    assert (await agent_of(api, bot))["currentVersionId"] == agent["currentVersionId"]


async def test_the_marker_of_export_changes_nothing_else(api: Api) -> None:
    agent = await agent_of(api, await api.integration())
    version = await draft(api, agent["id"], "two")
    marked = await api.data("POST", f"/testing/agents/versions/{version['id']}/exported")
    assert marked["exportedToPlatformAt"] is not None
    changed = {"exportedToPlatformAt", "updatedAt"}
    assert {key: marked[key] for key in marked.keys() - changed} == {
        key: version[key] for key in version.keys() - changed
    }


async def test_defaults_are_set_and_cleared(api: Api) -> None:
    agent = await agent_of(api, await api.integration())
    path = f"/testing/agents/{agent['id']}"
    changed = await api.data("PATCH", path, {"defaultProvider": "anthropic", "defaultModel": "claude-x"})
    assert (changed["defaultProvider"], changed["defaultModel"]) == ("anthropic", "claude-x")
    assert (await api.data("PATCH", path, {"defaultModel": None}))["defaultModel"] is None
    assert (await api.problem("PATCH", path, {"name": None}))["errors"][0]["path"] == "name"
    assert (await api.problem("PATCH", path, {"defaultProvider": "gpt"}))["errors"][0]["path"]


async def test_two_versions_stand_side_by_side(api: Api) -> None:
    agent = await agent_of(api, await api.integration(agentPrompt="Будь ввічливим.\nНе радь дорогого."))
    second = await draft(api, agent["id"], "Будь ввічливим.\nНе радь дешевого.")
    path = f"/testing/agents/{agent['id']}/versions/{agent['currentVersionId']}/diff/{second['id']}"
    found = await api.data("GET", path)
    assert (found["left"]["versionNumber"], found["right"]["versionNumber"]) == (1, 2)
    assert (found["identical"], found["wordsRemoved"], found["wordsAdded"]) == (False, 1, 1)
    assert [row["kind"] for row in found["rows"]] == ["equal", "changed"]
    assert [span["text"] for span in found["rows"][1]["right"] if span["changed"]] == ["дешевого"]


async def test_what_is_not_there_is_404_and_a_foreign_parent_400(api: Api) -> None:
    agent = (await agent_of(api, await api.integration()))["id"]
    other = await agent_of(api, await api.integration("other"))
    foreign = other["currentVersionId"]
    path = f"/testing/agents/{agent}/versions"
    for method, where in (
        ("GET", f"/testing/agents?integrationId={uuid4()}"),
        ("GET", f"/testing/agents/{uuid4()}"),
        ("PATCH", f"/testing/agents/{uuid4()}"),
        ("GET", f"/testing/agents/{uuid4()}/versions"),
        ("GET", f"{path}/{foreign}"),
        ("POST", f"{path}/{foreign}/activate"),
        ("POST", f"{path}/{foreign}/rollback"),
        ("GET", f"{path}/{foreign}/diff/{foreign}"),
        ("POST", f"/testing/agents/{uuid4()}/sync"),
        ("POST", f"/testing/agents/versions/{uuid4()}/exported"),
        ("GET", f"{path}/681812836839"),
    ):
        await api.problem(method, where, {} if method == "PATCH" else None, status=404)
    problem = await api.problem("POST", path, {"prompt": "x", "parentVersionId": foreign})
    assert problem["errors"][0]["path"] == "parentVersionId"
    stranger = await api.another("umbrella")
    await stranger.problem("GET", f"/testing/agents/{agent}", status=404)
    await stranger.problem("POST", f"/testing/agents/versions/{foreign}/exported", status=404)
    assert await stranger.data("GET", "/testing/agents") == []
    await api.problem("GET", "/testing/agents", status=403, key=await api.public_key())


async def test_prompts_have_a_limit_in_bytes_and_cannot_be_empty(api: Api) -> None:
    agent = (await agent_of(api, await api.integration()))["id"]
    path = f"/testing/agents/{agent}/versions"
    problem = await api.problem("POST", path, {"prompt": "ї" * 140_000}, status=413)
    assert problem["errors"][0]["path"] == "prompt"
    for body in ({"prompt": ""}, {}, {"prompt": "a\x00"}, {"prompt": "x", "promtp": "y"}):
        await api.problem("POST", path, body)


async def test_deleting_the_integration_ends_its_agent(api: Api) -> None:
    bot = await api.integration()
    agent = await agent_of(api, bot)
    assert (await api("DELETE", f"/integrations/{bot}")).status_code == 204
    await api.problem("GET", f"/testing/agents/{agent['id']}", status=404)


async def run(api: Api, bot: str, *, status: int = 201, **more: Any) -> Any:
    body = {"integrationId": bot, "caseFilter": {}, **more}
    if status < 300:
        return await api.data("POST", "/testing/runs", body, status=status)
    return await api.problem("POST", "/testing/runs", body, status=status)


@pytest.fixture
async def bot(api: Api) -> str:
    bot = await api.integration(agentPrompt="one")
    await api.data("POST", "/testing/cases", {"integrationId": bot} | case(), status=201)
    return bot


async def test_a_run_takes_the_version_it_names_and_keeps_it(api: Api, bot: str) -> None:
    agent = await agent_of(api, bot)
    second = await draft(api, agent["id"], "two")
    started = await run(api, bot, promptVersionId=second["id"])
    assert (started["agentId"], started["promptVersionId"]) == (agent["id"], second["id"])
    assert (started["agentPromptSnapshot"], started["promptOverridden"]) == ("two", False)
    third = await draft(api, agent["id"], "three")
    await api.data("POST", f"/testing/agents/{agent['id']}/versions/{third['id']}/activate")
    assert (await api.data("GET", f"/testing/runs/{started['id']}"))["agentPromptSnapshot"] == "two"
    plain = await run(api, bot)
    assert (plain["agentPromptSnapshot"], plain["promptVersionId"]) == ("three", None)
    await api.data("POST", f"/testing/runs/{started['id']}/cancel")
    again = await api.data("POST", f"/testing/runs/{started['id']}/rerun", status=201)
    assert (again["agentPromptSnapshot"], again["promptVersionId"]) == ("two", second["id"])


async def test_a_version_brings_the_agents_default_model(api: Api, bot: str) -> None:
    agent = await agent_of(api, bot)
    path = f"/testing/agents/{agent['id']}"
    await api.data("PATCH", path, {"defaultProvider": "anthropic", "defaultModel": "claude-x"})
    version = agent["currentVersionId"]

    async def used(**more: Any) -> tuple[str, str]:
        started = await run(api, bot, **more)
        return started["provider"], started["model"]

    assert await used(promptVersionId=version) == ("anthropic", "claude-x")
    assert await used(promptVersionId=version, model="claude-y") == ("anthropic", "claude-y")
    assert await used(promptVersionId=version, provider="openai") == ("openai", "m")
    assert await used() == ("openai", "m")


async def test_a_version_that_is_none_or_another_agents_is_refused_by_name(api: Api, bot: str) -> None:
    other = await agent_of(api, await api.integration("other"))
    foreign = await run(api, bot, promptVersionId=other["currentVersionId"], status=400)
    assert (foreign["errors"][0]["path"], foreign["errors"][0]["code"]) == (
        "promptVersionId",
        "foreign_version",
    )
    unknown = await run(api, bot, promptVersionId=str(uuid4()), status=404)
    assert unknown["errors"][0]["path"] == "promptVersionId"
    agent = await agent_of(api, bot)
    both = await run(api, bot, promptVersionId=agent["currentVersionId"], agentPromptOverride="x", status=400)
    assert both["errors"][0]["path"] == "agentPromptOverride"
    assert (await api("GET", "/testing/runs")).json()["meta"]["total"] == 0


@pytest.mark.parametrize(
    ("sent", "warned"), [({"message": "{{message}}"}, True), ({"system": "Так: {{ prompt }}"}, False)]
)
async def test_a_version_that_never_reaches_the_bot_is_warned_of(
    api: Api, *, sent: dict[str, Any], warned: bool
) -> None:
    endpoint = {"url": "https://bot.example/chat", "body": sent | {"m": "{{message}}"}, "replyPath": "$.a"}
    bot = await api.integration("site", provider="http", model=None, endpoint=endpoint)
    await api.data("POST", "/testing/cases", {"integrationId": bot} | case(), status=201)
    version = (await agent_of(api, bot))["currentVersionId"]
    started = await run(api, bot, promptVersionId=version)
    assert ("prompt_not_sent" in [one["code"] for one in started["warnings"]]) is warned
