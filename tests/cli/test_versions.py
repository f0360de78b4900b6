from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tests.cli.platforms import FakePlatform, command


@pytest.fixture
def platform(tmp_path: Path) -> FakePlatform:
    (tmp_path / "two.md").write_text("Друга редакція", encoding="utf-8")
    platform = FakePlatform()
    added = command(platform, "versions", "bot", "add", str(tmp_path / "two.md"), "--notes", "коротше")
    assert (added.code, added.out) == (0, "v2 is a draft\n")
    return platform


def test_versions_are_listed_newest_first_with_the_current_one_marked(platform: FakePlatform) -> None:
    listed = command(platform, "versions", "bot")
    assert listed.code == 0
    second, first = listed.out.splitlines()
    assert second.startswith("  v2 ")
    assert second.endswith("manual: коротше")
    assert first.startswith("* v1 ")
    assert first.endswith("manual: one")
    assert command(platform, "versions", str(platform.bot), "list").out == listed.out
    as_json = json.loads(command(platform, "versions", "bot", "list", "--json", "--take", "1").out)
    assert [one["prompt"] for one in as_json] == ["Друга редакція"]
    assert platform.workers is False


def test_a_prompt_changed_past_the_versions_is_told(platform: FakePlatform) -> None:
    platform.differs = True
    assert "changed past its versions" in command(platform, "versions", "bot").out


def test_a_version_is_shown_by_number_or_as_the_current_one(platform: FakePlatform) -> None:
    for name in ("v2", "2", "V2"):
        shown = command(platform, "versions", "bot", "show", name)
        assert shown.code == 0
        assert shown.out.endswith("коротше\n\nДруга редакція\n")
    assert "v1 · manual · current" in command(platform, "versions", "bot", "show", "current").out


def test_what_the_prompt_holds_cannot_act_on_the_terminal(platform: FakePlatform) -> None:
    platform.kept[0] = platform.kept[0].model_copy(update={"prompt": "\x1b[2Jзник", "notes": "\x1b]0;x"})
    for args in (("list",), ("show", "v1"), ("diff", "v1", "v2")):
        assert "\x1b" not in command(platform, "versions", "bot", *args).out


def test_activating_and_rolling_back_say_what_is_current(platform: FakePlatform) -> None:
    assert command(platform, "versions", "bot", "activate", "v2").out == "v2 is current now\n"
    assert "* v2" in command(platform, "versions", "bot").out
    rolled = command(platform, "versions", "bot", "rollback", "v1")
    assert rolled.out == "v3, a clone of v1, is current now\n"
    assert "* v3" in command(platform, "versions", "bot").out
    assert "rollback from v1" in command(platform, "versions", "bot").out


def test_a_version_can_be_added_from_stdin_and_activated_at_once(
    platform: FakePlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("третя".encode()), encoding="utf-8"))
    assert command(platform, "versions", "bot", "add", "-", "--activate").out == "v3 is current now\n"
    assert platform.kept[-1].prompt == "третя"


def test_sync_keeps_a_snapshot(platform: FakePlatform) -> None:
    assert command(platform, "versions", "bot", "sync").out.startswith("v3 is a snapshot")
    assert "* v1" in command(platform, "versions", "bot").out


def test_diff_names_the_words(platform: FakePlatform) -> None:
    shown = command(platform, "versions", "bot", "diff", "v1", "current")
    assert shown.out.splitlines()[0] == "v1 -> v1: 1 words removed, 1 added"
    as_json = json.loads(command(platform, "versions", "bot", "diff", "v1", "v2", "--json").out)
    assert (as_json["left"]["versionNumber"], as_json["right"]["versionNumber"]) == (1, 2)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("nobody",), "there is no bot 'nobody'"),
        (("bot", "show", "v9"), "there is no version v9"),
        (("bot", "show", "newest"), "names no version"),
        (("bot", "show", "v0"), "names no version"),
        (("bot", "add", "missing.md"), "missing.md"),
        (("bot", "activat", "v1"), "No such command"),
    ],
)
def test_what_cannot_be_found_is_said(platform: FakePlatform, args: tuple[str, ...], said: str) -> None:
    ended = command(platform, "versions", *args)
    assert ended.code == 3
    assert said in ended.err


def test_a_prompt_that_is_no_text_is_refused(platform: FakePlatform, tmp_path: Path) -> None:
    (tmp_path / "bad.md").write_bytes(b"\xff\xfe\x00")
    ended = command(platform, "versions", "bot", "add", str(tmp_path / "bad.md"))
    assert ended.code == 3
    assert "is not UTF-8" in ended.err


def test_the_common_options_stand_behind_the_inner_command_too(platform: FakePlatform) -> None:
    assert command(platform, "versions", "bot", "list", "--server", "http://x").code == 0
    assert platform.target is not None
    assert platform.target.server == "http://x"
