from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import xml.etree.ElementTree as ET
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from typing_extensions import override

from proctor_cli.client import PlatformUnavailable
from proctor_contracts.enums import Provider, ResultStatus, Runner, Trigger
from proctor_contracts.schemas.common import FieldProblem
from proctor_contracts.schemas.runs import RunDocument, RunEvent, RunView
from tests.cli.platforms import ERROR, FAILED, PASSED, SUITE, FakePlatform, command, refusal, suite


def by_ref(**verdicts: ResultStatus) -> FakePlatform:
    return FakePlatform(verdict=lambda ref: verdicts.get(ref, PASSED))


def test_all_passed_ends_with_0_and_a_summary(tmp_path: Path) -> None:
    platform = FakePlatform()
    ended = command(platform, "run", suite(tmp_path, "a", "b"))
    assert ended.code == 0
    assert "2 results of 2 cases, 2 passed, 0 failed, 0 error" in ended.out
    assert "gate passed" in ended.out
    assert platform.workers is True
    assert [handler.name for handler in platform.handlers] == ["pay"]
    assert platform.started[0].gate is None
    assert "(no gate stated: every case must pass)" in ended.out
    assert platform.started[0].concurrency == 50


def test_a_failure_is_explained_and_ends_with_1(tmp_path: Path) -> None:
    ended = command(by_ref(b=FAILED), "run", suite(tmp_path, "a", "b"))
    assert ended.code == 1
    for word in ("b · case b", "b is wrong", "expected", "right", "gate failed", "50"):
        assert word in ended.out


def test_a_check_that_failed_in_a_case_that_passed_is_told(tmp_path: Path) -> None:
    ended = command(FakePlatform(flawed=frozenset({"b"})), "run", suite(tmp_path, "a", "b"))
    assert ended.code == 0
    assert "Passed with failed checks (1)" in ended.out
    for words in ("b · case b (score 80, needs 70)", "b is wrong", "right", "gate passed"):
        assert words in ended.out
    assert "case a" not in ended.out


@pytest.mark.parametrize(
    ("verdicts", "head", "code"),
    [
        ({"a": ERROR, "b": ERROR}, SUITE, 2),
        ({"a": ERROR}, SUITE, 2),
        ({"a": ERROR, "b": FAILED}, SUITE, 1),
        ({"a": ERROR}, "gate: {minPassRate: 0.9, maxErrorRate: 0.5}\n" + SUITE, 0),
        ({"m1": FAILED}, "gate: {minPassRate: 0.1, critical: [Money]}\n" + SUITE, 1),
        ({"m1": ERROR}, "gate: {minPassRate: 0.1, critical: [Money], maxErrorRate: 1}\n" + SUITE, 2),
        ({}, SUITE, 0),
    ],
)
def test_exit_codes_tell_failed_from_undecided(
    tmp_path: Path, verdicts: dict[str, ResultStatus], head: str, code: int
) -> None:
    assert command(by_ref(**verdicts), "run", suite(tmp_path, "a", "b", "m1", head=head)).code == code


def test_nine_passed_and_one_error_is_undecided_though_the_rate_holds(tmp_path: Path) -> None:
    path = suite(tmp_path, *"abcdefghij", head="gate: {minPassRate: 0.9}\n" + SUITE)
    ended = command(by_ref(j=ERROR), "run", path)
    assert ended.code == 2
    assert "could not decide" in ended.out


NOTHING = [("--tag", "none"), ("--category", "None"), ("--tag", "t-a", "--category", "Money")]


@pytest.mark.parametrize("args", NOTHING)
def test_a_filter_that_keeps_nothing_says_so_and_ends_with_2(tmp_path: Path, args: tuple[str, ...]) -> None:
    platform = FakePlatform()
    ended = command(platform, "run", suite(tmp_path, "a", "m1"), *args)
    assert ended.code == 2
    assert "nothing was measured" in ended.err
    assert "Money, Talk" in ended.err
    assert platform.started == []


def test_only_the_chosen_cases_are_saved_and_run(tmp_path: Path) -> None:
    for args, refs in (
        (("--only", "a"), {"a"}),
        (("--only", "a", "--only", "m1"), {"a", "m1"}),
        (("--category", "Money"), {"m1", "m2"}),
        (("--tag", "t-m2", "--category", "Money"), {"m2"}),
    ):
        platform = FakePlatform()
        assert command(platform, "run", suite(tmp_path, "a", "m1", "m2"), *args).code == 0
        assert {case[0] for case in platform.cases.values()} == refs
        assert len(platform.started[0].case_ids or ()) == len(refs)


def test_an_unknown_ref_is_wrong_usage_with_a_hint(tmp_path: Path) -> None:
    ended = command(FakePlatform(), "run", suite(tmp_path, "refund", "b"), "--only", "refnd")
    assert ended.code == 3
    assert "did you mean refund?" in ended.err


def test_options_win_over_the_suite(tmp_path: Path) -> None:
    platform = FakePlatform()
    path = suite(tmp_path, "a", head="judge: {provider: groq, model: small}\n" + SUITE)
    args = "--repeats 3 --retries 2 --concurrency 7 --budget-cents 12.5 --provider openai --model gpt"
    options = [*args.split(), "--judge", "anthropic/x/y", "--judge-votes", "5", "--label", "nightly"]
    command(platform, "run", path, *options, env={"CI": "true"})
    (run,) = platform.started
    assert (run.repeats, run.retries_on_failure, run.concurrency, run.budget_cents) == (3, 2, 7, 12.5)
    assert (run.provider, run.model) == (Provider.OPENAI, "gpt")
    assert run.judge is not None
    assert (run.judge.provider, run.judge.model, run.judge.votes) == (Provider.ANTHROPIC, "x/y", 5)
    assert run.tags == ("nightly",)
    assert run.trigger is Trigger.CI_CD


def test_reports_are_written_whole_and_parse(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "er"
    formats = ("json", "junit", "markdown", "csv")
    args = [part for name in formats for part in ("--report", f"{name}={out / name}")]
    ended = command(by_ref(b=FAILED), "run", suite(tmp_path, "a", "b"), *args)
    assert ended.code == 1
    document = RunDocument.model_validate_json((out / "json").read_bytes())
    assert {one.case_ref: one.status for one in document.results} == {"a": PASSED, "b": FAILED}
    assert document.run.gate_decision is not None
    assert ET.parse(out / "junit").getroot().attrib["failures"] == "1"  # noqa: S314 - our own output
    assert "gate failed" in (out / "markdown").read_text(encoding="utf-8")
    assert len((out / "csv").read_bytes().splitlines()) == 3
    assert sorted(path.name for path in out.iterdir()) == ["csv", "json", "junit", "markdown"]


def test_a_report_without_a_path_has_stdout_to_itself(tmp_path: Path) -> None:
    ended = command(FakePlatform(), "run", suite(tmp_path, "a"), "--report", "json")
    assert json.loads(ended.out)["format"] == "proctor.run/1"
    assert "gate passed" in ended.err


GATEWAY = SUITE.replace(
    "run: {repeats: 1}", "run: {runner: gateway, weather: [stale], onToolError: error, dryRun: false}"
)


def test_how_tools_are_called_comes_from_the_suite(tmp_path: Path) -> None:
    platform = FakePlatform()
    command(platform, "run", suite(tmp_path, "a", head=GATEWAY))
    [asked] = platform.started
    assert (asked.runner, asked.dry_run, asked.on_tool_error) == (Runner.GATEWAY, False, "error")
    assert asked.weather == ("stale",)


def test_how_tools_are_called_can_be_said_on_the_command_line(tmp_path: Path) -> None:
    platform = FakePlatform()
    args = [
        "--runner",
        "gateway",
        "--no-dry-run",
        "--on-tool-error",
        "error",
        "--weather",
        "ok",
        "--weather",
        "timeout@2:pay*",
    ]
    command(platform, "run", suite(tmp_path, "a"), *args)
    command(platform, "run", suite(tmp_path, "a", head=GATEWAY), "--dry-run", "--weather", "5xx")
    command(platform, "run", suite(tmp_path, "a", head=GATEWAY), "--runner", "scripted")
    first, second, third = platform.started
    assert (first.runner, first.dry_run, first.on_tool_error) == (Runner.GATEWAY, False, "error")
    assert first.weather == ("ok", "timeout@2:pay*")
    assert (second.dry_run, second.weather) == (True, ("5xx",))
    # Without tools there is nothing left of what the suite says of them.
    assert (third.runner, third.weather, third.on_tool_error) == (Runner.SCRIPTED, (), "continue")


def test_weather_that_there_is_not_is_wrong_usage(tmp_path: Path) -> None:
    ended = command(FakePlatform(), "run", suite(tmp_path, "a"), "--weather", "storm")
    assert ended.code == 3
    assert "unknown weather 'storm'" in ended.err
    assert "timeout@2" in ended.err


WRONG = [("--report", "pdf=x"), ("--repeats", "0"), ("--judge", "nobody/x"), ("--nope",)]


@pytest.mark.parametrize("args", WRONG)
def test_wrong_usage_ends_with_3(tmp_path: Path, args: tuple[str, ...]) -> None:
    assert command(FakePlatform(), "run", suite(tmp_path, "a"), *args).code == 3


def test_a_report_that_cannot_be_written_is_found_before_the_run(tmp_path: Path) -> None:
    platform = FakePlatform()
    ended = command(platform, "run", suite(tmp_path, "a"), "--report", f"json={tmp_path}")
    assert ended.code == 3
    assert "cannot write" in ended.err
    assert platform.started == []


def test_an_invalid_suite_lists_every_problem_and_ends_with_3(tmp_path: Path) -> None:
    path = suite(tmp_path, "a", "a", head=SUITE.replace("provider: replay", "provider: nobody"))
    ended = command(FakePlatform(), "run", path)
    assert ended.code == 3
    assert f"{path}:3: integration.provider" in ended.err
    assert "'a' is taken by the case in" in ended.err
    assert "2 problems" in ended.err


def test_what_the_platform_finds_wrong_points_into_the_file(tmp_path: Path) -> None:
    problem = FieldProblem(path="cases.1.assertions.0.value", message="is odd")
    platform = FakePlatform(refuse={"bulk_upsert_cases": refusal(400, "invalid", problem)})
    ended = command(platform, "run", path := suite(tmp_path, "a", "b", "c"), "--only", "b", "--only", "c")
    assert ended.code == 3
    assert f"{path}:24: cases.2.assertions.0.value: is odd" in ended.err


@pytest.mark.parametrize(("status", "code"), [(400, 3), (401, 3), (402, 2), (429, 2), (503, 2)])
def test_a_refusal_ends_by_whose_move_it_is(tmp_path: Path, status: int, code: int) -> None:
    problem = FieldProblem(path="runner", message="later")
    platform = FakePlatform(refuse={"start_run": refusal(status, "no", problem)})
    ended = command(platform, "run", suite(tmp_path, "a"))
    assert ended.code == code
    assert "runner: later" in ended.err


def test_an_outage_or_a_crash_is_undecided_never_a_failed_gate(tmp_path: Path) -> None:
    away = FakePlatform(refuse={"start_run": PlatformUnavailable("gone")})
    ended = command(away, "run", suite(tmp_path, "a"))
    assert (ended.code, "gone" in ended.err) == (2, True)
    broken = FakePlatform(refuse={"start_run": ZeroDivisionError()})
    ended = command(broken, "run", suite(tmp_path, "a"))
    assert (ended.code, "ZeroDivisionError" in ended.err) == (2, True)


class Interrupting(FakePlatform):
    """Presses Ctrl-C when a case hangs."""

    @override
    async def events(self, run_id: UUID, *, after: int | None = None) -> AsyncIterator[RunEvent]:
        pressing = asyncio.create_task(self._press())
        async for event in super().events(run_id, after=after):
            yield event
        await pressing

    async def _press(self) -> None:
        if self.stuck:
            await self.waiting.wait()
            os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_keeps_what_is_done_and_resume_joins_both(tmp_path: Path) -> None:
    platform = Interrupting(verdict=lambda ref: FAILED if ref == "b" else PASSED, stuck=frozenset({"c"}))
    path = suite(tmp_path, "a", "b", "c", head="gate: {minPassRate: 0.5}\n" + SUITE)
    stopped = command(platform, "run", path)
    assert stopped.code == 2
    assert "3 results of 3 cases, 1 passed, 1 failed, 0 error, 1 cancelled" in stopped.out
    (run,) = platform.documents
    assert f"go on with: proctor run {path} --resume {run}" in stopped.err

    resumed = command(platform, "run", path, "--resume", str(run))
    assert [one.which for one in platform.reran] == ["unfinished"]
    assert len(platform.documents) == 2
    assert "3 results of 3 cases, 2 passed, 1 failed, 0 error" in resumed.out
    assert resumed.code == 0

    again = command(platform, "show", str(list(platform.documents)[-1]))
    assert "3 results of 3 cases, 2 passed, 1 failed" in again.out


def test_resuming_a_finished_run_only_reports_it(tmp_path: Path) -> None:
    platform = FakePlatform()
    path = suite(tmp_path, "a")
    command(platform, "run", path)
    (run,) = platform.documents
    ended = command(platform, "run", path, "--resume", str(run))
    assert ended.code == 0
    assert "nothing unfinished" in ended.err
    assert platform.reran == []


def test_resume_takes_no_filter_and_no_unknown_run(tmp_path: Path) -> None:
    path = suite(tmp_path, "a")
    assert command(FakePlatform(), "run", path, "--resume", str(uuid4())).code == 3
    assert command(FakePlatform(), "run", path, "--resume", "x").code == 3
    ended = command(FakePlatform(), "run", path, "--resume", str(uuid4()), "--only", "a")
    assert "takes no --only" in ended.err


class Stubborn(Interrupting):
    """Does not stop for a cancel, so that only a second Ctrl-C helps."""

    @override
    async def cancel(self, run_id: UUID) -> RunView:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.Event().wait()
        return await super().cancel(run_id)


def test_a_second_ctrl_c_leaves_at_once(tmp_path: Path) -> None:
    ended = command(Stubborn(stuck=frozenset({"a"})), "run", suite(tmp_path, "a"))
    assert ended.code == 2
    assert "gate" not in ended.out
    assert re.search(r"run (\S+) goes on; end it with: proctor cancel \1\n", ended.err)


def test_a_run_of_this_process_is_not_said_to_go_on_without_it(tmp_path: Path) -> None:
    platform = Stubborn(stuck=frozenset({"a"}), outlives=False)
    assert "goes on" not in command(platform, "run", suite(tmp_path, "a")).err


def test_the_progress_line_is_for_terminals_and_not_for_quiet(tmp_path: Path) -> None:
    path = suite(tmp_path, "a")
    assert "1/1  1 passed" in command(FakePlatform(), "run", path, live=True).err
    assert "1/1" not in command(FakePlatform(), "run", path).err
    quiet = command(FakePlatform(), "run", path, "--quiet", live=True)
    assert (quiet.out, quiet.err) == ("", "")


def test_a_baseline_puts_newly_broken_first(tmp_path: Path) -> None:
    path = suite(tmp_path, *"abcdefghij")
    platform = by_ref(a=FAILED)
    command(platform, "run", path)
    platform.verdict = lambda ref: FAILED if ref in {"a", "b"} else PASSED
    ended = command(platform, "run", path, "--baseline", "previous", "--report", "markdown")
    assert ended.out.index("Newly broken (1)") < ended.out.index("b · case b")
    assert ended.out.index("b · case b") < ended.out.index("Still failing (1)")


def test_what_a_server_says_cannot_act_on_the_terminal(tmp_path: Path) -> None:
    problem = FieldProblem(path="runner", message="\x1b]0;owned\x07")
    platform = FakePlatform(refuse={"start_run": refusal(400, "\x1b[2J", problem)})
    ended = command(platform, "run", suite(tmp_path, "a"))
    assert "\x1b" not in ended.err
    assert "␛[2J" in ended.err
