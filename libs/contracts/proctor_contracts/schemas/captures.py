"""Captured conversations, and how they become cases, over REST."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from proctor_contracts.base import SafeText, Strict, Wire
from proctor_contracts.captures import CapturedEntry, CaptureFields
from proctor_contracts.cases import Category, Name, Ref
from proctor_contracts.enums import CaptureSource, CaptureStatus

from .cases import CaseView
from .common import Timestamp, Warning_

__all__ = [
    "CaptureConvert",
    "CaptureCreate",
    "CaptureStatusPatch",
    "CaptureView",
    "CaseProposal",
    "ReplayCreate",
    "ReplayOutcome",
]

ExpectedBehavior = Annotated[SafeText, Field(max_length=8_000)]


class CaptureCreate(CaptureFields):
    """A conversation to keep; with an `externalId` that is known, the row that is there answers."""

    model_config = ConfigDict(extra="forbid")

    source: CaptureSource = CaptureSource.MANUAL


class CaptureView(Wire):
    """A captured conversation as stored: personal data is replaced unless the account keeps it.

    A public key is shown neither `transcript` nor `metadata`, `tags` and `flaggedReason`.
    """

    id: UUID
    integration_id: UUID
    source: CaptureSource
    external_id: str | None
    status: CaptureStatus
    transcript: tuple[dict[str, Any], ...]
    metadata: dict[str, Any] | None
    tags: tuple[str, ...]
    flagged_reason: str | None
    converted_case_id: UUID | None
    converted_at: Timestamp | None
    created_at: Timestamp
    updated_at: Timestamp


class CaptureStatusPatch(Strict):
    """What a person decided; `converted` names the case that was written by hand (`caseId`)."""

    status: CaptureStatus
    case_id: UUID | None = None


class CaptureConvert(Strict):
    """How a capture becomes a case; `expectedBehavior` stands instead of the capture's `flaggedReason`."""

    ref: Ref | None = None
    name: Name | None = None
    category: Category | None = None
    expected_behavior: ExpectedBehavior | None = None
    ai_propose: bool = False


class ReplayCreate(CaptureConvert):
    """A conversation that should become a case."""

    integration_id: UUID
    transcript: Annotated[tuple[CapturedEntry, ...], Field(min_length=1, max_length=1_000)]


class CaseProposal(Wire):
    """A case as `POST /testing/cases` takes it, but for its `integrationId`."""

    ref: str | None = None
    name: str
    category: str
    input: dict[str, Any]
    rubric: str
    assertions: tuple[dict[str, Any], ...]
    tags: tuple[str, ...]


class ReplayOutcome(Wire):
    """The case that was saved, or null with `aiPropose`; `proposedBy` says who wrote the proposal.

    `warnings` say why the meta model's proposal was not taken, and what may not work as meant.
    """

    saved: CaseView | None
    proposal: CaseProposal
    proposed_by: Literal["rules", "model"]
    warnings: tuple[Warning_, ...] = ()
