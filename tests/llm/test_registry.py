from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from proctor_contracts.endpoint import HttpEndpoint
from proctor_contracts.enums import Blame, Provider
from proctor_llm import LlmError, LlmErrorCode, LlmSettings
from proctor_llm.limits import Limit
from proctor_llm.sdk import Sdk
from tests.llm.conftest import Bench, chat, make_models
from tests.support.stub_provider import Say, StubProvider


async def test_a_client_is_made_once_for_a_provider_and_endpoint(bench: Bench) -> None:
    models = bench.models
    endpoint = HttpEndpoint.model_validate(bench.endpoint())
    same = HttpEndpoint.model_validate(bench.endpoint())
    other = HttpEndpoint.model_validate(bench.endpoint(timeoutMs=7))
    assert models.client(Provider.HTTP, endpoint) is models.client(Provider.HTTP, same)
    assert models.client(Provider.HTTP, endpoint) is not models.client(Provider.HTTP, other)
    assert models.client(Provider.ANTHROPIC) is models.client(Provider.ANTHROPIC)


@pytest.mark.parametrize(
    ("provider", "variable"),
    [
        (Provider.ANTHROPIC, "ANTHROPIC_API_KEY"),
        (Provider.GROQ, "GROQ_API_KEY"),
        (Provider.OPENAI, "OPENAI_API_KEY"),
        (Provider.REPLAY, "PROCTOR_REPLAY_DIR"),
    ],
)
async def test_what_is_missing_is_named_before_anything_is_sent(provider: Provider, variable: str) -> None:
    models, door = make_models(stub_url="http://127.0.0.1:9", sleeps=[], tries=[], api_keys={})
    with pytest.raises(LlmError) as raised:
        models.client(provider)
    assert raised.value.code is LlmErrorCode.MISSING_KEY
    assert raised.value.blame is Blame.INFRASTRUCTURE
    assert variable in raised.value.message
    await door.aclose()


async def test_an_http_agent_without_an_endpoint_says_so(bench: Bench) -> None:
    with pytest.raises(LlmError) as raised:
        bench.models.client(Provider.HTTP)
    assert raised.value.code is LlmErrorCode.MISSING_ENDPOINT


async def test_keys_reach_their_own_provider_only(bench: Bench) -> None:
    for provider, key in (
        (Provider.ANTHROPIC, "key-a"),
        (Provider.OPENAI, "key-o"),
        (Provider.GROQ, "key-g"),
    ):
        await bench.ask(provider)
        shown = " ".join(f"{name}={value}" for name, value in bench.stub.requests[-1].headers.items())
        assert key in shown
        assert not any(other in shown for other in {"key-a", "key-o", "key-g"} - {key})


@pytest.mark.parametrize("provider", [Provider.ANTHROPIC, Provider.OPENAI, Provider.GROQ])
async def test_a_provider_outside_the_policy_is_refused_through_its_sdk(provider: Provider) -> None:
    bad = "http://10.1.2.3:1"
    models, door = make_models(stub_url=bad, sleeps=[], tries=[])
    async with StubProvider() as stub:
        error = await Bench(stub, models, []).fail(provider)
    assert error.code is LlmErrorCode.REFUSED_BY_EGRESS
    assert error.tries == 1
    await models.aclose()
    await door.aclose()


async def test_no_more_calls_run_at_once_than_the_limit_of_the_model() -> None:
    async with StubProvider() as stub:
        models, door = make_models(stub_url=stub.url, sleeps=[], tries=[], limits={"http/small": Limit(2)})
        bench = Bench(stub, models, [])
        stub.hold = asyncio.Event()
        small = [asyncio.create_task(bench.ask(Provider.HTTP, chat("a", model="small"))) for _ in range(6)]
        await stub.seen(2)
        other = asyncio.create_task(bench.ask(Provider.HTTP, chat("a", model="other")))
        await stub.seen(3)
        stub.hold.set()
        await asyncio.gather(other, *small)
        # Two of the small model and the one of the other; the rest had to wait.
        assert stub.most_in_flight == 3
        await models.aclose()
        await door.aclose()


async def test_waiting_for_a_place_past_the_deadline_is_not_the_agents_fault() -> None:
    async with StubProvider() as stub:
        models, door = make_models(stub_url=stub.url, sleeps=[], tries=[], limits={"*": Limit(1)})
        bench = Bench(stub, models, [])
        stub.hold = asyncio.Event()
        first = asyncio.create_task(bench.ask(Provider.HTTP))
        await stub.seen(1)
        error = await bench.fail(Provider.HTTP, seconds=0.05)
        assert (error.code, error.blame) == (LlmErrorCode.TIMEOUT, Blame.INFRASTRUCTURE)
        stub.hold.set()
        await first
        await models.aclose()
        await door.aclose()


def test_settings_are_read_from_the_environment() -> None:
    settings = LlmSettings.from_environ(
        {
            "ANTHROPIC_API_KEY": "k1",
            "OPENAI_API_KEY": "",
            "OPENAI_BASE_URL": "http://gateway.example/v1",
            "PROCTOR_LLM_LIMITS": "anthropic=5:60",
            "PROCTOR_LLM_TRIES": "2",
            "PROCTOR_REPLAY_DIR": "/replies",
        }
    )
    assert settings.api_keys == {"anthropic": "k1"}
    assert settings.base_urls["openai"] == "http://gateway.example/v1"
    assert settings.base_urls["groq"] == "https://api.groq.com"
    assert settings.limits == {"anthropic": Limit(5, 60)}
    assert settings.retry.max_tries == 2
    assert settings.replay_dir == Path("/replies")
    assert settings.record_dir is None
    assert "k1" not in repr(settings)


@pytest.mark.parametrize("environ", [{"PROCTOR_LLM_TRIES": "many"}, {"PROCTOR_LLM_LIMITS": "x"}])
def test_a_setting_that_cannot_be_read_names_its_variable(environ: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=next(iter(environ))):
        LlmSettings.from_environ(environ)


def test_importing_the_package_loads_no_sdk_and_no_http_client() -> None:
    code = "import sys, proctor_llm; print(*sorted(sys.modules))"
    modules = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"anthropic", "openai", "groq", "httpx", "httpx2", "aiohttp"} & set(modules)


async def test_the_unsaid_answer_of_the_stub_is_polite(bench: Bench) -> None:
    bench.stub.script(Say("scripted"))
    assert (await bench.ask(Provider.HTTP)).text == "scripted"
    assert (await bench.ask(Provider.HTTP)).text == "You said: Hello"


async def test_preparing_loads_what_a_first_call_needs(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []
    load = Sdk._import

    def counted(self: Sdk, name: str) -> object:
        loaded.append(name)
        return load(self, name)

    monkeypatch.setattr(Sdk, "_import", counted)
    await bench.models.prepare(Provider.OPENAI)
    assert loaded[0] == "openai"
    before = list(loaded)
    await bench.ask(Provider.OPENAI)
    assert loaded == before


@pytest.mark.parametrize("provider", [Provider.HTTP, Provider.REPLAY])
async def test_preparing_leaves_faults_to_the_first_call(bench: Bench, provider: Provider) -> None:
    await bench.models.prepare(provider)
