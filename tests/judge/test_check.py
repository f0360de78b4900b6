"""The self-test as a command."""

from __future__ import annotations

import io

import pytest

from proctor_judge.check import check
from tests.judge.fakes import NONCE
from tests.support.stub_provider import Reply, Say, Seen, StubProvider, Tool


@pytest.mark.parametrize(
    ("word", "code", "line"), [("fail", 0, "may be trusted"), ("pass", 1, "may not be used as a judge")]
)
async def test_it_says_whether_a_judge_may_be_trusted(word: str, code: int, line: str) -> None:
    def answer(seen: Seen) -> Reply:
        found = NONCE.search(seen.last_user_text)
        assert found is not None
        return Say(
            tools=(
                Tool(
                    "grade",
                    {"reasoning": "x", "basis": "missing", "verdict": word, "nonce": found.group(1)},
                ),
            )
        )

    out = io.StringIO()
    async with StubProvider() as stub:
        stub.answer = answer
        env = {"OPENAI_API_KEY": "key", "OPENAI_BASE_URL": stub.openai_url}
        assert await check(["openai", "gpt-4o"], env=env, out=out) == code
    assert out.getvalue().splitlines()[-1] == f"openai gpt-4o: {line}"
    assert len(out.getvalue().splitlines()) == 7


@pytest.mark.parametrize("arguments", [[], ["openai"], ["nobody", "m"], ["openai", ""], ["a", "b", "c"]])
async def test_wrong_arguments_show_the_usage(arguments: list[str]) -> None:
    out = io.StringIO()
    assert await check(arguments, env={}, out=out) == 3
    assert out.getvalue().startswith("usage:")
