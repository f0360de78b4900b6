"""The checks that look for texts and patterns in agent messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

from proctor_contracts.assertions import Contains, ContainsAll, ContainsAny, NotContains, Regex
from proctor_contracts.enums import Scope

from .context import GradingContext, RegexFound, RegexInvalid, RegexLimit, RegexMissing
from .conversation import FORBIDDEN_SCOPE_NAMES, SCOPE_NAMES, Conversation, Message
from .findings import Finding, failed, no_agent_message, passed, unresolved
from .text import excerpt, fold, quoted, visible

__all__ = ["check_contains", "check_contains_all", "check_contains_any", "check_not_contains", "check_regex"]


def check_contains(check: Contains, conversation: Conversation) -> Finding:
    """A text occurs in one message of the scope (`any`), in every one (`all`), or in the first or last."""
    needle = _needle(check.value, case_insensitive=check.case_insensitive)
    return _present(
        conversation,
        check.scope,
        lambda message: _missing(conversation, message, (needle,), case_insensitive=check.case_insensitive),
        expected=f"{quoted(check.value, 200)} in {SCOPE_NAMES[check.scope]}",
    )


def check_contains_all(check: ContainsAll, conversation: Conversation) -> Finding:
    """All texts occur together in one message of the scope (`any`), or in every one."""
    needles = tuple(_needle(value, case_insensitive=check.case_insensitive) for value in check.values)
    return _present(
        conversation,
        check.scope,
        lambda message: _missing(conversation, message, needles, case_insensitive=check.case_insensitive),
        expected=f"all of {_listed(check.values)} in {SCOPE_NAMES[check.scope]}",
    )


def check_contains_any(check: ContainsAny, conversation: Conversation) -> Finding:
    """At least one text occurs in one message of the scope (`any`), or in every one."""
    needles = tuple(_needle(value, case_insensitive=check.case_insensitive) for value in check.values)

    def missing(message: Message) -> Sequence[str]:
        found = len(needles) - len(
            _missing(conversation, message, needles, case_insensitive=check.case_insensitive)
        )
        return () if found else needles

    return _present(
        conversation,
        check.scope,
        missing,
        expected=f"one of {_listed(check.values)} in {SCOPE_NAMES[check.scope]}",
    )


def check_not_contains(check: NotContains, conversation: Conversation) -> Finding:
    """A text occurs in no message of the scope; `any` and `all` both mean every message."""
    expected = f"no {quoted(check.value, 200)} in {FORBIDDEN_SCOPE_NAMES[check.scope]}"
    messages = conversation.messages(check.scope)
    if not messages:
        return no_agent_message(expected)
    needle = _needle(check.value, case_insensitive=check.case_insensitive)
    for message in messages:
        text = conversation.folded(message, case_insensitive=check.case_insensitive)
        if _stands_in(needle, text, message):
            at = max(0, text.find(needle))
            return failed(
                "forbidden_text",
                f"{quoted(check.value)} must not occur but does",
                expected=expected,
                seen=excerpt(message.text, at),
                at=message.entry,
            )
    return passed()


def check_regex(  # noqa: PLR0911 - one return per kind of answer
    check: Regex, conversation: Conversation, context: GradingContext
) -> Finding:
    """A pattern is found in the scope, or with `mustMatch: false` in no message of it."""
    scope = SCOPE_NAMES[check.scope] if check.must_match else FORBIDDEN_SCOPE_NAMES[check.scope]
    name = excerpt(f"/{check.pattern}/{check.flags}", limit=200)
    expected = f"{'a match' if check.must_match else 'no match'} of {name} in {scope}"
    messages = conversation.messages(check.scope)
    if not messages:
        return no_agent_message(expected)
    answers = (
        (message, context.regex.search(check.pattern, check.flags, message.text)) for message in messages
    )
    # A match settles `any` and mustMatch:false, a miss settles the rest; what is left would only cost time.
    match_settles = not check.must_match or check.scope is Scope.ANY
    for message, answer in answers:
        match answer:
            case RegexFound() if match_settles:
                if check.must_match:
                    return passed(at=message.entry)
                return _forbidden(name, expected, message, answer)
            case RegexMissing() if not match_settles:
                return _no_match(name, expected, message)
            case RegexFound() | RegexMissing():
                continue
            case RegexInvalid(reason=reason):
                return unresolved("invalid_pattern", f"{name} does not compile: {reason}", expected=expected)
            case RegexLimit(code=code, reason=reason):
                return unresolved(code, f"{name}: {reason}", expected=expected, at=message.entry)
            case never:
                assert_never(never)
    if check.must_match and match_settles:
        return _no_match(name, expected, messages[-1])
    return passed(at=messages[-1].entry if check.must_match else None)


def _forbidden(name: str, expected: str, message: Message, found: RegexFound) -> Finding:
    return failed(
        "forbidden_pattern",
        f"{name} must not match but matches {quoted(found.text)}",
        expected=expected,
        seen=excerpt(message.text, found.start),
        at=message.entry,
    )


def _no_match(name: str, expected: str, message: Message) -> Finding:
    return failed(
        "no_match", f"{name} does not match", expected=expected, seen=excerpt(message.text), at=message.entry
    )


def _present(
    conversation: Conversation, scope: Scope, missing: Callable[[Message], Sequence[str]], *, expected: str
) -> Finding:
    """Decide a check for presence; `missing` tells which texts a message lacks, none meaning a pass."""
    messages = conversation.messages(scope)
    if not messages:
        return no_agent_message(expected)
    if scope is not Scope.ANY:
        for message in messages:
            if lacks := missing(message):
                return _lacking(lacks, expected, message)
        return passed(at=messages[-1].entry)
    best: tuple[Sequence[str], Message] | None = None
    for message in messages:
        lacks = missing(message)
        if not lacks:
            return passed(at=message.entry)
        if best is None or len(lacks) <= len(best[0]):
            best = (lacks, message)
    lacks, message = best or ((), messages[-1])
    return _lacking(lacks, expected, message)


def _missing(
    conversation: Conversation, message: Message, needles: Sequence[str], *, case_insensitive: bool
) -> Sequence[str]:
    text = conversation.folded(message, case_insensitive=case_insensitive)
    return [needle for needle in needles if not _stands_in(needle, text, message)]


def _needle(value: str, *, case_insensitive: bool) -> str:
    """Fold what is looked for; of a text that nobody sees nothing would be left, so it stays as it is."""
    return fold(value, case_insensitive=case_insensitive) or value


def _stands_in(needle: str, folded: str, message: Message) -> bool:
    return needle in folded or (not visible(needle) and needle in message.text)


def _lacking(lacks: Sequence[str], expected: str, message: Message) -> Finding:
    return failed(
        "text_missing",
        f"not found: {_listed(lacks)}",
        expected=expected,
        seen=excerpt(message.text),
        at=message.entry,
    )


def _listed(values: Sequence[str]) -> str:
    shown = ", ".join(quoted(value) for value in values[:5])
    return f"{shown} and {len(values) - 5} more" if len(values) > 5 else shown  # noqa: PLR2004 - enough to read
