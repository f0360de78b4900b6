from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_chassis.secrets import Redactor, Secrets, mask_url


def test_a_secret_comes_from_its_variable_or_its_file(tmp_path: Path) -> None:
    (tmp_path / "FILE_ONE").write_text("from-file\n", encoding="utf-8")
    (tmp_path / "BOTH").write_text("file-loses", encoding="utf-8")
    environ = {"PROCTOR_SECRET_BOTH": "variable-wins", "PROCTOR_SECRETS_DIR": str(tmp_path)}
    secrets = Secrets(environ=environ, embedded=False, redactor=Redactor())
    assert secrets.find("FILE_ONE") == "from-file"
    assert secrets.find("BOTH") == "variable-wins"
    assert secrets.find("NONE") is None


def test_a_plain_variable_counts_only_in_embedded_mode() -> None:
    environ = {"BOT_TOKEN": "plain-token", "PATH": "/bin"}
    assert Secrets(environ=environ, embedded=True, redactor=Redactor()).find("BOT_TOKEN") == "plain-token"
    assert Secrets(environ=environ, embedded=False, redactor=Redactor()).find("BOT_TOKEN") is None


def test_a_name_never_leads_out_of_the_folder(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "outside").write_text("hidden", encoding="utf-8")
    secrets = Secrets(environ={"PROCTOR_SECRETS_DIR": str(inside)}, embedded=True, redactor=Redactor())
    for name in ("../outside", "/etc/hostname", "", "a/b", "..", "a\x00b"):
        assert secrets.find(name) is None


def test_an_empty_value_is_not_set(tmp_path: Path) -> None:
    (tmp_path / "EMPTY").write_text("\n", encoding="utf-8")
    environ = {"PROCTOR_SECRET_BLANK": "", "BLANK": "", "PROCTOR_SECRETS_DIR": str(tmp_path)}
    secrets = Secrets(environ=environ, embedded=True, redactor=Redactor())
    assert secrets.find("BLANK") is None
    assert secrets.find("EMPTY") is None


def test_what_to_set_is_said_for_the_mode_in_use(tmp_path: Path) -> None:
    served = Secrets(environ={"PROCTOR_SECRETS_DIR": str(tmp_path)}, embedded=False, redactor=Redactor())
    assert "PROCTOR_SECRET_BOT" in served.how_to_set("BOT")
    assert str(tmp_path / "BOT") in served.how_to_set("BOT")
    assert "variable BOT" not in served.how_to_set("BOT")
    assert "variable BOT" in Secrets(environ={}, embedded=True, redactor=Redactor()).how_to_set("BOT")


def test_known_and_found_secrets_are_replaced_everywhere(tmp_path: Path) -> None:
    (tmp_path / "FROM_FILE").write_text("file/secret+1", encoding="utf-8")
    redactor = Redactor()
    environ = {
        "PROCTOR_SECRET_BOT": "bot-secret",
        "OPENAI_API_KEY": "sk-provider",
        "PROCTOR_SECRETS_DIR": str(tmp_path),
    }
    secrets = Secrets(environ=environ, embedded=False, redactor=redactor)
    assert redactor.text("Bearer bot-secret, sk-provider") == "Bearer [secret:BOT], [secret:OPENAI_API_KEY]"
    assert redactor.text("file/secret+1") == "file/secret+1"
    secrets.find("FROM_FILE")
    assert redactor.text("see file/secret+1") == "see [secret:FROM_FILE]"
    assert redactor.text("?key=file%2Fsecret%2B1") == "?key=[secret:FROM_FILE]"
    value = {"a": ["bot-secret", {"bot-secret": 1}], "b": None, "c": 2.5}
    assert redactor.json(value) == {"a": ["[secret:BOT]", {"[secret:BOT]": 1}], "b": None, "c": 2.5}
    assert value["a"] == ["bot-secret", {"bot-secret": 1}]


def test_a_secret_that_begins_with_another_is_replaced_whole() -> None:
    redactor = Redactor()
    redactor.add("SHORT", "token")
    redactor.add("LONG", "token-and-more")
    assert redactor.text("token-and-more token") == "[secret:LONG] [secret:SHORT]"


def test_a_secret_inside_a_json_text_is_found_in_its_escaped_spelling() -> None:
    redactor = Redactor()
    redactor.add("QUOTED", 'pa"ss\\слово')
    assert redactor.text('{"k": "pa\\"ss\\\\слово"}') == '{"k": "[secret:QUOTED]"}'


@pytest.mark.parametrize("value", ['pa"ss\\слово', "it's-secret", "both\"'ends\\", "two\nlines"])
@pytest.mark.parametrize("beside", ["", "it's ", 'say "no" ', "both \"' "])
def test_a_secret_that_an_error_text_quotes_is_found(value: str, beside: str) -> None:
    redactor = Redactor()
    redactor.add("QUOTED", value)
    for shown in (f"{beside}{value}", f"{value}{beside}"):
        told = redactor.text(repr(shown))
        assert "[secret:QUOTED]" in told
        assert not any(piece in told for piece in ("слово", "it's-secret", "ends", "lines"))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("Bearer tok-1234567890", "tok-1234567890"),
        ("bearer  tok-1234567890", "tok-1234567890"),
        ("Token tok-1234567890", "tok-1234567890"),
        ("Basic b2xoYTpwYXNzOndvcmQ=", "b2xoYTpwYXNzOndvcmQ="),
        ("Basic b2xoYTpwYXNzOndvcmQ=", "olha:pass:word"),
        ("Basic b2xoYTpwYXNzOndvcmQ=", "pass:word"),
    ],
)
def test_what_a_bot_reads_out_of_a_header_is_a_secret_too(value: str, shown: str) -> None:
    redactor = Redactor()
    redactor.add("AUTH", value)
    assert redactor.text(f"невідомий ключ {shown}!") == "невідомий ключ [secret:AUTH]!"


def test_no_long_piece_of_a_secret_that_was_cut_is_shown() -> None:
    redactor = Redactor()
    redactor.add("LONG", "sk-live-0123456789abcdefghijklmnop")
    redactor.add("OTHER", "sk-live-01234567ZZZ")
    assert redactor.text("ключ sk-live-0123456789abcdef…") == "ключ [secret:LONG]…"
    assert redactor.text("ключ sk-live-01234567ZZ…") == "ключ [secret:OTHER]…"
    assert redactor.text("…6789abcdefghijklmnop, далі") == "…[secret:LONG], далі"
    assert redactor.text("sk-live-0123 sk-live-0123456789abcdefghijklmnop") == "sk-live-0123 [secret:LONG]"


def test_very_short_values_are_left_alone() -> None:
    redactor = Redactor()
    redactor.add("TINY", "abc")
    assert redactor.text("abc abcd") == "abc abcd"


def test_without_secrets_nothing_is_copied() -> None:
    value = {"a": [1]}
    assert Redactor().json(value) is value


@given(st.text(min_size=4, max_size=20), st.text(max_size=40), st.text(max_size=40))
def test_no_text_shows_a_known_secret(secret: str, before: str, after: str) -> None:
    redactor = Redactor()
    redactor.add("S", secret)
    shown = redactor.text(before + secret + after)
    assert secret not in shown.replace("[secret:S]", "\x00")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (
            "https://hooks.example/x?token=abc&n=1&flag&empty=#part",
            "https://hooks.example/x?token=***&n=***&flag&empty=#part",
        ),
        ("https://user:pass@hooks.example/x", "https://***@hooks.example/x"),
        ("https://hooks.example/x", "https://hooks.example/x"),
        ("https://hooks.example/a@b?k=v=w", "https://hooks.example/a@b?k=***"),
    ],
)
def test_a_url_is_shown_without_its_query_values_and_credentials(url: str, shown: str) -> None:
    assert mask_url(url) == shown
