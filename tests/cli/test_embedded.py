"""The command as a process of its own, with everything in it real: SQLite, bus, runner, judge, API."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from proctor_contracts.enums import ResultStatus
from proctor_contracts.schemas.runs import RunDocument

PROCTOR = [sys.executable, "-c", "from proctor_cli.main import main; main()"]
PATIENCE = 60
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("PROCTOR_")}


def proctor(folder: Path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROCTOR, *args],
        cwd=folder,
        env=CLEAN | env,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.fixture
def started(tmp_path: Path) -> Path:
    assert proctor(tmp_path, "init").returncode == 0
    return tmp_path


def test_the_suite_that_init_writes_runs_as_it_is(started: Path) -> None:
    checked = proctor(started, "validate", "suite.yaml", "--strict")
    assert (checked.returncode, checked.stderr) == (0, "")
    ended = proctor(started, "run", "suite.yaml", "--report", "json=out.json")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    document = RunDocument.model_validate_json((started / "out.json").read_bytes())
    assert [result.status for result in document.results] == [ResultStatus.PASSED] * 3
    assert str(document.run.id) in proctor(started, "runs").stdout
    assert "gate passed" in proctor(started, "show", str(document.run.id)).stdout


def test_a_suite_for_the_other_pool_runs_here_too(started: Path) -> None:
    suite = started / "suite.yaml"
    suite.write_text("run: {pool: high}\n" + suite.read_text(encoding="utf-8"), encoding="utf-8")
    ended = proctor(started, "run", "suite.yaml")
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_two_runs_in_one_folder_keep_their_history_and_compare(started: Path) -> None:
    proctor(started, "run", "suite.yaml")
    suite = started / "suite.yaml"
    suite.write_text(suite.read_text(encoding="utf-8").replace('value: "9"', 'value: "10"'), encoding="utf-8")
    assert proctor(started, "run", "suite.yaml").returncode == 1
    after, before = [run["id"] for run in json.loads(proctor(started, "runs", "--json").stdout)]
    assert "Newly broken (1)" in proctor(started, "diff", before, after).stdout


def test_a_run_that_is_over_stays_as_it_is_when_cancelled(started: Path) -> None:
    document = json.loads(proctor(started, "run", "suite.yaml", "--report", "json").stdout)
    run = document["run"]
    ended = proctor(started, "cancel", run["id"])
    total = run["progress"]["total"]
    assert ended.stdout == f"run {run['id']} is completed; {total} of {total} results are kept\n"


def test_what_is_not_recorded_is_an_error_and_undecided(started: Path) -> None:
    suite = started / "suite.yaml"
    suite.write_text(
        suite.read_text(encoding="utf-8").replace("When are you open?", "When?"), encoding="utf-8"
    )
    ended = proctor(started, "run", "suite.yaml")
    assert ended.returncode == 2
    assert "replay_miss" in ended.stdout


@contextmanager
def up(folder: Path) -> Iterator[tuple[str, str, subprocess.Popen[str]]]:
    args = [*PROCTOR, "up", "--port", "0"]
    env = CLEAN | {"PROCTOR_REPLAY_DIR": str(folder / "replies")}
    with subprocess.Popen(args, cwd=folder, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if found := re.fullmatch(r"export PROCTOR_SERVER=(\S+) PROCTOR_API_KEY=(\S+)\n", line):
                    yield found.group(1), found.group(2), process
                    break
            else:
                raise AssertionError("it never said where it is")
        finally:
            process.kill()


def test_up_is_found_by_commands_in_its_folder_and_by_its_url(started: Path, tmp_path: Path) -> None:
    with up(started) as (url, key, process):
        ended = proctor(started, "run", "suite.yaml")
        assert ended.returncode == 0, ended.stdout + ended.stderr
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        listed = proctor(elsewhere, "runs", PROCTOR_SERVER=url, PROCTOR_API_KEY=key)
        assert "gate passed" in listed.stdout
        assert not (elsewhere / ".proctor").exists()
        wrong = proctor(elsewhere, "runs", "--server", url, "--key", "sk_wrong")
        assert wrong.returncode == 3
        assert "unauthorized" in wrong.stderr
        assert "asks for a key" in proctor(elsewhere, "runs", "--server", url).stderr
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=PATIENCE) == 0
    assert not (started / ".proctor" / "server.json").exists()
    assert "gate passed" in proctor(started, "runs").stdout
    with up(started) as (_, again, _process):
        assert again == key


def test_up_counts_calls_of_models_and_leaves_nothing_waiting(started: Path) -> None:
    with up(started) as (url, _key, _process):
        assert proctor(started, "run", "suite.yaml").returncode == 0
        wanted = {
            r'proctor_model_calls_total\{outcome="stop",provider="replay"\} [1-9]',
            r'proctor_messages_in_total\{queue="proctor\.scheduler\.runs"\} 1',
            r'proctor_messages_in_total\{queue="proctor\.alerter\.runs"\} 1',
        }
        for _ in range(500):  # the news of a run's end travels behind its report
            with urllib.request.urlopen(f"{url}/metrics", timeout=PATIENCE) as reply:  # noqa: S310 - a loopback URL
                shown = reply.read().decode()
            wanted = {pattern for pattern in wanted if not re.search(pattern, shown)}
            if not wanted:
                break
    assert not wanted, shown


@pytest.mark.parametrize("service", ["api", "runner", "judge", "scheduler", "alerter"])
def test_a_service_without_its_libraries_names_the_extra(tmp_path: Path, service: str) -> None:
    # A None among the modules is how Python says that there is none of this name.
    script = (
        "import sys; sys.modules.update(dict.fromkeys(['fastapi', 'faststream', 'aio_pika', 'structlog']));"
        f"from proctor_cli.main import run; sys.exit(run(['serve', '{service}']))"
    )
    env = CLEAN | {
        "PROCTOR_AMQP_URL": "amqp://a:b@127.0.0.1:1/",
        "PROCTOR_DATABASE_URL": "postgresql://a:b@127.0.0.1:1/x",
    }
    args = [sys.executable, "-c", script]
    ended = subprocess.run(args, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == 3, ended.stderr
    assert ended.stderr.count("\n") == 1
    assert f"pip install '.[{service}]'" in ended.stderr


def test_a_database_whose_library_is_missing_names_the_extra(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['asyncpg'] = None;"
        "from proctor_cli.main import run; sys.exit(run(['accounts', 'list']))"
    )
    env = CLEAN | {"PROCTOR_DATABASE_URL": "postgresql://a:b@127.0.0.1:1/x"}
    args = [sys.executable, "-c", script]
    ended = subprocess.run(args, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == 3, ended.stderr
    assert ended.stderr.count("\n") == 1
    assert "pip install '.[postgres]'" in ended.stderr


def test_a_taken_port_is_wrong_usage(started: Path) -> None:
    with up(started) as (url, _key, _process):
        other = proctor(started, "up", "--state", "other", "--port", url.rpartition(":")[2])
    assert other.returncode == 3
    assert "cannot answer at" in other.stderr
    assert "--port" in other.stderr


def test_accounts_and_keys_are_made_in_the_folders_database(tmp_path: Path) -> None:
    made = proctor(tmp_path, "accounts", "create", "team", "--balance-cents", "500")
    assert made.returncode == 0, made.stderr
    assert "balance 500 cents" in made.stdout
    assert proctor(tmp_path, "accounts", "create", "team").returncode == 3
    changed = proctor(
        tmp_path, "accounts", "set", "team", "--balance-cents", "unlimited", "--max-concurrent", "7"
    )
    assert "balance unlimited cents, at a time 7" in changed.stdout
    keeping = proctor(tmp_path, "accounts", "set", "team", "--personal-data", "keep")
    assert "at a time 7, runs a minute unlimited, keeps personal data" in keeping.stdout
    replacing = proctor(tmp_path, "accounts", "set", "team", "--personal-data", "replace")
    assert "keeps personal data" not in replacing.stdout
    key = proctor(tmp_path, "keys", "create", "--account", "team", "--public").stdout.strip()
    assert key.startswith("pk_")
    prefix = proctor(tmp_path, "keys", "list", "--account", "team").stdout.split()[1].rstrip("…")
    assert key.startswith(prefix)
    assert proctor(tmp_path, "keys", "revoke", prefix, "--account", "team").returncode == 0
    assert proctor(tmp_path, "keys", "list", "--account", "team").stdout == ""
    assert proctor(tmp_path, "keys", "list", "--account", "nobody").returncode == 3
    assert "up to date" in proctor(tmp_path, "migrate").stdout


def test_a_setting_that_cannot_be_read_is_named(started: Path) -> None:
    ended = proctor(started, "run", "suite.yaml", PROCTOR_LLM_TRIES="many")
    assert ended.returncode == 3
    assert "PROCTOR_LLM_TRIES" in ended.stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [("TESTING_REGRESSION_DELTA", "many"), ("TESTING_REGRESSION_WEBHOOK_URL", "hooks.example")],
)
def test_a_server_names_a_wrong_setting_of_its_alerts(started: Path, name: str, value: str) -> None:
    ended = proctor(started, "up", "--port", "0", **{name: value})
    assert (ended.returncode, ended.stdout) == (3, "")
    assert f"{name}: " in ended.stderr
    assert proctor(started, "run", "suite.yaml", **{name: value}).returncode == 0


@pytest.mark.parametrize("server", ["127.0.0.1:8080", "example.org"])
def test_a_server_without_a_scheme_is_wrong_usage(tmp_path: Path, server: str) -> None:
    ended = proctor(tmp_path, "runs", PROCTOR_SERVER=server, PROCTOR_API_KEY="k")
    assert ended.returncode == 3
    assert f"did you mean http://{server}?" in ended.stderr


def test_versions_of_a_suites_prompt_are_kept_compared_and_activated(started: Path) -> None:
    proctor(started, "run", "suite.yaml")
    name = json.loads(proctor(started, "runs", "--json").stdout)[0]["integrationName"]
    (started / "new.md").write_text("Be brief.", encoding="utf-8")
    assert proctor(started, "versions", name, "add", "new.md").stdout == "v2 is a draft\n"
    assert "+ Be brief." in proctor(started, "versions", name, "diff", "v1", "v2").stdout
    assert proctor(started, "versions", name, "activate", "v2").stdout == "v2 is current now\n"
    assert proctor(started, "versions", name, "rollback", "v1").stdout.startswith("v3, a clone of v1")
    assert proctor(started, "versions", name, "sync").stdout.startswith("v4 is a snapshot")
    listed = proctor(started, "versions", name).stdout.splitlines()
    assert [line[:5].strip("* ") for line in listed] == ["v4", "v3", "v2", "v1"]
    assert [line.startswith("*") for line in listed] == [False, True, False, False]
    assert proctor(started, "versions", "nobody").returncode == 3
