"""How much of a workbook is read; what is beyond is refused before it costs time or memory."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LIMITS", "Limits"]

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Sizes in bytes, `text` of one cell and `texts` of all cases in characters, and numbers of things.

    `rows` are those with content, the header among them, `row_elements` also those without; `sheets` those
    searched for one with cases; `seconds` what reading may take.
    """

    file_bytes: int = 5 * _MIB
    entries: int = 5_000
    unpacked_bytes: int = 100 * _MIB
    sheet_bytes: int = 64 * _MIB
    strings_bytes: int = 32 * _MIB
    styles_bytes: int = 8 * _MIB
    styles_elements: int = 400_000
    part_bytes: int = 2 * _MIB
    sheet_elements: int = 1_000_000
    strings_elements: int = 400_000
    part_elements: int = 40_000
    rows: int = 20_000
    row_elements: int = 200_000
    columns: int = 512
    merges: int = 20_000
    sheets: int = 16
    text: int = 200_000
    texts: int = 12_000_000
    depth: int = 64
    seconds: float = 30.0


LIMITS = Limits()
"""The limits of the product: a file of at most 5 MiB."""
