"""The number formats of cells, which alone tell a date from a number, without all else that styles hold.

Fonts, fills and borders are what programs write wrong most often, and no cell's text depends on them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.sax.saxutils import quoteattr

from proctor_casefiles.drafts import FileRefused

from .archive import Archive
from .scanning import MAIN, scan

__all__ = ["STYLES", "plain_styles"]

STYLES = "xl/styles.xml"
_MOST_FORMATS = 65_536


@dataclass(slots=True)
class _Found:
    formats: list[str] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    inside: bool = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Take note of one element."""
        local = name.removeprefix(f"{MAIN} ")
        if local == "numFmt" and not self.cells and "formatCode" in attributes:
            number, code = attributes.get("numFmtId", ""), attributes["formatCode"]
            if number.isdecimal():
                self.formats.append(f"<numFmt numFmtId={quoteattr(number)} formatCode={quoteattr(code)}/>")
        elif local == "xf":
            if self.inside:
                number = attributes.get("numFmtId", "0")
                self.cells.append(f'<xf numFmtId="{number if number.isdecimal() else 0}"/>')
        elif local in {"cellXfs", "cellStyleXfs", "cellStyles", "dxfs"}:
            self.inside = local == "cellXfs"
        if len(self.cells) + len(self.formats) > _MOST_FORMATS:
            message = (
                f"the workbook has more than {_MOST_FORMATS:,} cell formats; copy the cases into a new one"
            )
            raise FileRefused("too_large", message, too_large=True)


def plain_styles(archive: Archive) -> str:
    """Write the styles anew, with nothing but the number format of each.

    Raises:
        FileRefused: when the part is damaged or beyond a limit.
    """
    found = _Found()
    limits = archive.limits
    scan(
        archive,
        STYLES,
        found.start,
        most_bytes=limits.styles_bytes,
        most_elements=limits.styles_elements,
    )
    cells = "".join(found.cells) or "<xf/>"
    formats = f"<numFmts>{''.join(found.formats)}</numFmts>" if found.formats else ""
    return (
        f'<styleSheet xmlns="{MAIN}">{formats}<fonts><font/></fonts>'
        "<fills><fill><patternFill/></fill></fills>"
        f"<borders><border/></borders><cellStyleXfs><xf/></cellStyleXfs><cellXfs>{cells}</cellXfs></styleSheet>"
    )
