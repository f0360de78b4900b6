"""Replay: conversations from production become cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from proctor_api.auth import Caller
from proctor_api.errors import ApiError, bad_request, conflict, not_found, too_large
from proctor_contracts.captures import CapturedEntry
from proctor_contracts.cases import CaseFields
from proctor_contracts.enums import CaptureStatus
from proctor_contracts.schemas.captures import CaptureConvert, CaseProposal, ReplayCreate, ReplayOutcome
from proctor_contracts.schemas.common import Warning_
from proctor_contracts.transcript import TranscriptEntry
from proctor_store.conflicts import Duplicate, Vanished
from proctor_store.repositories import captures, cases
from proctor_store.repositories.cases import CaseRecord
from proctor_store.session import Database, Unit

from .captures import capture_of
from .case_rows import case_view, new_record
from .meta import MetaFailed, MetaModel
from .replay_drafts import INSTRUCTIONS, data_of, plain_draft, proposed_draft
from .validation import Bot, CaseChecks, Findings, bot_of

__all__ = ["Replay"]


@dataclass(frozen=True, slots=True)
class _Draft:
    case: CaseFields
    findings: Findings
    by: Literal["rules", "model"] = "rules"
    warnings: tuple[Warning_, ...] = ()


class Replay:
    """Turns transcripts into cases; what a model proposes is never saved, only shown."""

    def __init__(
        self, *, database: Database, clock: Callable[[], datetime], checks: CaseChecks, meta: MetaModel
    ) -> None:
        self._database = database
        self._clock = clock
        self._checks = checks
        self._meta = meta

    async def replay(self, caller: Caller, body: ReplayCreate) -> ReplayOutcome:
        """Save the plain case, or with `aiPropose` only propose one.

        Raises:
            ApiError: 400, 404 for the integration, 409 for a ref taken, 413.
        """
        async with self._database.reading() as unit:
            bot = await bot_of(unit, caller, body.integration_id)
        draft = await self._draft(body.transcript, bot, body, expected=body.expected_behavior)
        record = self._record(draft, caller, body.integration_id)
        if body.ai_propose:
            return _outcome(record, draft, saved=False)
        try:
            async with self._database.transaction() as unit:
                await cases.create(unit, [record])
        except Duplicate as error:
            raise _taken(error, body.ref) from error
        except Vanished as error:
            raise not_found("integration") from error
        return _outcome(record, draft, saved=True)

    async def convert(
        self, caller: Caller, capture_id: UUID, body: CaptureConvert
    ) -> tuple[ReplayOutcome, bool]:
        """Make a case of a capture; case and capture change together. The flag says whether a case is new.

        A capture that is converted already answers with its case, as it is now.

        Raises:
            ApiError: 400, 404, 409 for a ref taken, 413.
        """
        async with self._database.reading() as unit:
            capture = await capture_of(unit, caller, capture_id)
            bot = await bot_of(unit, caller, capture.integration_id)
            known = await _case_of(unit, caller, capture.converted_case_id)
        if known is not None and not body.ai_propose:
            return _already(known), False
        transcript = tuple(CapturedEntry.model_validate(entry) for entry in capture.transcript)
        expected = body.expected_behavior if body.expected_behavior is not None else capture.flagged_reason
        draft = await self._draft(transcript, bot, body, expected=expected)
        record = self._record(draft, caller, capture.integration_id)
        if body.ai_propose:
            return _outcome(record, draft, saved=False), False
        now = self._clock()
        try:
            async with self._database.transaction() as unit:
                # Under its lock: somebody else may have converted it since.
                latest = await capture_of(unit, caller, capture_id, lock=True)
                known = await _case_of(unit, caller, latest.converted_case_id)
                if known is None:
                    await cases.create(unit, [record])
                    await captures.change(
                        unit,
                        capture_id,
                        {
                            "status": CaptureStatus.CONVERTED.value,
                            "converted_case_id": record.id,
                            "converted_at": now,
                            "updated_at": now,
                        },
                    )
        except Duplicate as error:
            raise _taken(error, body.ref) from error
        except Vanished as error:
            raise not_found("integration") from error
        if known is not None:
            return _already(known), False
        return _outcome(record, draft, saved=True), True

    async def _draft(
        self, transcript: Sequence[TranscriptEntry], bot: Bot, body: CaptureConvert, *, expected: str | None
    ) -> _Draft:
        plain = plain_draft(
            transcript,
            now=self._clock(),
            ref=body.ref,
            name=body.name,
            category=body.category,
            expected=expected,
        )
        refused: tuple[Warning_, ...] = ()
        if body.ai_propose:
            proposed = await self._proposed(transcript, bot, body, plain, expected=expected)
            if isinstance(proposed, _Draft):
                return proposed
            refused = (proposed,)
        (findings,) = await self._checks.examine([plain], bot)
        return _Draft(plain, findings, warnings=refused)

    async def _proposed(
        self,
        transcript: Sequence[TranscriptEntry],
        bot: Bot,
        body: CaptureConvert,
        plain: CaseFields,
        *,
        expected: str | None,
    ) -> _Draft | Warning_:
        """Ask the meta model, holding no connection; what it says is checked as a user's case is."""
        try:
            reply = await self._meta.ask(
                instructions=INSTRUCTIONS, data=data_of(transcript, expected=expected, tools=bot.tools)
            )
        except MetaFailed as error:
            return _fell_back("meta_failed", str(error))
        stated = {"name": body.name, "category": body.category}
        case = proposed_draft(reply, plain, stated=stated)
        if isinstance(case, str):
            return _fell_back("meta_unusable", case)
        (findings,) = await self._checks.examine([case], bot)
        if findings.problems:
            first = findings.problems[0]
            why = f"the meta model's proposal cannot be saved: {first.path}: {first.message}"
            return _fell_back("meta_unusable", why)
        return _Draft(case, findings, by="model")

    def _record(self, draft: _Draft, caller: Caller, integration_id: UUID) -> CaseRecord:
        if draft.findings.problems:
            raise bad_request(draft.findings.problems)
        try:
            return new_record(
                draft.case, account_id=caller.account_id, integration_id=integration_id, now=self._clock()
            )
        except ApiError as error:
            if error.errors[0].path == "input":  # which the user never typed
                raise too_large("transcript", error.errors[0].message) from error
            raise


async def _case_of(unit: Unit, caller: Caller, case_id: UUID | None) -> CaseRecord | None:
    return None if case_id is None else await cases.get(unit, caller.account_id, case_id)


def _outcome(record: CaseRecord, draft: _Draft, *, saved: bool) -> ReplayOutcome:
    return ReplayOutcome(
        saved=case_view(record, draft.findings.warnings) if saved else None,
        proposal=_proposal(record),
        proposed_by=draft.by,
        warnings=(*draft.warnings, *draft.findings.warnings),
    )


def _already(case: CaseRecord) -> ReplayOutcome:
    message = "this capture became a case before; here it is as it is now, and nothing was changed"
    return ReplayOutcome(
        saved=case_view(case),
        proposal=_proposal(case),
        proposed_by="rules",
        warnings=(Warning_(path="", message=message, code="already_converted"),),
    )


def _proposal(record: CaseRecord) -> CaseProposal:
    return CaseProposal(
        ref=record.ref,
        name=record.name,
        category=record.category,
        input=record.input,
        rubric=record.rubric or "",
        assertions=tuple(record.assertions),
        tags=tuple(record.tags),
    )


def _fell_back(code: str, why: str) -> Warning_:
    return Warning_(path="aiPropose", message=f"{why}; this is the plain proposal", code=code)


def _taken(error: Duplicate, ref: str | None) -> ApiError:
    return conflict(f"there is a case with ref {ref!r} in this integration", field=error.field)
