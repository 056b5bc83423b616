"""SIGINT and SIGTERM in the command line: running work ends in an orderly way, with an exit status."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event
from types import FrameType
from typing import Any, Final

_HEARD: Final = (signal.SIGINT, signal.SIGTERM)


class Interrupted(KeyboardInterrupt):
    """A signal ends the running work. status: the exit status for it."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__()
        self.status = 128 + number


@contextmanager
def heard(react: Callable[[int], None]) -> Iterator[None]:
    """Within it, a signal calls `react`. Only the main thread receives signals; in other threads there is no effect."""
    before: dict[signal.Signals, Any] = {}

    def call(number: int, _: FrameType | None) -> None:
        react(number)

    try:
        if threading.current_thread() is threading.main_thread():
            for signum in _HEARD:
                before[signum] = signal.signal(signum, call)
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


@contextmanager
def ending() -> Iterator[None]:
    """Within it, a signal raises Interrupted, so that folders are removed and running work is notified."""

    def end(number: int) -> None:
        raise Interrupted(number)

    with heard(end):
        yield


@contextmanager
def cancelling(cancel: Event) -> Iterator[None]:
    """Within it, a signal cancels, and a second one raises Interrupted. Errors after a signal become Interrupted."""
    numbers: list[int] = []

    def stop(number: int) -> None:
        numbers.append(number)
        if cancel.is_set():
            raise Interrupted(number)
        cancel.set()

    with heard(stop):
        try:
            yield
        except Exception:
            if numbers:
                raise Interrupted(numbers[0]) from None
            raise
