from __future__ import annotations

import json
from typing import get_args

import pytest

from proctor_casefiles.drafts import FileRefused
from proctor_casefiles.texts import TextFormat, read_text_file
from proctor_contracts.cases import CaseFields
from proctor_contracts.schemas.imports import CaseFormat
from tests.casefiles.golden import THREE

CASE = {
    "ref": "A",
    "name": "a",
    "category": "c",
    "input": {"kind": "scripted_single", "message": "hi"},
    "assertions": [{"kind": "contains", "value": "x"}],
}
GOOD: dict[CaseFormat, str] = {
    CaseFormat.GOLDEN: json.dumps(THREE[:1]),
    CaseFormat.PROMPTFOO: "- {vars: {q: hi}, assert: [{type: contains, value: x}]}",
    CaseFormat.JSONL: '{"messages": [{"role": "user", "content": "hi"}]}\n',
    CaseFormat.CASES: json.dumps([CASE]),
}


def test_every_format_but_the_workbook_is_text() -> None:
    assert {*get_args(TextFormat), CaseFormat.XLSX} == set(CaseFormat)


@pytest.mark.parametrize("format_", GOOD)
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_each_format_is_read_with_and_without_a_mark_at_its_start(format_: TextFormat, start: bytes) -> None:
    (draft,) = read_text_file(start + GOOD[format_].encode(), format_).drafts
    assert draft.problems == ()


@pytest.mark.parametrize("format_", GOOD)
@pytest.mark.parametrize("data", [b"\xff\xfe[\x00", b"PK\x03\x04rest"])
def test_what_is_no_text_is_refused(format_: TextFormat, data: bytes) -> None:
    with pytest.raises(FileRefused) as refused:
        read_text_file(data, format_)
    assert refused.value.code == "not_text"


@pytest.mark.parametrize("format_", [one for one in GOOD if one is not CaseFormat.JSONL])
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "a list of"),
        ("just words", "a list of"),
        ("a: 1\n\tb: 2", "line 2: is not YAML"),
        ('{"a": 1, "a": 2}', "twice"),
        ("[" * 100_000, "deeper"),
        ("- " * 2_000 + "x", "deeper"),
        ("[" + "a," * 400_000 + "]", "more than 300,000 values"),
        ('["\\u0000"]', "NUL"),
        ("- !!python/object:os.system {}", "tags are not read"),
        (
            "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
            + "".join(
                f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n"
                for before, name in zip("abcdefgh", "bcdefghi", strict=True)
            ),
            "aliases",
        ),
    ],
)
def test_a_broken_or_hostile_document_is_refused_with_the_reason(
    format_: TextFormat, text: str, told: str
) -> None:
    with pytest.raises(FileRefused) as refused:
        read_text_file(text.encode(), format_)
    assert told in refused.value.message


def test_flow_style_yaml_is_read_though_it_begins_like_json() -> None:
    text = "[{vars: {q: hi}, assert: [{type: contains, value: x}]}]"
    assert len(read_text_file(text.encode(), CaseFormat.PROMPTFOO).drafts) == 1


def test_cases_are_taken_as_they_are_and_whole() -> None:
    reading = read_text_file(
        json.dumps({"cases": [CASE, 7, {"file": "x.yaml"}], "run": {}}).encode(), CaseFormat.CASES
    )
    assert reading.whole
    first, *faulty = reading.drafts
    assert CaseFields.model_validate(first.fields).ref == "A"
    assert first.at("assertions.0.value", "is short").path == "cases.0.assertions.0.value"
    assert [one.problems[0].path for one in faulty] == ["cases.1", "cases.2"]
    assert [one.path for one in reading.warnings] == ["run"]
