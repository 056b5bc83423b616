"""Tasks without Spark: one after the other, in the process that asks. For tests of many small runs.

A run of ten records spends its time on handing out tasks. What a task does is the same wherever it runs. That it can be
sent to a worker of Spark is made sure of. What needs a frame of Spark is a job of Spark all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import Any

from engine.spark.sending import packed

_NUMBERS: ContextVar[Iterator[int] | None] = ContextVar("the numbers of tasks in this process", default=None)
Work = Callable[[], Iterator[dict[str, Any]]]


@contextmanager
def in_process() -> Iterator[None]:
    """Within it, tasks of this thread that only read and write files run in this process."""
    token = _NUMBERS.set(count())
    try:
        yield
    finally:
        _NUMBERS.reset(token)


def is_on() -> bool:
    """Whether tasks of this thread run in this process."""
    return _NUMBERS.get() is not None


def next_number() -> int:
    """A number for a task that no other of this run has."""
    numbers = _NUMBERS.get()
    assert numbers is not None, "only tasks ask"
    return next(numbers)


def sendable(work: Work) -> Work:
    """The task, which a worker could receive. Raises PicklingError, TypeError.

    It is not unpickled: in the process that pickled it, that would overwrite our classes with copies of themselves.
    """
    packed(work)
    return work
