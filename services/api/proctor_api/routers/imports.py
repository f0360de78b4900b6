"""/testing/cases/import and export.xlsx: cases from files, and back into one."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Response
from pydantic import ValidationError

from proctor_api.dependencies import JsonBody, Owner, ProctorRoute, Uses
from proctor_api.errors import bad_request
from proctor_api.problems import validation_error
from proctor_api.responses import enveloped
from proctor_api.uploads import Upload, UploadForm
from proctor_contracts.enums import Priority
from proctor_contracts.schemas.common import Data, FieldProblem
from proctor_contracts.schemas.imports import CaseFormat, GoldenImport, ImportOutcome
from proctor_store.repositories.cases import CaseQuery

__all__ = ["router"]

router = APIRouter(route_class=ProctorRoute, prefix="/testing/cases", tags=["cases"])

_FORM = UploadForm("integrationId", "file", "format", "dryRun", "sheet", "owner", "categories")
_FILE = {"type": "string", "format": "binary"}
_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["integrationId", "file"],
                    "properties": {
                        "integrationId": {"type": "string", "format": "uuid"},
                        "file": _FILE | {"description": "A file of at most 5 MiB"},
                        "format": {"type": "string", "enum": list(CaseFormat), "default": CaseFormat.XLSX},
                        "dryRun": {"type": "boolean", "default": False},
                        "sheet": {"type": "string", "description": "Else the first visible one with headers"},
                        "owner": {"type": "string", "description": "The key's account, to make sure"},
                        "categories": _FILE
                        | {"description": "Usual checks by category, instead of the installation's"},
                    },
                }
            }
        },
    }
}


@router.post("/import", response_model=Data[ImportOutcome], status_code=201, openapi_extra=_BODY)
async def import_cases(caller: Owner, services: Uses, form: Annotated[Upload, Depends(_FORM)]) -> Response:
    """Create or update cases from a file, matched by ID; `dryRun` only says what would happen.

    Rows or entries with a problem are skipped and named by their place; all others are written in one
    transaction. `sheet` and `categories` belong to workbooks.
    """
    integration_id, format_ = _integration(form), _format(form)
    dry_run, data = form.flag("dryRun"), form.file("file")
    await services.accounts.owning(caller.account_id, form.text("owner"))
    if format_ is CaseFormat.XLSX:
        outcome = await services.imports.workbook(
            caller,
            integration_id,
            data,
            dry_run=dry_run,
            sheet=form.text("sheet"),
            categories=_categories(form),
        )
    else:
        outcome = await services.text_imports.file(
            caller, integration_id, data, format_=format_, dry_run=dry_run
        )
    return enveloped(outcome, status=201)


@router.post("/import-golden", response_model=Data[ImportOutcome], status_code=201)
async def import_golden(
    caller: Owner,
    services: Uses,
    body: Annotated[dict[str, Any], Depends(JsonBody(GoldenImport, raw=True, bare="cases"))],
    integration_id: Annotated[UUID | None, Query(alias="integrationId")] = None,
    dry_run: Annotated[bool | None, Query(alias="dryRun")] = None,
) -> Response:
    """Create or update cases from a golden dataset, matched by `id`; entries with a problem are skipped.

    The body may be the dataset itself, with `integrationId` and `dryRun` in the query.
    """
    query = {"integrationId": integration_id, "dryRun": dry_run}
    document = {name: value for name, value in query.items() if value is not None} | body
    try:
        wanted = GoldenImport.model_validate(document)
    except ValidationError as error:
        raise validation_error(error.errors(include_url=False), document) from error
    return enveloped(await services.text_imports.golden(caller, wanted), status=201)


@router.get(
    "/export.xlsx",
    response_class=Response,
    responses={
        200: {
            "description": "The cases as a workbook that can be imported again",
            "content": {"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": {}},
        }
    },
)
async def export_cases(
    *,
    caller: Owner,
    services: Uses,
    integration_id: Annotated[UUID, Query(alias="integrationId")],
    category: Annotated[str | None, Query(max_length=64, description="Exactly, after NFC and trim")] = None,
    priority: Annotated[Priority | None, Query()] = None,
    is_active: Annotated[bool | None, Query(alias="isActive")] = None,
    tag: Annotated[str | None, Query(max_length=64, description="Exactly")] = None,
    language: Annotated[Literal["uk", "en", "ru"], Query(description="Of the headers")] = "uk",
) -> Response:
    """Write an integration's cases as a spreadsheet, oldest first; importing it again changes nothing."""
    query = CaseQuery(
        integration_id=integration_id,
        category=category,
        priority=priority,
        is_active=is_active,
        tags=() if tag is None else (tag,),
    )
    file = await services.case_files.workbook(caller, query, integration_id=integration_id, language=language)
    headers = {"Content-Disposition": f'attachment; filename="{file.filename}"'}
    return Response(file.body, 200, headers, media_type=file.media_type)


def _integration(form: Upload) -> UUID:
    given = form.text("integrationId")
    try:
        return UUID(given or "")
    except ValueError:
        message = "is required" if given is None else "should be a UUID"
        raise bad_request([FieldProblem(path="integrationId", message=message)]) from None


def _format(form: Upload) -> CaseFormat:
    given = form.text("format") or CaseFormat.XLSX
    try:
        format_ = CaseFormat(given)
    except ValueError:
        message = f"should be one of {', '.join(CaseFormat)}, not {given[:40]!r}"
        raise bad_request([FieldProblem(path="format", message=message)]) from None
    only_xlsx = [
        name for name in ("sheet", "categories") if name in form.files or form.text(name) is not None
    ]
    if format_ is not CaseFormat.XLSX and only_xlsx:
        message = f"belongs to format xlsx; {format_} has no such thing"
        raise bad_request([FieldProblem(path=name, message=message) for name in only_xlsx])
    return format_


def _categories(form: Upload) -> bytes | None:
    if "categories" in form.files:
        return form.files["categories"]
    text = form.text("categories")
    return None if text is None else text.encode()
