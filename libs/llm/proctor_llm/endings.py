"""What the end of a model's reply means, the same for every provider."""

from __future__ import annotations

from proctor_contracts.enums import Blame

from .errors import LlmError, LlmErrorCode
from .types import Finish, ToolUse

__all__ = ["check_ending"]


def check_ending(
    provider: str, finish: Finish, text: str, uses: tuple[ToolUse, ...], *, last_is_use: bool
) -> None:
    """Refuse the two endings that would otherwise pass for something else.

    A tool call that the output limit cut is not executable even if what is left happens to parse, and a
    normal stop with nothing said is no reply. A refusal, a filter or a cut text is a reply, and named.

    Raises:
        LlmError: `truncated_tool_call` or `empty_reply`.
    """
    if finish is Finish.LENGTH and uses and (last_is_use or any(use.args is None for use in uses)):
        message = (
            f"{provider} reached max_tokens in the middle of calling {uses[-1].name}; the call was not made"
        )
        raise LlmError(LlmErrorCode.TRUNCATED_TOOL_CALL, message, blame=Blame.AGENT)
    if finish in {Finish.STOP, Finish.TOOL_USE} and not uses and not text.strip():
        message = f"{provider} ended its reply normally without saying anything"
        raise LlmError(LlmErrorCode.EMPTY_REPLY, message, blame=Blame.AGENT)
