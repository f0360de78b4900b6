"""What can go wrong on the bus, and what a handler raises to say what must happen to its message."""

from __future__ import annotations

__all__ = ["BusError", "BusUnavailable", "MessageTooLarge", "Permanent", "RetryLater", "Unroutable"]


class BusError(Exception):
    """A message could not be sent; `code` is stable."""

    code = "bus_error"


class BusUnavailable(BusError):
    """The broker is away or does not confirm; the caller keeps the message and tries again."""

    code = "bus_unavailable"


class Unroutable(BusError):
    """No queue is bound to this key, so trying again is useless."""

    code = "unroutable"


class MessageTooLarge(BusError):
    """The body is over the limit; refused before sending, since the broker would close the channel."""

    code = "message_too_large"


class Permanent(Exception):
    """This message can never be handled: to the dead letters at once, with the reason `permanent:<code>`."""

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(message or code)
        self.code = code


class RetryLater(Exception):
    """Deliver this message again, after `after` seconds or the policy's own delay.

    An outage of something else is not the message's fault, so by default it is not `counted` against it.
    """

    def __init__(self, message: str = "", *, after: float | None = None, counted: bool = False) -> None:
        super().__init__(message or "try again later")
        self.after = after
        self.counted = counted
