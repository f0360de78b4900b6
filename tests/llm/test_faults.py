from __future__ import annotations

import errno
import socket

import aiohttp
import pytest

from proctor_contracts.enums import Blame
from proctor_llm.faults import connection_fault, plain_words


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed"),
            "nothing listens at that address",
        ),
        (OSError(errno.ENETUNREACH, "Network is unreachable"), "no route"),
        (ConnectionResetError(errno.ECONNRESET, "reset"), "closed the connection"),
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "is not known here"),
        (OSError("odd"), "odd"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_why_a_connection_failed_is_said_in_words(error: OSError, words: str) -> None:
    assert words in plain_words(error)
    assert words in connection_fault("the agent's endpoint", error, blame=Blame.AGENT).message


async def test_a_port_where_nobody_listens_is_named() -> None:
    with socket.socket() as held:  # bound, so that no other takes the port, and not listening
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.ClientConnectorError) as caught:
                await session.get(f"http://127.0.0.1:{port}/")
    expected = f"nothing listens at 127.0.0.1:{port} (connection refused); is it running?"
    assert plain_words(caught.value) == expected
