"""A whole exchange through the door: one deadline, one size limit, the body as bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from .door import OutgoingDoor

__all__ = ["Answer", "AnswerTooLargeError", "fetch"]


class AnswerTooLargeError(Exception):
    """The peer sent more than may be read; the rest was left unread and the connection closed."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; header names keep the peer's spelling, of repeated ones the last counts."""

    status: int
    headers: Mapping[str, str]
    body: bytes


async def fetch(
    door: OutgoingDoor,
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    data: bytes | None = None,
    seconds: float,
    limit: int,
) -> Answer:
    """Send one request and read its answer; `seconds` bounds the whole exchange, `limit` the body's bytes.

    Redirects are answers like any other.

    Raises:
        EgressRefused: the policy does not let it leave.
        TimeoutError: the whole exchange took longer than `seconds`, however the bytes dripped.
        AnswerTooLargeError: the body is longer than `limit`.
        aiohttp.ClientError: the peer could not be reached, or the connection broke.
    """
    async with (
        asyncio.timeout(seconds),
        door.request(method, url, headers=headers, data=data) as response,
    ):
        chunks: list[bytes] = []
        size = 0
        async for chunk in response.content.iter_any():
            size += len(chunk)
            if size > limit:
                response.close()
                raise AnswerTooLargeError(f"the answer is longer than {limit} bytes")
            chunks.append(chunk)
        return Answer(response.status, dict(response.headers), b"".join(chunks))
