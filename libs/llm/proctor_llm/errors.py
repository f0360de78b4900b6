"""The one error a client raises, and the closed set of reasons."""

from __future__ import annotations

from enum import StrEnum

from proctor_contracts.enums import Blame

from .types import Usage

__all__ = ["LlmError", "LlmErrorCode"]


class LlmErrorCode(StrEnum):
    """What went wrong; stable, shown to users and stored."""

    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    PROVIDER_UNAVAILABLE = "provider_unavailable"
    TIMEOUT = "timeout"
    AUTH = "auth"
    MISSING_KEY = "missing_key"
    MISSING_MODEL = "missing_model"
    MISSING_ENDPOINT = "missing_endpoint"
    BAD_REQUEST = "bad_request"
    REFUSED_BY_EGRESS = "refused_by_egress"
    TRUNCATED_TOOL_CALL = "truncated_tool_call"
    EMPTY_REPLY = "empty_reply"
    UNEXPECTED_SHAPE = "unexpected_shape"
    REPLAY_MISS = "replay_miss"
    RETRY_AFTER_TOO_LONG = "retry_after_too_long"
    RESPONSE_TOO_LARGE = "response_too_large"


class LlmError(Exception):
    """A call that gave no usable reply.

    `retryable` and `retry_after` (seconds, None when absent or unreadable) are about one try and are used
    up by the client: what reaches a caller has had its retries. `usage`, `cost_micro_usd` (None: unknown)
    and `tries` cover the whole call.
    """

    def __init__(
        self,
        code: LlmErrorCode,
        message: str,
        *,
        blame: Blame,
        retryable: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.blame = blame
        self.retryable = retryable
        self.retry_after = retry_after
        self.usage: Usage | None = None
        self.cost_micro_usd: int | None = None
        self.tries = 1
