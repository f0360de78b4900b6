"""The bus port and what services need to use it; adapters are imported where a process is wired."""

from .port import (
    Bus,
    BusError,
    BusUnavailable,
    DeadLetter,
    DeadSubscription,
    Depth,
    Handler,
    Listener,
    MessageTooLarge,
    Meta,
    Permanent,
    RetryLater,
    RetryPolicy,
    Subscription,
    Unroutable,
)

__all__ = [
    "Bus",
    "BusError",
    "BusUnavailable",
    "DeadLetter",
    "DeadSubscription",
    "Depth",
    "Handler",
    "Listener",
    "MessageTooLarge",
    "Meta",
    "Permanent",
    "RetryLater",
    "RetryPolicy",
    "Subscription",
    "Unroutable",
]
