"""Reading an upload: a multipart form, held in memory and bounded, never in a temporary file."""

from __future__ import annotations

import email.message
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fastapi import Request
from python_multipart.exceptions import FormParserError
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from proctor_contracts.base import unstorable
from proctor_contracts.schemas.common import FieldProblem

from .errors import ApiError, bad_request, too_large

__all__ = ["FILE_LIMIT", "Upload", "UploadForm"]

FILE_LIMIT = 5 * 1024 * 1024
_TEXT_LIMIT = 256 * 1024
_MOST_PARTS = 16
_YES, _NO = frozenset({"true", "1", "yes", "on"}), frozenset({"false", "0", "no", "off", ""})


@dataclass(frozen=True, slots=True)
class Upload:
    """What a form holds: files as bytes with their names, and texts."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)

    def file(self, name: str) -> bytes:
        """Take a file that has to be there.

        Raises:
            ApiError: 400.
        """
        if name in self.files:
            return self.files[name]
        message = f"is required, as a file: curl -F {name}=@cases.xlsx"
        raise bad_request([FieldProblem(path=name, message=message)])

    def text(self, name: str) -> str | None:
        """Take a text; None when it is empty or not there."""
        return self.texts.get(name, "").strip() or None

    def flag(self, name: str) -> bool:
        """Take a yes or no; no when it is not there.

        Raises:
            ApiError: 400 for anything else.
        """
        word = (self.text(name) or "").lower()
        if word not in _YES | _NO:
            raise bad_request(
                [FieldProblem(path=name, message=f"should be true or false, not {word[:40]!r}")]
            )
        return word in _YES


class _InMemory(MultiPartParser):
    spool_max_size = 4 * FILE_LIMIT  # more than the body may be, so that nothing is ever rolled over to disk


class UploadForm:
    """A dependency that reads a multipart form with these fields, and refuses any other.

    A misspelt `dryRun` would else write what its author only wanted to look at.
    """

    def __init__(self, *fields: str) -> None:
        self.fields = fields

    async def __call__(self, request: Request) -> Upload:
        """Read the form; fields in the query count as well.

        Raises:
            ApiError: 400, 413, 415.
        """
        given = request.headers.get("content-type")
        message = email.message.Message()
        message["content-type"] = given or ""
        if message.get_content_type() != "multipart/form-data":
            said = repr(given[:100]) if given else "none"
            raise ApiError(
                415, "unsupported_media_type", f"send multipart/form-data; Content-Type was {said}"
            )
        parser = _InMemory(
            request.headers,
            request.stream(),
            max_files=_MOST_PARTS,
            max_fields=_MOST_PARTS,
            max_part_size=_TEXT_LIMIT,
        )
        try:
            form = await parser.parse()
        except (MultiPartException, FormParserError) as error:
            said = getattr(error, "message", "") or "it is not a complete form"
            raise bad_request(detail=f"the form cannot be read: {said}") from error
        files: dict[str, bytes] = {}
        names: dict[str, str] = {}
        texts: dict[str, str] = {}
        try:
            self._check([*(name for name, _ in form.multi_items()), *request.query_params])
            for name, value in form.multi_items():
                if isinstance(value, UploadFile):
                    files[name] = await _whole(name, value)
                    names[name] = value.filename or ""
                else:
                    texts[name] = value
        finally:
            await form.close()
        texts |= request.query_params
        _storable([*texts.items(), *names.items()])
        return Upload(files, names, texts)

    def _check(self, given: Iterable[str]) -> None:
        seen: set[str] = set()
        problems: list[FieldProblem] = []
        for name in given:
            if name not in self.fields:
                message = f"is not a known field; they are {', '.join(self.fields)}"
                problems.append(FieldProblem(path=name[:100], message=message))
            elif name in seen:
                problems.append(FieldProblem(path=name, message="is there twice"))
            seen.add(name)
        if problems:
            raise bad_request(problems)


async def _whole(name: str, file: UploadFile) -> bytes:
    if (file.size or 0) > FILE_LIMIT:
        raise too_large(name, f"the file is {file.size:,} bytes; a file may have {FILE_LIMIT:,} (5 MiB)")
    return await file.read()


def _storable(texts: Iterable[tuple[str, str]]) -> None:
    problems = [
        FieldProblem(path=name, message=reason, code="unstorable")
        for name, value in texts
        if (reason := unstorable(value))
    ]
    if problems:
        raise bad_request(problems)
