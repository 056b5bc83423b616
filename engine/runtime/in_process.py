"""Tasks without Spark: run one after the other, in the calling process. For small epochs of live runs, previews, tests.

An epoch of a thousand records spends most of its time on distributing tasks. A task does the same wherever it runs.
Work on Spark frames remains a Spark job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from traceback import format_exception
from typing import Any

from engine.contract.sending import check_sendable

_NUMBERS: ContextVar[Iterator[int] | None] = ContextVar("the numbers of tasks in this process", default=None)
_CHECKS: ContextVar[bool] = ContextVar("whether a worker could receive the tasks", default=True)
Work = Callable[[], Iterator[dict[str, Any]]]


@contextmanager
def in_process(*, checks: bool = True) -> Iterator[None]:
    """Inside this block, tasks of this thread that only read and write files run in this process.

    checks: whether those that a worker could not receive fail.
    """
    numbers, checked = _NUMBERS.set(_NUMBERS.get() or count()), _CHECKS.set(checks)
    try:
        yield
    finally:
        _NUMBERS.reset(numbers)
        _CHECKS.reset(checked)


def is_on() -> bool:
    """Whether tasks of this thread run in this process."""
    return _NUMBERS.get() is not None


def next_number() -> int:
    """A task number that is unique in this run."""
    numbers = _NUMBERS.get()
    assert numbers is not None, "only tasks ask"
    return next(numbers)


class TaskFailed(Exception):
    """A task has raised an error. Its text is the traceback, as that of a worker's error is."""


def reports_of(works: Iterable[Work]) -> list[dict[str, Any]]:
    """Run tasks here. Raises TaskFailed."""
    with in_process():
        try:
            return [report for work in works for report in work()]
        except Exception as error:
            raise TaskFailed("".join(format_exception(error))) from error


def sendable(work: Work) -> Work:
    """The task, if a worker could receive it. Raises PicklingError, TypeError.

    It is not unpickled: in the same process, that would replace the studio's classes with copies.
    """
    if _CHECKS.get():
        check_sendable(work)
    return work
