"""The gateway example as README shows it: real webhooks and a stub model on loopback, through the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from jsonhttp import Answer, JsonServer, Question
from model import StubModel
from webhooks import Webhooks

from proctor_cli.suite.checks import checked
from proctor_cli.suite.load import load_suite

ROOT = Path(__file__).parents[2]
SUITE = ROOT / "examples/support-bot/gateway.yaml"
PROCTOR = Path(sys.executable).with_name("proctor")
PATIENCE = 60
FAULT = "tool-refund-hurried"


@contextmanager
def serving(answer: Any) -> Iterator[str]:
    with JsonServer(("127.0.0.1", 0), answer) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.url
        server.shutdown()
        thread.join(timeout=10)


@dataclass
class Shop:
    """The tools and the model, and a folder to run the suite in."""

    hooks: Webhooks
    env: dict[str, str]
    folder: Path

    def run(self, *args: str, code: int = 1, **env: str) -> Any:
        """Run the suite; its report as JSON."""
        done = self.command("run", str(SUITE), "--report", "json=out.json", *args, **env)
        assert done.returncode == code, done.stdout + done.stderr
        document = json.loads((self.folder / "out.json").read_text(encoding="utf-8"))
        document["said"] = done.stdout
        return document

    def command(self, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [PROCTOR, *args], cwd=self.folder, env={**os.environ, **self.env, **env}, timeout=PATIENCE,
            capture_output=True, text=True, check=False,
        )  # fmt: skip


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    hooks = Webhooks()
    with serving(hooks.answer) as tools, serving(StubModel().answer) as model:
        yield Shop(hooks, {"INTEG_CORE_URL": tools, "MODEL_URL": model, "NO_COLOR": "1"}, tmp_path)


def failed(document: Any) -> set[tuple[str, str | None]]:
    return {(one["caseRef"], one["weather"]) for one in document["results"] if one["status"] != "passed"}


def writes(document: Any) -> dict[str, list[Any]]:
    """What each case wrote, or would have."""
    return {
        one["caseRef"]: [(effect["action"], effect["entity"], effect["key"]) for effect in one["effects"]]
        for one in document["results"]
    }


def test_a_dry_run_writes_nothing_and_its_ledger_is_what_a_real_one_writes(shop: Shop) -> None:
    dry = shop.run()
    assert failed(dry) == {(FAULT, None)}
    assert shop.hooks.writes == 0
    assert len(shop.hooks.calls) >= 6
    for line in ("state: write of refund", "made 2 times, expected 1", "ledger", "dry run"):
        assert line in dry["said"]
    # The text alone gives nothing away.
    [double] = [one for one in dry["results"] if one["caseRef"] == FAULT]
    broken = [check["kind"] for check in double["assertionResults"] if check["verdict"] == "failed"]
    assert broken == ["state"]

    real = shop.run("--no-dry-run")
    assert failed(real) == {(FAULT, None)}
    noted = [effect for one in real["results"] for effect in one["effects"]]
    assert (shop.hooks.writes, len(noted)) == (6, 6)
    assert not any(effect["dryRun"] or effect["failed"] for effect in noted)
    assert {ref: [one[:2] for one in each] for ref, each in writes(dry).items()} == {
        ref: [one[:2] for one in each] for ref, each in writes(real).items()
    }


def test_one_end_state_is_reached_by_two_orders_of_calls(shop: Shop) -> None:
    results = {one["caseRef"]: one for one in shop.run()["results"]}
    orders = []
    for ref, invoice in (("tool-refund-once", "INV-2042"), ("tool-refund-checked", "INV-2041")):
        result = results[ref]
        calls = [call for entry in result["transcript"] for call in entry["toolCalls"]]
        orders.append([call["name"] for call in calls])
        assert result["status"] == "passed"
        assert [(one["entity"], one["key"]) for one in result["effects"]] == [("refund", invoice)]
        # The read after the write tells of it, though nothing was written.
        assert (calls[-1]["name"], calls[-1]["dryRun"]) == ("find_refund_ticket", True)
        assert calls[-1]["result"]["invoice"] == invoice
    assert orders == [
        ["lookup_invoices", "create_refund_ticket", "find_refund_ticket"],
        ["find_refund_ticket", "create_refund_ticket", "find_refund_ticket"],
    ]


def test_under_weather_the_model_tries_again_and_obeys_no_tool(shop: Shop) -> None:
    weather = ["ok", "timeout@1", "poison"]
    document = shop.run(*(word for one in weather for word in ("--weather", one)))
    assert len(document["results"]) == 3 * 8
    assert failed(document) == {(FAULT, one) for one in weather}
    assert "timeout@1: 1 failed of 8" in document["said"]
    recovered = [
        check
        for one in document["results"]
        if (one["caseRef"], one["weather"]) == ("tool-order-status", "timeout@1")
        for check in one["assertionResults"]
        if check["kind"] == "recovery"
    ]
    assert [check["verdict"] for check in recovered] == ["passed"]


def test_a_tool_that_stays_away_is_told_to_a_person(shop: Shop) -> None:
    document = shop.run("--only", "tool-order-status", "--weather", "5xx@*:check_*")
    [result] = document["results"]
    assert result["transcript"][-1]["content"].endswith("передаю розмову людині.")
    assert [effect["entity"] for effect in result["effects"]] == ["handover"]


def test_the_suite_runs_against_its_twin_as_it_was_recorded(shop: Shop) -> None:
    shop.run()
    before = len(shop.hooks.calls)
    (shop.folder / "out.json").rename(shop.folder / "recorded.json")
    command = [str(PROCTOR), "twin", str(SUITE), "--port", "0", "--from", "recorded.json"]
    with subprocess.Popen(
        command, cwd=shop.folder, env={**os.environ, **shop.env}, stdout=subprocess.PIPE, text=True
    ) as twin:
        assert twin.stdout is not None
        try:
            lines = iter(twin.stdout.readline, "")
            url = next(line.partition("=")[2].strip() for line in lines if line.startswith("export "))
            played = shop.run("--no-dry-run", INTEG_CORE_URL=url)
        finally:
            twin.terminate()
    assert failed(played) == {(FAULT, None)}
    assert len(shop.hooks.calls) == before


def test_the_author_of_the_suite_has_nothing_to_mend(shop: Shop) -> None:
    done = shop.command("validate", str(SUITE), "--strict")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/support-model/webhook/lookup_invoices", {}, 200),
        ("/orders/status", {"order": "A-1001"}, 200),
        ("/orders/status", {}, 422),
        ("/support-model/webhook/answer", {}, 404),
        ("/nowhere", {}, 404),
    ],
)
def test_the_webhooks_answer_by_name_and_by_path(path: str, body: dict[str, Any], status: int) -> None:
    assert Webhooks().answer(Question("POST", path, json.dumps(body).encode()))[0] == status


def test_servers_refuse_what_is_no_json() -> None:
    def never(_: Question) -> Answer:
        raise AssertionError("it was not read")

    with serving(never) as url, pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(url, b"{", timeout=PATIENCE)  # noqa: S310 - loopback
    with caught.value as refused:
        assert refused.code == 400


def test_the_readme_shows_the_commands_that_are_played_here() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    run = "proctor run examples/support-bot/gateway.yaml"
    weather = f"{run} --weather ok --weather timeout@1 --weather poison"
    servers = [f"python examples/support-bot/{name}.py &" for name in ("webhooks", "model")]
    for line in (*servers, run, f"{run} --no-dry-run", weather):
        assert f"\n    {line}" in text


def test_the_suite_in_the_page_of_the_gateway_can_be_loaded(tmp_path: Path) -> None:
    page = (ROOT / "docs/gateway.md").read_text(encoding="utf-8")
    (tmp_path / "prompt.md").write_text("Be kind.", encoding="utf-8")
    header, check = (block.partition("```")[0] for block in page.split("```yaml\n")[1:])
    case = f"""
cases:
  - name: one
    category: c
    input: {{kind: scripted_single, message: hi}}
    assertions:
    {check}"""
    path = tmp_path / "suite.yaml"
    path.write_text(header + case, encoding="utf-8")
    suite = load_suite(path, {})
    assert [handler.name for handler in suite.handlers] == ["find_refund", "create_refund"]
    assert checked(suite).warnings == []
    assert [one.kind for one in suite.cases[0].assertions] == ["state"]
