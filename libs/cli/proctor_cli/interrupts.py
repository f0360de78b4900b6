"""Ctrl-C in two steps: the first asks the run to stop, the second stops the command."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from functools import partial

__all__ = ["Interrupts", "interrupts"]


class Interrupts:
    """Counts the interrupts of a run; `first` is set by the first, the second cancels `task`."""

    def __init__(self, task: asyncio.Task[object]) -> None:
        self.first = asyncio.Event()
        self.forced = False
        self._task = task

    def signalled(self) -> None:
        """Take one interrupt."""
        if not self.first.is_set():
            self.first.set()
            return
        self.forced = True
        self._task.cancel()


@contextlib.contextmanager
def interrupts() -> Iterator[Interrupts]:
    """Handle SIGINT and SIGTERM of this process until the block ends.

    Raises:
        RuntimeError: outside a task.
    """
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("interrupts need a task to cancel")
    loop = asyncio.get_running_loop()
    handled = Interrupts(task)
    restore: list[Callable[[], object]] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, handled.signalled)
            restore.append(partial(loop.remove_signal_handler, number))
        except NotImplementedError:  # Windows
            old = signal.signal(number, lambda *_: loop.call_soon_threadsafe(handled.signalled))
            restore.append(partial(signal.signal, number, old))
        except (ValueError, RuntimeError):  # not the main thread: whoever runs this handles signals
            continue
    try:
        yield handled
    finally:
        for undo in restore:
            undo()
