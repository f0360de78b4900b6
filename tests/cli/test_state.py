from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from proctor_cli.exits import ExitCode, Stop
from proctor_cli.state import Owner, StateFolder


def test_one_process_owns_the_folder_at_a_time(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path / "state")
    script = (
        "import sys; from pathlib import Path; from proctor_cli.state import StateFolder;"
        "owned = StateFolder(Path(sys.argv[1])).owned(); owned.__enter__();"
        "print('mine', flush=True); sys.stdin.read()"
    )
    args = [sys.executable, "-c", script, str(folder.path)]
    with subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "mine\n"
        with pytest.raises(Stop, match="in use by another proctor") as stopped, folder.owned():
            pass
        assert stopped.value.code is ExitCode.UNDECIDED
        other.kill()
    with folder.owned():
        assert (folder.path / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_an_owner_is_found_while_it_lives_and_its_key_stays_private(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path)
    assert folder.owner() is None
    owner = Owner(url="http://127.0.0.1:1", key="sk", pid=os.getpid())
    folder.announce(owner)
    assert folder.owner() == owner
    assert stat.S_IMODE((tmp_path / "server.json").stat().st_mode) == 0o600
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    folder.announce(Owner(url="http://127.0.0.1:1", key="sk", pid=ended.pid))
    assert folder.owner() is None
    folder.withdraw()
    folder.withdraw()
    assert folder.owner() is None


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"url": 1}', '{"url": "x", "key": "y", "pid": "z"}', "\x80"]
)
def test_a_broken_announcement_is_no_owner(tmp_path: Path, text: str) -> None:
    (tmp_path / "server.json").write_text(text, encoding="latin-1")
    assert StateFolder(tmp_path).owner() is None
