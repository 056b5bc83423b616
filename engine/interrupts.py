"""SIGINT and SIGTERM in the command line: what is under way ends in order, and says how it ended."""

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
    """A signal ends what is under way. status: the exit status that says so."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__()
        self.status = 128 + number


@contextmanager
def heard(react: Callable[[int], None]) -> Iterator[None]:
    """Within it, a signal is this call. Only the main thread of a process hears signals; in others nothing changes."""
    before: dict[signal.Signals, Any] = {}

    def call(number: int, _: FrameType | None) -> None:
        react(number)

    try:
        if threading.current_thread() is threading.main_thread():
            for each in _HEARD:
                before[each] = signal.signal(each, call)
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextmanager
def ending() -> Iterator[None]:
    """Within it, a signal raises Interrupted, so that folders are removed and what runs is told."""

    def end(number: int) -> None:
        raise Interrupted(number)

    with heard(end):
        yield


@contextmanager
def cancelling(cancel: Event) -> Iterator[None]:
    """Within it, a signal cancels, and a second one raises Interrupted. What was cancelled ends in Interrupted too."""
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
