"""What an http bot's reply says: pure functions from JSON and an endpoint's paths to values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from proctor_contracts.base import Json
from proctor_contracts.endpoint import HttpEndpoint

from .paths import Missing, Path
from .replies import clean_text, count, excerpt, object_or_none
from .types import ReportedCall, Usage

__all__ = ["ReplyPaths", "ShapeError", "read_bubbles", "read_calls", "read_usage"]

_MOST_CALLS = 10_000
_LONGEST_MS = 86_400_000


class ShapeError(ValueError):
    """A reply does not look as the endpoint says; the message names the path and what is there."""


@dataclass(frozen=True, slots=True)
class ReplyPaths:
    """An endpoint's paths, parsed once."""

    reply: Path
    tool_calls: Path | None
    tool_calls_optional: bool
    outcomes: Mapping[str, Path]
    usage: Path | None
    session: Path | None

    @classmethod
    def of(cls, endpoint: HttpEndpoint) -> ReplyPaths:
        """Take the paths of an endpoint whose `reply_path` is set."""
        return cls(
            reply=Path.parse(endpoint.reply_path or "$"),
            tool_calls=_optional(endpoint.tool_calls_path),
            tool_calls_optional=endpoint.tool_calls_optional,
            outcomes={name: Path.parse(text) for name, text in endpoint.outcome_paths.items()},
            usage=_optional(endpoint.usage_path),
            session=_optional(endpoint.session_path),
        )

    def outcomes_of(self, reply: Json) -> dict[str, Json]:
        """Collect the labels the bot reports; a label that is missing from the reply is left out."""
        found = {name: path.look(reply) for name, path in self.outcomes.items()}
        return {name: value for name, value in found.items() if not isinstance(value, Missing)}

    def tools_gap(self, reply: Json) -> str | None:
        """Say what is there instead of the configured list of tool calls, or None when nothing is amiss."""
        path = self.tool_calls
        if path is None or self.tool_calls_optional or not isinstance(path.look(reply), Missing):
            return None
        return f"toolCallsPath {path.text}: {path.explain(reply)}"

    def session_of(self, reply: Json) -> Json:
        """Give the bot's own id of the conversation, or None."""
        value = self.session.look(reply) if self.session is not None else None
        return None if isinstance(value, Missing) else value


def read_bubbles(reply: Json, path: Path) -> tuple[str, ...]:
    """Give the bot's messages: one for a text, several for a list of texts, none for null or blanks.

    Raises:
        ShapeError: when there is something else, or nothing, at the path.
    """
    match path.look(reply):
        case str(text):
            bubbles: list[str] = [text]
        case None:
            bubbles = []
        case list(items):
            bubbles = []
            for index, item in enumerate(items):
                if not isinstance(item, str):
                    raise ShapeError(
                        f"replyPath {path.text}: element {index} is not a text but {_shown(item)}"
                    )
                bubbles.append(item)
        case Missing():
            raise ShapeError(f"replyPath {path.text}: {path.explain(reply)}")
        case other:
            raise ShapeError(f"replyPath {path.text} is neither a text nor a list of texts: {_shown(other)}")
    return tuple(one for one in bubbles if one.strip())


def read_calls(reply: Json, paths: ReplyPaths) -> tuple[tuple[ReportedCall, ...], bool]:
    """Give the tool calls a bot reports, and whether it reports them at all.

    A configured path that a reply lacks means "not reported", never "no calls", unless the endpoint says
    that the path is optional.

    Raises:
        ShapeError: when what is there is no list of calls.
    """
    if paths.tool_calls is None:
        return (), False
    path = paths.tool_calls
    match path.look(reply):
        case Missing():
            return (), paths.tool_calls_optional
        case None:
            return (), True
        case list(items) if len(items) > _MOST_CALLS:
            raise ShapeError(
                f"toolCallsPath {path.text} holds {len(items)} calls, at most {_MOST_CALLS} are read"
            )
        case list(items):
            return tuple(
                _call(item, f"toolCallsPath {path.text}[{at}]") for at, item in enumerate(items)
            ), True
        case other:
            raise ShapeError(f"toolCallsPath {path.text} is not a list: {_shown(other)}")


def read_usage(reply: Json, path: Path | None) -> Usage | None:
    """Read token counts in OpenAI's, Anthropic's or Proctor's own form; None when they are not there."""
    found = path.look(reply) if path is not None else None
    if not isinstance(found, dict):
        return None
    completion = _count(found, "completion_tokens", "output_tokens", "completionTokens")
    cached = _count(found, "cache_read_input_tokens", "cachedPromptTokens")
    written = _count(found, "cache_creation_input_tokens", "cacheWriteTokens")
    prompt = _count(found, "input_tokens", "promptTokens")
    if prompt is None and (whole := _count(found, "prompt_tokens")) is not None:
        # OpenAI's prompt count includes the cached part.
        details = found.get("prompt_tokens_details")
        cached = _count(details, "cached_tokens") if isinstance(details, dict) else cached
        prompt = max(0, whole - (cached or 0))
    if prompt is None and completion is None:
        return None
    return Usage(prompt or 0, cached or 0, written or 0, completion or 0)


def _call(item: Json, where: str) -> ReportedCall:
    if isinstance(item, str):
        return ReportedCall(item, {}, "")
    if not isinstance(item, dict):
        raise ShapeError(f"{where} is neither a call nor a tool's name: {_shown(item)}")
    function = item.get("function")
    inner = function if isinstance(function, dict) else item
    name = inner.get("name") or inner.get("toolName")
    if not isinstance(name, str) or not name:
        raise ShapeError(f"{where} has no name: {_shown(item)}")
    given = inner.get("args", inner.get("arguments"))
    args: dict[str, Json] | None
    match given:
        case None:
            args, raw = {}, ""
        case dict():
            args, raw = given, orjson.dumps(given).decode()
        case str():
            args, raw = object_or_none(given), clean_text(given)
        case _:
            args, raw = None, orjson.dumps(given).decode()
    duration, error = item.get("durationMs"), item.get("error")
    return ReportedCall(
        name=name,
        args=args,
        args_raw=raw,
        result=item.get("result"),
        duration_ms=_milliseconds(duration),
        error=error
        if isinstance(error, str)
        else None
        if error in (None, False)
        else orjson.dumps(error).decode(),
    )


def _count(found: dict[str, Json], *names: str) -> int | None:
    for name in names:
        if (value := count(found.get(name))) is not None:
            return value
    return None


def _milliseconds(value: Json) -> int | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _LONGEST_MS:
        return round(value)
    return None


def _optional(text: str | None) -> Path | None:
    return Path.parse(text) if text is not None else None


def _shown(value: Json) -> str:
    return excerpt(orjson.dumps(value), 80)
