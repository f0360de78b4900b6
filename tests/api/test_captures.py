"""Captured conversations over REST: pushed once, sorted, shown to whom they belong."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from uuid import uuid4

import pytest

from proctor_api.usecases import captures as captures_module
from proctor_store.repositories import accounts
from proctor_store.session import Database
from tests.api.conftest import BOTH, Api, case

pytestmark = BOTH

TRANSCRIPT = [
    {"role": "tester", "content": "Привіт", "timestamp": "2026-05-13T09:00:00Z"},
    {
        "role": "agent",
        "content": "Вітаю!",
        "timestamp": "2026-05-13T09:00:02Z",
        "toolCalls": [{"name": "search.products", "argsRaw": '{"q":"акне"}'}],
    },
]


def capture(integration: str, **more: Any) -> dict[str, Any]:
    return {"integrationId": integration, "transcript": TRANSCRIPT, **more}


async def test_a_capture_is_kept_as_it_was_pushed(api: Api) -> None:
    bot = await api.integration()
    body = capture(
        bot,
        source="sofa",
        externalId="chat-2026-05-13-abc",
        metadata={"userId": "u-1", "model": "claude-sonnet-4-20250514", "tokensIn": 150},
        tags=["production", "flagged-by-operator"],
        flaggedReason="Bot didn't escalate when client mentioned refund",
    )
    made = await api.data("POST", "/testing/captures", body, status=201)
    assert made == await api.data("GET", f"/testing/captures/{made['id']}")
    kept = {name: made[name] for name in body if name != "transcript"}
    assert kept == {name: value for name, value in body.items() if name != "transcript"}
    assert made["status"] == "new"
    assert made["convertedCaseId"] is made["convertedAt"] is None
    assert [(one["role"], one["content"]) for one in made["transcript"]] == [
        ("tester", "Привіт"),
        ("agent", "Вітаю!"),
    ]
    (call,) = made["transcript"][1]["toolCalls"]
    assert (call["name"], call["argsRaw"]) == ("search.products", '{"q":"акне"}')


async def test_pushing_again_answers_with_the_row_that_is_there(api: Api) -> None:
    bot, other = await api.integration(), await api.integration("other")
    first = await api.data("POST", "/testing/captures", capture(bot, externalId="c-1"), status=201)
    again = capture(bot, externalId="c-1", tags=["later"], source="audit")
    assert await api.data("POST", "/testing/captures", again, status=200) == first
    elsewhere = await api.data("POST", "/testing/captures", capture(other, externalId="c-1"), status=201)
    assert elsewhere["id"] != first["id"]
    nameless = [await api.data("POST", "/testing/captures", capture(bot), status=201) for _ in range(2)]
    assert nameless[0]["id"] != nameless[1]["id"]
    await api("DELETE", f"/testing/captures/{first['id']}")
    assert (await api.data("POST", "/testing/captures", again, status=201))["tags"] == ["later"]


async def test_pushing_at_once_makes_one_row(api: Api) -> None:
    bot = await api.integration()
    answers = await asyncio.gather(
        *(api("POST", "/testing/captures", capture(bot, externalId="c-1")) for _ in range(12))
    )
    assert sorted(answer.status_code for answer in answers) == [200] * 11 + [201]
    assert len({answer.json()["data"]["id"] for answer in answers}) == 1


async def test_an_idempotency_key_names_one_capture(api: Api) -> None:
    bot = await api.integration()
    headers = {"Idempotency-Key": "k-1"}
    first = await api.data("POST", "/testing/captures", capture(bot), status=201, headers=headers)
    assert await api.data("POST", "/testing/captures", capture(bot), status=200, headers=headers) == first
    changed = capture(bot, tags=["other"])
    problem = await api.problem("POST", "/testing/captures", changed, status=409, headers=headers)
    assert problem["code"] == "idempotency_key_reused"
    stranger = await api.another("stranger")
    theirs = capture(await stranger.integration())
    await stranger.data("POST", "/testing/captures", theirs, status=201, headers=headers)


async def test_a_public_key_may_push_and_learns_nothing_that_was_stored(api: Api) -> None:
    bot = await api.integration()
    body = capture(bot, externalId="c-1", metadata={"a": 1}, tags=["t"], flaggedReason="r")
    made = await api.data("POST", "/testing/captures", body, status=201)
    key = await api.public_key()
    told = await api.data("POST", "/testing/captures", capture(bot, externalId="c-1"), status=200, key=key)
    assert told["id"] == made["id"]
    assert (told["transcript"], told["metadata"], told["tags"], told["flaggedReason"]) == ([], None, [], None)
    await api.data("POST", "/testing/captures", capture(bot, externalId="c-2"), status=201, key=key)
    one = f"/testing/captures/{made['id']}"
    for method, path, sent in (
        ("GET", "/testing/captures", None),
        ("GET", one, None),
        ("DELETE", one, None),
        ("PATCH", f"{one}/status", {"status": "ignored"}),
        ("POST", f"{one}/convert", {}),
        ("POST", "/testing/cases/replay", {"integrationId": bot, "transcript": TRANSCRIPT}),
    ):
        await api.problem(method, path, sent, status=403, key=key)


async def test_personal_data_is_replaced_unless_the_account_keeps_it(api: Api, database: Database) -> None:
    bot = await api.integration()
    body = capture(
        bot,
        externalId="+380501234567",
        transcript=[
            {"role": "user", "content": "Я Олена, +380501234567, olena@example.com"},
            {"role": "agent", "content": "Дякую, Олено! Дзвонимо на 050 123 45 67"},
        ],
        metadata={"user": {"name": "Олена"}, "contact": "olena@example.com"},
        tags=["0501234567"],
        flaggedReason="Олені не відповіли",
    )
    made = await api.data("POST", "/testing/captures", body, status=201)
    assert [one["content"] for one in made["transcript"]] == [
        "Я [name-1], [phone-1], [email-1]",
        "Дякую, [name-1]! Дзвонимо на [phone-1]",
    ]
    assert made["metadata"] == {"user": {"name": "[name-1]"}, "contact": "[email-1]"}
    assert (made["tags"], made["flaggedReason"]) == (["[phone-1]"], "[name-1] не відповіли")
    assert made["externalId"] == "+380501234567"
    assert (await api.data("POST", "/testing/captures", body, status=200))["id"] == made["id"]
    async with database.transaction() as unit:
        await accounts.change(unit, api.caller.account_id, {"keeps_personal_data": True})
    kept = await api.data("POST", "/testing/captures", body | {"externalId": "2"}, status=201)
    assert kept["transcript"][0]["content"] == "Я Олена, +380501234567, olena@example.com"
    assert kept["metadata"] == body["metadata"]


async def test_a_list_is_filtered_and_paged(api: Api) -> None:
    bot, other = await api.integration(), await api.integration("other")
    differences: list[dict[str, Any]] = [{"source": "sofa"}, {"tags": ["нічне"]}, {"source": "audit"}, {}]
    made = [
        await api.data("POST", "/testing/captures", capture(bot, externalId=f"c-{n}", **more), status=201)
        for n, more in enumerate(differences)
    ]
    foreign = await api.data("POST", "/testing/captures", capture(other), status=201)
    await api.data("PATCH", f"/testing/captures/{made[3]['id']}/status", {"status": "ignored"})

    async def ids(query: str) -> list[str]:
        return [one["id"] for one in await api.data("GET", f"/testing/captures?{query}")]

    newest_first = [one["id"] for one in reversed(made)]
    assert await ids("") == [foreign["id"], *newest_first]
    assert await ids(f"integrationId={bot}") == newest_first
    assert await ids(f"integrationId={bot}&status=new") == newest_first[1:]
    assert await ids("source=sofa") == [made[0]["id"]]
    assert await ids("tag=нічне") == [made[1]["id"]]
    assert await ids("externalId=c-2") == [made[2]["id"]]
    assert await ids(f"integrationId={bot}&take=2&skip=1") == newest_first[1:3]
    page = (await api("GET", f"/testing/captures?integrationId={bot}&take=3")).json()
    assert page["meta"]["total"] == 4
    assert await ids(f"integrationId={bot}&cursor={page['meta']['nextCursor']}") == newest_first[3:]
    await api.problem("GET", "/testing/captures?status=lost", status=400)
    await api.problem("GET", f"/testing/captures?integrationId={uuid4()}", status=404)
    stranger = await api.another("stranger")
    assert (await stranger("GET", "/testing/captures")).json()["data"] == []


async def test_a_page_ends_before_its_transcripts_grow_too_long(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    bot = await api.integration()
    long = [{"role": "user", "content": "д" * 3_000}]
    made = [
        (await api.data("POST", "/testing/captures", capture(bot, transcript=long), status=201))["id"]
        for _ in range(3)
    ]
    monkeypatch.setattr(captures_module, "PAGE_CHARACTERS", 7_000)
    first = (await api("GET", "/testing/captures")).json()
    assert [one["id"] for one in first["data"]] == [made[2], made[1]]
    rest = (await api("GET", f"/testing/captures?cursor={first['meta']['nextCursor']}")).json()
    assert [one["id"] for one in rest["data"]] == [made[0]]
    assert rest["meta"]["nextCursor"] is None
    monkeypatch.setattr(captures_module, "PAGE_CHARACTERS", 1)
    assert len((await api("GET", "/testing/captures")).json()["data"]) == 1


async def test_another_accounts_captures_are_not_there(api: Api) -> None:
    made = await api.data("POST", "/testing/captures", capture(await api.integration()), status=201)
    stranger = await api.another("stranger")
    one = f"/testing/captures/{made['id']}"
    for method, path, sent in (
        ("GET", one, None),
        ("DELETE", one, None),
        ("PATCH", f"{one}/status", {"status": "ignored"}),
        ("POST", f"{one}/convert", {}),
        ("POST", "/testing/captures", capture(made["integrationId"])),
    ):
        await stranger.problem(method, path, sent, status=404)
    assert (await api("DELETE", one)).status_code == 204
    await api.problem("DELETE", one, status=404)


async def test_statuses_are_what_a_person_says(api: Api) -> None:
    bot = await api.integration()
    made = await api.data("POST", "/testing/captures", capture(bot), status=201)
    path = f"/testing/captures/{made['id']}/status"
    for status in ("reviewed", "ignored", "new", "reviewed"):
        assert (await api.data("PATCH", path, {"status": status}))["status"] == status
    assert (await api.problem("PATCH", path, {"status": "converted"}))["errors"][0]["path"] == "caseId"
    await api.problem("PATCH", path, {"status": "reviewed", "caseId": str(uuid4())})
    await api.problem("PATCH", path, {"status": "converted", "caseId": str(uuid4())}, status=404)
    await api.problem("PATCH", path, {"status": "gone"})
    await api.problem("PATCH", path, {})
    written = (await api.data("POST", "/testing/cases", case(integrationId=bot), status=201))["id"]
    linked = await api.data("PATCH", path, {"status": "converted", "caseId": written})
    assert (linked["status"], linked["convertedCaseId"]) == ("converted", written)
    assert linked["convertedAt"] is not None
    assert await api.data("PATCH", path, {"status": "converted", "caseId": written}) == linked
    problem = await api.problem("PATCH", path, {"status": "new"}, status=409)
    assert problem["code"] == "already_converted"
    await api("DELETE", f"/testing/cases/{written}")
    freed = await api.data("PATCH", path, {"status": "new"})
    assert (freed["convertedCaseId"], freed["convertedAt"]) == (None, None)


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"transcript": []}, "transcript"),
        ({"transcript": [{"role": "nobody", "content": "х"}]}, "transcript.0.role"),
        ({"transcript": [{"role": "user", "content": 7}]}, "transcript.0.content"),
        ({"transcript": TRANSCRIPT * 501}, "transcript"),
        ({"source": "phone"}, "source"),
        ({"externalId": ""}, "externalId"),
        ({"externalId": "a\x00b"}, "externalId"),
        ({"externalId": "a\ufffdb"}, "externalId"),
        ({"externalId": "x" * 257}, "externalId"),
        ({"metadata": [1]}, "metadata"),
        ({"metadata": {"a\x00": 1}}, "metadata.a\ufffd"),
        ({"tags": ["x" * 65]}, "tags.0"),
        ({"flaggedReason": "\ud800"}, "flaggedReason"),
        ({"unknown": 1}, "unknown"),
    ],
)
async def test_what_is_wrong_is_named(api: Api, more: dict[str, Any], path: str) -> None:
    bot = await api.integration()
    problem = await api.problem("POST", "/testing/captures", capture(bot, **more))
    assert path in {one["path"] for one in problem["errors"]}
    assert (await api("GET", "/testing/captures")).json()["data"] == []


async def test_what_is_too_large_or_too_deep_is_refused(api: Api) -> None:
    bot = await api.integration()
    long = [{"role": "user", "content": "x" * 800_000}]
    problem = await api.problem("POST", "/testing/captures", capture(bot, transcript=long), status=413)
    assert problem["errors"][0]["path"] == "transcript"
    wide = {"text": "д" * 40_000}
    problem = await api.problem("POST", "/testing/captures", capture(bot, metadata=wide), status=413)
    assert problem["errors"][0]["path"] == "metadata"
    body = json.dumps(capture(bot, metadata={"a": "@"})).replace('"@"', "[" * 1_000 + "]" * 1_000)
    headers = {"Content-Type": "application/json"}
    refused = await api("POST", "/testing/captures", content=body.encode(), headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (400, "json_too_deep")
    huge = b'{"transcript": "' + b"x" * 30_000_000 + b'"}'
    refused = await api("POST", "/testing/captures", content=huge, headers=headers)
    assert refused.status_code == 413


async def test_what_a_bot_said_is_mended_and_the_six_characters_stay(api: Api) -> None:
    bot = await api.integration()
    body = json.dumps(capture(bot, transcript=[{"role": "agent", "content": "@"}, *TRANSCRIPT]))
    body = body.replace('"@"', r'"ок\u0000 \ud800 \ud83d\ude42 \\u0000"')
    headers = {"Content-Type": "application/json"}
    answer = await api("POST", "/testing/captures", content=body.encode(), headers=headers)
    assert answer.status_code == 201, answer.text
    assert answer.json()["data"]["transcript"][0]["content"] == "ок\ufffd \ufffd 🙂 \\u0000"


async def test_other_spellings_of_a_transcript_are_read(api: Api) -> None:
    bot = await api.integration()
    spoken = [
        {"role": "system", "content": "Ти бот."},
        {"role": "user", "content": "Де замовлення?", "id": "m-1"},
        {"role": "assistant", "content": None, "toolCalls": [{"name": "find", "args": {"n": 1}}]},
        {"role": "assistant", "content": "Їде.", "timestamp": "2026-05-13T09:00:02"},
    ]
    made = await api.data("POST", "/testing/captures", capture(bot, transcript=spoken), status=201)
    assert [one["role"] for one in made["transcript"]] == ["system", "tester", "agent", "agent"]
    assert made["transcript"][2]["content"] == ""
    assert made["transcript"][3]["timestamp"] == "2026-05-13T09:00:02Z"
    assert made["source"] == "manual"
