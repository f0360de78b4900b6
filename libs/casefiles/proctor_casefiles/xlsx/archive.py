"""Whether bytes are a workbook at all, told by their content, and the few parts of it that are read.

Names and types that a client gives are never believed. Only the parts that cells need are kept: pictures,
charts, pivots and links of a workbook are not even unpacked.
"""

from __future__ import annotations

import io
import re
import time
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import PurePosixPath

from proctor_casefiles.drafts import FileRefused

from .limits import Limits

__all__ = ["CONTENT_TYPES", "DAMAGED", "Archive", "damaged", "macros", "not_a_workbook"]

CONTENT_TYPES = "[Content_Types].xml"
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError)
"""What reading a damaged or hostile zip raises."""

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_MARKUP = re.compile(
    rb"\s*(?:\xef\xbb\xbf)?\s*<(?:!doctype|html|table|\?xml|head|body|meta|div)", re.IGNORECASE
)
_CHUNK = 64 * 1024
_ENCRYPTED = 0x1
_SAVE_AS = "open it in a spreadsheet program and save it as an Excel workbook (.xlsx)"


def not_a_workbook(what: str, cure: str = _SAVE_AS) -> FileRefused:
    """Refuse something else than a workbook."""
    return FileRefused("not_xlsx", f"this is not an .xlsx workbook but {what}; {cure}")


def damaged(what: str) -> FileRefused:
    """Refuse a workbook that cannot be read."""
    return FileRefused("damaged_xlsx", f"the workbook is damaged ({what}); {_SAVE_AS} again")


class Archive:
    """The zip file that a workbook is.

    Raises:
        FileRefused: `not_xlsx`, `macro_workbook`, `damaged_xlsx`, `too_large`.
    """

    def __init__(
        self, data: bytes, *, limits: Limits, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        if len(data) > limits.file_bytes:
            raise FileRefused(
                "too_large",
                f"the file is {len(data):,} bytes; a spreadsheet may have {limits.file_bytes:,}",
                too_large=True,
            )
        if not data.startswith(_ZIP):
            raise _told_apart(data)
        self.limits = limits
        self._monotonic = monotonic
        self._until = monotonic() + limits.seconds
        self._data = data
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except (*DAMAGED, ValueError) as error:
            raise damaged("its end is missing or its table of contents is wrong") from error
        self._check_entries()

    @property
    def names(self) -> Collection[str]:
        """The parts that are there."""
        return self._zip.NameToInfo.keys()

    def check_time(self) -> None:
        """Give up when reading has taken too long.

        Raises:
            FileRefused: `too_slow`.
        """
        if self._monotonic() > self._until:
            message = (
                f"reading took more than {self.limits.seconds:g} seconds; copy the cases into a new workbook"
            )
            raise FileRefused("too_slow", message, too_large=True)

    def chunks(self, name: str, *, most: int) -> Iterator[bytes]:
        """Unpack a part piece by piece, at most `most` bytes of it.

        Raises:
            FileRefused: when it is missing, larger, or damaged.
        """
        info = self._zip.NameToInfo.get(name)
        if info is None:
            raise damaged(f"{name} is missing")
        if info.file_size > most:
            raise FileRefused(
                "too_large",
                f"{name} unpacks to {info.file_size:,} bytes, {most:,} are read at most; "
                "copy the cases into a new workbook",
                too_large=True,
            )
        try:
            # What is unpacked never exceeds the size that the table of contents states.
            with self._zip.open(info) as part:
                while chunk := part.read(_CHUNK):
                    self.check_time()
                    yield chunk
        except (*DAMAGED, ValueError) as error:
            raise damaged(f"{name} cannot be unpacked") from error

    def rewritten(self, keep: Collection[str], new: Mapping[str, str]) -> io.BytesIO:
        """Make a file of some parts as they are, still packed, and of new ones."""
        buffer = io.BytesIO(self._data)
        try:
            with zipfile.ZipFile(buffer, "a") as archive:
                archive.filelist[:] = [info for info in archive.filelist if info.filename in keep]
                archive.NameToInfo.clear()
                archive.NameToInfo.update({info.filename: info for info in archive.filelist})
                for name, content in new.items():
                    archive.writestr(name, content)
        except (*DAMAGED, ValueError) as error:
            raise damaged("its table of contents is wrong") from error
        buffer.seek(0)
        return buffer

    def _check_entries(self) -> None:
        infos = self._zip.infolist()
        if len(infos) > self.limits.entries:
            raise FileRefused(
                "too_large", f"the file holds {len(infos):,} parts; no workbook does", too_large=True
            )
        if len(self.names) != len(infos):
            raise damaged("it holds two parts of one name")
        if any(info.flag_bits & _ENCRYPTED for info in infos):
            raise not_a_workbook("an encrypted zip file", "remove the password and save it again")
        unpacked = sum(info.file_size for info in infos)
        if unpacked > self.limits.unpacked_bytes:
            raise FileRefused(
                "too_large",
                f"the file unpacks to {unpacked:,} bytes, {self.limits.unpacked_bytes:,} at most are read; "
                "copy the cases into a new workbook",
                too_large=True,
            )
        if any(PurePosixPath(name.lower()).name == "vbaproject.bin" for name in self.names):
            raise macros()
        if CONTENT_TYPES not in self.names:
            raise not_a_workbook(self._other_zip())

    def _other_zip(self) -> str:
        names = self.names
        if "mimetype" in names:
            kind = b"".join(self.chunks("mimetype", most=self.limits.part_bytes))[:100]
            if b"opendocument.spreadsheet" in kind:
                return "an OpenDocument spreadsheet (.ods)"
            return "another kind of document"
        if any(name.startswith("Index/") and name.endswith(".iwa") for name in names):
            return "an Apple Numbers document"
        return "a zip file without a workbook in it"


def macros() -> FileRefused:
    """Refuse a workbook that brings programs."""
    return FileRefused(
        "macro_workbook", "the workbook holds macros; save it as an Excel workbook without them (.xlsx)"
    )


def _told_apart(data: bytes) -> FileRefused:
    if data.startswith(_OLE):
        if "EncryptedPackage".encode("utf-16-le") not in data:
            return not_a_workbook("a legacy .xls or an encrypted (password-protected) workbook")
        what = "an encrypted (password-protected) workbook"
        return not_a_workbook(what, "remove the password and save it again")
    if data.startswith(b"%PDF"):
        return not_a_workbook("a PDF document", "put the cases into a spreadsheet")
    if _MARKUP.match(data[:1024]):
        return not_a_workbook("an HTML or XML page with the name of one")
    return not_a_workbook(_kind_of_text(data))


def _kind_of_text(data: bytes) -> str:
    if not data.strip():
        return "an empty file"
    if b"\x00" not in data[:4096] or data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "a text file, such as CSV"
    return "something else"
