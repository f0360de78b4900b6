"""Captured conversations: pushed once, looked at, sorted, deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from proctor_api.auth import Caller
from proctor_api.errors import ApiError, bad_request, conflict, not_found
from proctor_contracts.base import unstorable
from proctor_contracts.captures import CaptureFields
from proctor_contracts.enums import CaptureSource, CaptureStatus
from proctor_contracts.messages import CaptureRecorded
from proctor_contracts.schemas.captures import CaptureCreate, CaptureStatusPatch, CaptureView
from proctor_contracts.schemas.common import FieldProblem, Listing, Meta
from proctor_store.conflicts import Vanished
from proctor_store.paging import Page
from proctor_store.repositories import accounts, captures, cases, integrations
from proctor_store.repositories.captures import CaptureQuery, CaptureRecord
from proctor_store.session import Database, Unit

from .capture_rows import capture_digest, capture_view, new_capture, without_personal_data
from .integrations import integration_of

__all__ = ["Captures", "capture_of"]

PAGE_CHARACTERS = 8 * 1024 * 1024
"""What the transcripts of one page may hold together before it ends early."""
BIG_TRANSCRIPT = 64 * 1024
LONGEST_FILTER = 256


class Captures:
    """The conversations that came from production."""

    def __init__(self, *, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

    async def push(
        self, caller: Caller, body: CaptureCreate, *, idempotency_key: str | None = None
    ) -> tuple[CaptureView, bool]:
        """Keep a conversation; the flag says whether it is new or was there.

        Raises:
            ApiError: 400, 404 for the integration, 409 for a key used with another body, 413.
        """
        async with self._database.reading() as unit:
            await integration_of(unit, caller, body.integration_id)
        return await self._keep(caller.account_id, body, body.source, key=idempotency_key)

    async def receive(self, event: CaptureRecorded) -> tuple[CaptureView, bool]:
        """Keep a conversation that came over the bus: its integration says whose it is.

        Raises:
            ApiError: 404 when no account has this integration, 400, 413.
        """
        async with self._database.reading() as unit:
            account_id = await integrations.owner(unit, event.integration_id)
        if account_id is None:
            raise _no_integration()
        return await self._keep(account_id, event, event.source, key=None)

    async def get(self, caller: Caller, capture_id: UUID) -> CaptureView:
        """Read one.

        Raises:
            ApiError: 404.
        """
        async with self._database.reading() as unit:
            return capture_view(await capture_of(unit, caller, capture_id))

    async def list(
        self,
        caller: Caller,
        page: Page,
        *,
        integration_id: UUID | None = None,
        status: CaptureStatus | None = None,
        source: CaptureSource | None = None,
        external_id: str | None = None,
        tag: str | None = None,
    ) -> Listing[CaptureView]:
        """List them, newest first; a page also ends where its transcripts grow beyond 8 MiB.

        Raises:
            ApiError: 400 for a filter that nothing can match, 404 for an unknown integration.
        """
        _check_texts(externalId=external_id, tag=tag)
        query = CaptureQuery(
            integration_id=integration_id,
            status=None if status is None else status.value,
            source=None if source is None else source.value,
            external_id=external_id,
            tag=tag,
        )
        async with self._database.reading() as unit:
            if integration_id is not None:
                await integration_of(unit, caller, integration_id)
            rows = await captures.listed(
                unit, caller.account_id, query, page, most_characters=PAGE_CHARACTERS
            )
        return Listing[CaptureView](
            data=tuple(map(capture_view, rows.items)),
            meta=Meta(total=rows.total, take=page.take, skip=page.skip, next_cursor=rows.next_cursor),
        )

    async def set_status(self, caller: Caller, capture_id: UUID, body: CaptureStatusPatch) -> CaptureView:
        """Say what became of a capture: `converted` needs the case, which somebody wrote by hand.

        Raises:
            ApiError: 400 without the case or with one too many, 404, 409 when it is converted already.
        """
        converting = body.status is CaptureStatus.CONVERTED
        if converting != (body.case_id is not None):
            message = (
                "is required with status converted; or let POST …/convert write the case"
                if converting
                else "belongs to status converted alone"
            )
            raise bad_request([FieldProblem(path="caseId", message=message)])
        now = self._clock()
        try:
            async with self._database.transaction() as unit:
                found = await capture_of(unit, caller, capture_id, lock=True)
                if found.converted_case_id is not None and found.converted_case_id != body.case_id:
                    raise conflict(
                        f"it became the case {found.converted_case_id}; delete that case first",
                        field="status",
                        code="already_converted",
                    )
                if body.case_id is not None:
                    case = await cases.get(unit, caller.account_id, body.case_id)
                    if case is None or case.integration_id != found.integration_id:
                        raise not_found("case of this integration")
                if found.status != body.status or found.converted_case_id != body.case_id:
                    await captures.change(
                        unit,
                        found.id,
                        {
                            "status": body.status.value,
                            "converted_case_id": body.case_id,
                            "converted_at": now if converting else None,
                            "updated_at": now,
                        },
                    )
                return capture_view(await capture_of(unit, caller, capture_id))
        except Vanished as error:
            raise not_found("case of this integration") from error

    async def delete(self, caller: Caller, capture_id: UUID) -> None:
        """Delete one; the case that it became stays.

        Raises:
            ApiError: 404.
        """
        async with self._database.transaction() as unit:
            if not await captures.remove(unit, caller.account_id, capture_id):
                raise not_found("capture")

    async def _keep(
        self, account_id: UUID, body: CaptureFields, source: CaptureSource, *, key: str | None
    ) -> tuple[CaptureView, bool]:
        record = new_capture(body, source, account_id=account_id, now=self._clock(), key=key)
        async with self._database.reading() as unit:
            if (there := await self._there(unit, record)) is not None:
                return capture_view(_same(there, body, key=key)), False
            account = await accounts.get(unit, account_id)
        if account is None:
            raise _no_integration()
        if not account.keeps_personal_data:
            record = await _replaced(record)
        while True:
            try:
                async with self._database.transaction() as unit:
                    if await captures.create(unit, record):
                        return capture_view(record), True
                    there = await self._there(unit, record)
            except Vanished as error:
                raise _no_integration() from error
            if there is not None:
                return capture_view(_same(there, body, key=key)), False
            # What stood in the way was deleted between the two statements: now it can be written.

    async def _there(self, unit: Unit, record: CaptureRecord) -> CaptureRecord | None:
        return await captures.known(
            unit,
            account_id=record.account_id,
            integration_id=record.integration_id,
            external_id=record.external_id,
            idempotency_key=record.idempotency_key,
        )


async def capture_of(unit: Unit, caller: Caller, capture_id: UUID, *, lock: bool = False) -> CaptureRecord:
    """Read a capture of the account.

    Raises:
        ApiError: 404, for another account's as for none.
    """
    found = await captures.get(unit, caller.account_id, capture_id, lock=lock)
    if found is None:
        raise not_found("capture")
    return found


async def _replaced(record: CaptureRecord) -> CaptureRecord:
    # Searching a long transcript takes as long as dozens of requests; they should not wait for it.
    if sum(len(entry["content"]) for entry in record.transcript) > BIG_TRANSCRIPT:
        return await asyncio.to_thread(without_personal_data, record)
    return without_personal_data(record)


def _same(there: CaptureRecord, body: CaptureFields, *, key: str | None) -> CaptureRecord:
    """Let the row that is there answer, unless its key was used for something else."""
    used = key is not None and there.idempotency_key == key
    if used and there.idempotency_hash != capture_digest(body):
        raise conflict(
            "this Idempotency-Key came with another capture; use a new key for a new one",
            field="Idempotency-Key",
            code="idempotency_key_reused",
        )
    return there


def _no_integration() -> ApiError:
    return not_found("integration")


def _check_texts(**texts: str | None) -> None:
    problems = []
    for name, text in texts.items():
        if text is not None and (reason := unstorable(text)):
            problems.append(FieldProblem(path=name, message=reason))
        elif text is not None and len(text) > LONGEST_FILTER:
            problems.append(FieldProblem(path=name, message=f"should be at most {LONGEST_FILTER} characters"))
    if problems:
        raise bad_request(problems)
