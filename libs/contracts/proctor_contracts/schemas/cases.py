"""Cases over REST."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from proctor_contracts.assertions import Assertion
from proctor_contracts.base import TYPED, SafeText, Strict, Wire
from proctor_contracts.cases import CaseBudget, CaseFields, CaseInput, Category, Name, Ref, Reference, Tag
from proctor_contracts.enums import Priority, RetryPolicy

from .common import FieldProblem, Timestamp, Warning_

__all__ = ["BulkCases", "BulkOutcome", "CaseCreate", "CasePatch", "CaseValidation", "CaseView"]


class CaseCreate(CaseFields):
    """A case for an integration."""

    integration_id: UUID


class CasePatch(Strict):
    """Named fields change; an explicit null clears a nullable one."""

    ref: Ref | None = None
    name: Name | None = None
    category: Category | None = None
    priority: Priority | None = None
    input: CaseInput | None = None
    assertions: Annotated[tuple[Assertion, ...], Field(min_length=1, max_length=200)] | None = None
    rubric: Annotated[SafeText, Field(max_length=20_000)] | None = None
    weight: Annotated[int, Field(ge=1, le=10_000), TYPED] | None = None
    threshold: Annotated[int, Field(ge=0, le=100), TYPED] | None = None
    tags: Annotated[tuple[Tag, ...], Field(max_length=100)] | None = None
    is_active: bool | None = None
    critical: bool | None = None
    retry_policy: RetryPolicy | None = None
    reference: Reference | None = None
    budget: CaseBudget | None = None


class CaseView(Wire):
    """A case as stored; `revision` grows with every change. `warnings` come back from saving only."""

    id: UUID
    integration_id: UUID
    revision: int
    ref: str | None
    name: str
    category: str
    priority: Priority
    input: dict[str, Any]
    assertions: tuple[dict[str, Any], ...]
    rubric: str | None
    weight: int
    threshold: int | None
    tags: tuple[str, ...]
    is_active: bool
    critical: bool
    retry_policy: RetryPolicy | None
    reference: dict[str, Any] | None
    budget: dict[str, Any] | None
    created_at: Timestamp
    updated_at: Timestamp
    warnings: tuple[Warning_, ...] = ()


class CaseValidation(Wire):
    """What saving the case would say, without saving it."""

    valid: bool
    errors: tuple[FieldProblem, ...] = ()
    warnings: tuple[Warning_, ...] = ()


class BulkCases(Strict):
    """Cases to create or update by `ref`, all or none; a case without a ref is matched by its exact name."""

    integration_id: UUID
    cases: Annotated[tuple[CaseFields, ...], Field(min_length=1, max_length=2_000)]


class BulkOutcome(Wire):
    """What happened, with the ids in the order given."""

    created: int
    updated: int
    unchanged: int
    ids: tuple[UUID, ...]
    warnings: tuple[Warning_, ...] = ()
