"""Files of cases that are text: which reader reads which format."""

from __future__ import annotations

from typing import Any, Literal, assert_never

from proctor_contracts.schemas.imports import CaseFormat

from .documents import DocumentInvalid, dotted, read_json, read_yaml
from .drafts import FileRefused, Reading
from .golden import read_golden
from .plain import read_plain
from .promptfoo.reading import read_promptfoo
from .transcripts.reading import read_transcripts

__all__ = ["TextFormat", "read_text_file"]

TextFormat = Literal[CaseFormat.GOLDEN, CaseFormat.PROMPTFOO, CaseFormat.JSONL, CaseFormat.CASES]
_MOST_NODES = 300_000
_SHOWN = 5


def read_text_file(data: bytes, format_: TextFormat) -> Reading:
    """Read a file of cases.

    Raises:
        FileRefused: when it is not what the format says, as a whole.
    """
    if data.startswith(b"PK\x03\x04"):
        raise FileRefused("not_text", "this is a workbook or another zip file; the format is xlsx")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileRefused("not_text", f"is not UTF-8 (byte {error.start}); save it as UTF-8") from error
    match format_:
        case CaseFormat.JSONL:
            return read_transcripts(text)
        case CaseFormat.GOLDEN:
            return read_golden(_document(text))
        case CaseFormat.PROMPTFOO:
            return read_promptfoo(_document(text))
        case CaseFormat.CASES:
            return read_plain(_document(text))
        case _:
            assert_never(format_)


def _document(text: str) -> Any:
    """Read JSON where the text begins like it, else YAML, whose flow collections begin alike."""
    try:
        if text.lstrip()[:1] in {"{", "["}:
            try:
                return read_json(text)
            except DocumentInvalid as error:
                if not _not_json(error):
                    raise
        return read_yaml(text, most_nodes=_MOST_NODES)
    except DocumentInvalid as error:
        raise FileRefused("invalid_document", _said(error)) from error


def _not_json(error: DocumentInvalid) -> bool:
    return error.faults[0].message.startswith("is not JSON")


def _said(error: DocumentInvalid) -> str:
    told = [
        " ".join(
            part
            for part in (
                f"line {fault.line}:" if fault.line is not None else "",
                f"{dotted(fault.path)}:" if fault.path else "",
                fault.message,
            )
            if part
        )
        for fault in error.faults[:_SHOWN]
    ]
    return "; ".join(told)
