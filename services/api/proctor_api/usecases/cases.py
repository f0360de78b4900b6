"""Test cases: created, read, changed, deleted, listed and checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import ValidationError

from proctor_api.auth import Caller
from proctor_api.errors import ApiError, bad_request, conflict, not_found
from proctor_api.problems import field_problems
from proctor_contracts.base import unstorable
from proctor_contracts.cases import CaseFields
from proctor_contracts.enums import Priority
from proctor_contracts.schemas.cases import CaseCreate, CasePatch, CaseValidation, CaseView
from proctor_contracts.schemas.common import FieldProblem, Listing, Meta
from proctor_store.conflicts import Duplicate, Vanished
from proctor_store.paging import Page
from proctor_store.repositories import cases
from proctor_store.repositories.cases import CaseQuery
from proctor_store.session import Database

from .case_rows import case_fields, case_view, new_record, rewritten
from .integrations import integration_of
from .validation import CaseChecks, bot_of

__all__ = ["Cases"]

LONGEST_QUERY = 200
_NOT_NULL = {
    "name": "name",
    "category": "category",
    "priority": "priority",
    "input": "input",
    "assertions": "assertions",
    "weight": "weight",
    "tags": "tags",
    "is_active": "isActive",
    "critical": "critical",
}


class Cases:
    """The cases of an account's integrations."""

    def __init__(self, *, database: Database, clock: Callable[[], datetime], checks: CaseChecks) -> None:
        self._database = database
        self._clock = clock
        self._checks = checks

    async def create(self, caller: Caller, body: CaseCreate) -> CaseView:
        """Add a case; `warnings` of the answer say what will probably not work as meant.

        Raises:
            ApiError: 400, 404 for the integration, 409 for a ref taken, 413.
        """
        record = new_record(
            body, account_id=caller.account_id, integration_id=body.integration_id, now=self._clock()
        )
        async with self._database.reading() as unit:
            bot = await bot_of(unit, caller, body.integration_id)
        (findings,) = await self._checks.examine([body], bot)
        if findings.problems:
            raise bad_request(findings.problems)
        try:
            async with self._database.transaction() as unit:
                await cases.create(unit, [record])
        except Duplicate as error:
            raise _taken(error, record.ref) from error
        except Vanished as error:
            raise not_found("integration") from error
        return case_view(record, findings.warnings)

    async def get(self, caller: Caller, case_id: UUID) -> CaseView:
        """Read one.

        Raises:
            ApiError: 404.
        """
        async with self._database.reading() as unit:
            found = await cases.get(unit, caller.account_id, case_id)
        if found is None:
            raise not_found("case")
        return case_view(found)

    async def list(
        self,
        caller: Caller,
        page: Page,
        *,
        integration_id: UUID | None = None,
        category: str | None = None,
        priority: Priority | None = None,
        is_active: bool | None = None,
        tag: str | None = None,
        q: str | None = None,
    ) -> Listing[CaseView]:
        """List them, newest first.

        `category` and `tag` are compared exactly (category after NFC and trim), `q` in any letter case.

        Raises:
            ApiError: 400 for a filter that no text can match, 404 for an unknown integration.
        """
        _check_texts(category=category, tag=tag, q=q)
        query = CaseQuery(
            integration_id=integration_id,
            category=category,
            priority=priority,
            is_active=is_active,
            tags=() if tag is None else (tag,),
            text=q if q and q.strip() else None,
        )
        async with self._database.reading() as unit:
            if integration_id is not None:
                await integration_of(unit, caller, integration_id)
            rows = await cases.listed(unit, caller.account_id, query, page)
        return Listing[CaseView](
            data=tuple(case_view(record) for record in rows.items),
            meta=Meta(total=rows.total, take=page.take, skip=page.skip, next_cursor=rows.next_cursor),
        )

    async def patch(self, caller: Caller, case_id: UUID, body: CasePatch) -> CaseView:
        """Change the named fields; an explicit null clears. The revision grows when something did change.

        Raises:
            ApiError: 400, 404, 409 for a ref taken, 413.
        """
        named = {name: getattr(body, name) for name in body.model_fields_set}
        cleared = [field for name, field in _NOT_NULL.items() if name in named and named[name] is None]
        if cleared:
            raise bad_request(FieldProblem(path=field, message="cannot be null") for field in cleared)
        async with self._database.reading() as unit:
            found = await cases.get(unit, caller.account_id, case_id)
            if found is None:
                raise not_found("case")
            bot = await bot_of(unit, caller, found.integration_id)
        wanted = case_fields(found).model_copy(update=named)
        (findings,) = await self._checks.examine([wanted], bot)
        if findings.problems:
            raise bad_request(findings.problems)
        try:
            async with self._database.transaction() as unit:
                # Read again under lock: the checks ran outside, and another writer may have been here since.
                stored = await cases.get(unit, caller.account_id, case_id, lock=True)
                if stored is None:
                    raise not_found("case")
                latest = case_fields(stored).model_copy(update=named)
                record = new_record(
                    latest,
                    account_id=caller.account_id,
                    integration_id=stored.integration_id,
                    now=self._clock(),
                )
                result = rewritten(stored, record)
                if result is not stored:
                    await cases.change(unit, [result])
        except Duplicate as error:
            raise _taken(error, wanted.ref) from error
        return case_view(result, findings.warnings)

    async def delete(self, caller: Caller, case_id: UUID) -> None:
        """Delete one; runs keep the case as they took it.

        Raises:
            ApiError: 404.
        """
        async with self._database.transaction() as unit:
            if not await cases.remove(unit, caller.account_id, case_id):
                raise not_found("case")

    async def validate(self, caller: Caller, document: Mapping[str, Any]) -> CaseValidation:
        """Say what saving this would say, without saving: `document` is the body of a creation.

        Without `integrationId` everything is checked that does not depend on one.

        Raises:
            ApiError: 404 for an unknown integration.
        """
        document = dict(document)
        integration_id = document.pop("integrationId", document.pop("integration_id", None))
        errors: list[FieldProblem] = []
        try:
            case = CaseFields.model_validate(document)
        except ValidationError as error:
            case = None
            errors.extend(field_problems(error.errors(include_url=False), document).errors)
        bot = None
        if integration_id is not None:
            try:
                known = UUID(integration_id) if isinstance(integration_id, str) else integration_id
            except ValueError:
                known = None
            if not isinstance(known, UUID):
                errors.append(FieldProblem(path="integrationId", message="should be a UUID"))
            else:
                async with self._database.reading() as unit:
                    bot = await bot_of(unit, caller, known)
        if case is None or errors:
            return CaseValidation(valid=False, errors=tuple(errors))
        try:
            new_record(
                case, account_id=caller.account_id, integration_id=caller.account_id, now=self._clock()
            )
        except ApiError as error:
            return CaseValidation(valid=False, errors=error.errors)
        (findings,) = await self._checks.examine([case], bot)
        return CaseValidation(
            valid=not findings.problems, errors=findings.problems, warnings=findings.warnings
        )


def _check_texts(**texts: str | None) -> None:
    problems: list[FieldProblem] = []
    for name, text in texts.items():
        if text is not None and (reason := unstorable(text)):
            problems.append(FieldProblem(path=name, message=reason))
        elif text is not None and len(text) > LONGEST_QUERY:
            message = f"should be at most {LONGEST_QUERY} characters"
            problems.append(FieldProblem(path=name, message=message))
    if problems:
        raise bad_request(problems)


def _taken(error: Duplicate, ref: str | None) -> ApiError:
    return conflict(f"there is a case with ref {ref!r} in this integration", field=error.field)
