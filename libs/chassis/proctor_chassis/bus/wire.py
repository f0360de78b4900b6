"""Messages as bytes and headers, the same on every adapter."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import ValidationError

from proctor_contracts.messages import Message, Transient
from proctor_contracts.topology import MAX_BODY_BYTES

from .errors import MessageTooLarge
from .retry import Dead

__all__ = [
    "DELIVERIES",
    "FAILURES",
    "KEY",
    "QUEUE",
    "REASON",
    "Outgoing",
    "check_size",
    "counted",
    "decode",
    "decode_transient",
    "encode",
    "type_of",
]

DELIVERIES = "x-delivery"
"""Header: how often this message was delivered before it went up the retry ladder."""
FAILURES = "x-failures"
"""Header: how many of those deliveries count against it."""
KEY = "x-key"
"""Header: the routing key it was sent with, which the ladder and the dead letters overwrite."""
QUEUE = "x-queue"
"""Header: the work queue a dead letter came from."""
REASON = "x-reason"
"""Header: why it was given up."""
_MOST_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message ready to send."""

    exchange: str
    key: str
    body: bytes
    id: str
    correlation: str


def encode(message: Message) -> Outgoing:
    """Turn a message into what is sent; raises `MessageTooLarge`."""
    body = message.model_dump_json().encode()
    check_size(body, key=message.key())
    return Outgoing(message.exchange.name, message.key(), body, message.id(), message.correlation())


def check_size(body: bytes, *, key: str) -> None:
    """Refuse a body that the broker might; raises `MessageTooLarge`."""
    if len(body) > MAX_BODY_BYTES:
        raise MessageTooLarge(f"{key}: {len(body)} bytes of UTF-8, at most {MAX_BODY_BYTES} are accepted")


def decode(models: Mapping[str, type[Message]], key: str, body: bytes) -> Message | Dead:
    """Read a body with the model of its key, or say why it can never be read."""
    model = models.get(key)
    if model is None:
        return Dead("undecodable", f"nothing that is known here travels with the key {key}")
    if len(body) > MAX_BODY_BYTES:
        return Dead("message_too_large", f"{len(body)} bytes, at most {MAX_BODY_BYTES} are read")
    try:
        message = model.read(body)
    except ValidationError as error:
        if _version(body) not in {None, *model.versions}:
            return Dead("unknown_version")
        return Dead("undecodable", _wrong(error))
    return message if message.v in model.versions else Dead("unknown_version")


def decode_transient(models: Mapping[str, type[Transient]], name: str, body: bytes) -> Transient | None:
    """Read a transient message of a wanted type; None for any other and for what cannot be read."""
    model = models.get(name)
    if model is None:
        return None
    try:
        return model.model_validate_json(body)
    except ValidationError:
        return None


@cache
def type_of(model: type[Transient]) -> str:
    """Name a transient message by the default of its `type` field."""
    return str(model.model_fields["type"].default)


def counted(headers: Mapping[str, Any], name: str) -> int:
    """Read a counting header; anything but a whole number counts as 0."""
    value = headers.get(name, 0)
    return value if isinstance(value, int) else 0


def _wrong(error: ValidationError) -> str:
    """Name the first fields that are wrong, without what stood in them: it may be somebody's data."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in found[:_MOST_SHOWN])


def _version(body: bytes) -> object:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    version = value.get("v") if isinstance(value, dict) else None
    return version if isinstance(version, int) else None
