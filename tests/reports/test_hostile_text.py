"""What bots and users write must not act on a terminal, a browser, a spreadsheet or a parser."""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_contracts.effects import Action, Effect
from proctor_contracts.enums import Blame, ResultStatus, Runner
from proctor_contracts.results import CaseError
from proctor_contracts.schemas.runs import RunDocument
from proctor_contracts.transcript import ToolCallRecord
from proctor_reports.junit import render_junit
from proctor_reports.markdown import code, fence, render_markdown
from proctor_reports.spreadsheet import guarded, render_csv, unguarded
from proctor_reports.terminal import render_terminal
from proctor_reports.text import cells, clip, one_line, visible, wrap
from tests.reports.documents import check, document, result, said

ESC = "\x1b"
NASTY = f'{ESC}[32mзелено{ESC}]8;;http://evil.example{ESC}\\ \x00 \x0b \ufffe \ud800 ]]> <&" \u202eдаз\x9b31m'
NAME = "Бот «не» пише <Рамосу> & Ко"


def hostile(text: str, *, name: str = NAME) -> RunDocument:
    call = ToolCallRecord(name=text, args={text: text}, args_raw=text, result=[text], error=text)
    effect = Effect(
        entity=text, action=Action.CREATE, key=text, data={text: [text]}, tool=text, turn=1, call=1
    )
    failed = result(
        1,
        ResultStatus.FAILED,
        case_name=name,
        category=text[:60],
        transcript=(said(text).model_copy(update={"tool_calls": (call,)}),),
        assertion_results=(check(kind="state", message=text, expected=text, seen=text, notes=(text,)),),
        effects=(effect,),
        weather=text,
    )
    errored = result(2, ResultStatus.ERROR, error=CaseError(code="x", message=text, blame=Blame.PROVIDER))
    return document(
        failed, errored, result(3), integration_name=text[:100], runner=Runner.GATEWAY, weather=(text, "ok")
    )


def test_junit_with_forbidden_characters_parses_strictly_and_shows_that_they_were_replaced() -> None:
    xml = render_junit(hostile(NASTY))
    root = ET.fromstring(xml.encode("utf-8"))  # noqa: S314 - our own output, which must parse

    assert root.attrib["tests"] == "3"
    assert (root.attrib["failures"], root.attrib["errors"], root.attrib["skipped"]) == ("1", "1", "0")
    names = [case.attrib["name"] for case in root.iter("testcase")]
    assert any(name.startswith(f"RM-1 · {NAME} [") for name in names)
    failure = root.find(".//failure")
    assert failure is not None
    assert failure.text is not None
    assert "\ufffd[32mзелено" in failure.text
    assert ']]> <&"' in failure.text
    assert not re.search(r"&#(?:x?0*1b|0*27|0*0|0*11);", xml, re.IGNORECASE)
    assert all("time" in case.attrib for case in root.iter("testcase"))


@given(st.text(st.characters(), max_size=200))
def test_junit_of_any_text_parses(text: str) -> None:
    ET.fromstring(render_junit(hostile(text or "x", name=text or "x")).encode("utf-8"))  # noqa: S314 - as above


def test_a_trial_of_a_repeated_case_is_a_testcase_of_its_own() -> None:
    xml = render_junit(document(result(1, trial=1), result(1, trial=2), repeats=2))
    names = [case.attrib["name"] for case in ET.fromstring(xml).iter("testcase")]  # noqa: S314 - our own output
    assert names == ["RM-1 · Case 1 [trial 1]", "RM-1 · Case 1 [trial 2]"]


@pytest.mark.parametrize("color", [False, True])
def test_no_control_character_of_a_transcript_reaches_the_terminal(*, color: bool) -> None:
    shown = render_terminal(hostile(NASTY), color=color)
    ours = re.sub(r"\x1b\[\d+m", "", shown) if color else shown
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", ours)
    assert "␛[32mзелено" in shown


@given(st.text(st.characters(), max_size=200), st.integers(40, 120))
def test_terminal_lines_stay_within_the_width_and_never_carry_controls(text: str, width: int) -> None:
    report = render_terminal(hostile(text or "x", name=text or "x"), width=width)
    for line in report.splitlines():
        assert line.isprintable() or not re.search("[\x00-\x1f\x7f-\x9f]", line)
    body = report.split("\n\n", maxsplit=1)[0].splitlines()
    assert all(cells(line) <= width for line in body[1:])


MARKDOWN_ATTACKS = [
    "[click](http://evil.example)", "![x](http://evil.example/pixel.png)", "<img src=x onerror=alert(1)>",
    "@everyone look", "``` \n# Heading", "`` ` `` <b>", "a | b |\n| - | -", "</details><script>", "http://evil.example",
    "\\`\\`<i>", "#1 owner/repo#2",
]  # fmt: skip


@pytest.mark.parametrize("attack", MARKDOWN_ATTACKS)
def test_text_cannot_leave_its_place_in_markdown(attack: str) -> None:
    outside = _outside_code(render_markdown(hostile(attack)))
    for live in ("http:", "@everyone", "<img", "<script", "<b>", "<i>", "# Heading", "#1", "click"):
        assert live not in outside, f"{live!r} is live in the comment"


@given(st.text(st.characters(), max_size=100))
def test_no_marker_survives_outside_code(text: str) -> None:
    marker = "@marker<b>"
    assert "marker" not in _outside_code(render_markdown(hostile(text[:50] + marker + text[50:])))


def _outside_code(markdown: str) -> str:
    """Drop code as CommonMark reads it: fences by line, spans by equal runs of backticks."""
    kept: list[str] = []
    closing: str | None = None
    for line in markdown.split("\n"):
        if closing is not None:
            if re.fullmatch(rf" {{0,3}}`{{{len(closing)},}}\s*", line):
                closing = None
            continue
        if opening := re.match(r" {0,3}(`{3,})[^`]*$", line):
            closing = opening.group(1)
            continue
        kept.append(re.sub(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)", "", line))
    return "\n".join(kept)


def test_a_code_span_and_a_fence_outgrow_the_backticks_inside() -> None:
    assert code("a `` b") == "```a `` b```"
    assert code("`") == "`` ` ``"
    assert code("a|b", in_table=True) == "`a¦b`"
    assert next(fence("```\nx")) == "````text"
    assert list(fence("```\nx"))[-1] == "````"


def test_a_comment_never_outgrows_what_the_forge_takes() -> None:
    many = [
        result(
            n,
            ResultStatus.FAILED,
            transcript=(said("- слово " * 2000),),
            assertion_results=(check(message="н" * 900),) * 3,
        )
        for n in range(1, 80)
    ]
    comment = render_markdown(document(*many))
    assert len(comment) < 65_000
    assert "left out" in comment
    assert comment.count("<details>") == comment.count("</details>")


FORMULAS = [
    '=HYPERLINK("http://evil.example")', "+380441234567", "-1", "@всі", "\t=1+1", "\u200b=1+1", " =1",
    "\uff1d1+1", "\r=1", "\n=1", "\ufeff=1", "\u00a0=1", "\u2060+1",
]  # fmt: skip


@pytest.mark.parametrize("formula", FORMULAS)
def test_text_that_a_spreadsheet_would_run_is_guarded_once(formula: str) -> None:
    cell = guarded(formula)
    assert cell == f"'{formula}"
    assert unguarded(cell) == formula
    assert guarded(cell) == cell
    assert guarded(unguarded(cell)) == cell


@pytest.mark.parametrize("text", ["ціна = 5", "a-1", "", "'", "it's", "1;2", "рядок\nдругий"])
def test_harmless_text_is_left_alone(text: str) -> None:
    assert guarded(text) == text
    assert unguarded(text) == text


def test_csv_reads_back_with_numbers_as_numbers_and_awkward_text_whole() -> None:
    text = 'a;b "c", d\nдругий рядок'
    raw = render_csv(
        document(result(1, case_name=text, cost_cents=-5.0), result(2, case_name="=1+1", cost_cents=None))
    )
    assert raw.startswith("\ufeff")
    assert raw.encode("utf-8").startswith(b"\xef\xbb\xbf")
    assert raw.count("\r\n") == 3
    rows = list(csv.DictReader(io.StringIO(raw.removeprefix("\ufeff"), newline="")))
    assert rows[0]["name"] == text
    assert rows[0]["costCents"] == "-5.0"
    assert ",-5.0," in raw
    assert rows[1]["name"] == "'=1+1"
    assert rows[1]["costCents"] == ""


@given(st.text(st.characters(), max_size=50))
def test_any_text_survives_as_utf8_csv(text: str) -> None:
    raw = render_csv(document(result(1, case_name=text or "x"))).encode("utf-8").decode("utf-8-sig")
    rows = list(csv.reader(io.StringIO(raw, newline="")))
    assert len(rows) == 2
    assert {len(row) for row in rows} == {len(rows[0])}


def test_visible_shows_controls_and_keeps_what_people_write() -> None:
    assert visible(f"{ESC}[0m\x7f\x00") == "␛[0m␡␀"
    assert visible("рядок\r\nдругий\tтаб 👩‍👧 \u2028") == "рядок\nдругий\tтаб 👩‍👧 \ufffd"


def test_cells_count_wide_and_combining_characters() -> None:
    assert cells("їжак") == 4
    assert cells("и\u0306жак") == 4
    assert cells("日本") == 4
    assert clip("日本語", 5) == "日本…"
    assert one_line("a\n\n b", 10) == "a b"
    assert one_line("x" * 20, 10) == "x" * 9 + "…"


@given(st.text(st.characters(), max_size=200), st.integers(5, 40))
def test_wrapping_keeps_every_character_but_the_spaces(text: str, width: int) -> None:
    line = one_line(text, 500)
    wrapped = list(wrap(line, width))
    assert "".join(wrapped).replace(" ", "") == line.replace(" ", "")
