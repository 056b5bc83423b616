"""Cancelling: the jobs of a thread are tagged, and interrupted by their tag.

This ends jobs. Spark's work before a job, in the analyzer or the optimizer, cannot be interrupted: if a run is
still active PATIENCE_S after it was cancelled, in which the engine computed, its engine is given up, which ends it; the
next run starts another.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from threading import Event, Thread
from typing import TYPE_CHECKING, Final

from engine.errors import TookTooLong
from engine.spark.cpu_time import TimeLimit
from engine.spark.left_behind import at_work, end_left
from engine.spark.lost_cores import keeps_a_core
from engine.spark.session import give_up, keep_alive, leave, server_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A cancelled worker has 2 s before Spark kills it; a machine that swaps takes longer.
PATIENCE_S: Final = 10.0
_NOTED_S: Final = 10.0
_LOOK_S: Final = 1.0


class Watch:
    """Ends jobs that take too long, with a sentence.

    Spark evaluates a record to its end: a regular expression that backtracks for hours ends only with its engine. The
    job ends as soon as it is interrupted, and its task keeps a core for ever. Then an engine of the studio is ended.
    end_engine: of the studio, if it is one. goes_on: whether one of its tasks does not end.
    """

    def __init__(self, end_engine: Callable[[], None], goes_on: Callable[[], bool]) -> None:
        self._end_engine, self._goes_on = end_engine, goes_on
        self._too_long: Callable[[], str | None] | None = None
        self._said = ""

    @contextmanager
    def limited(
        self, too_long: Callable[[], str | None], node: str = "", *, keeps_core: bool = False
    ) -> Iterator[None]:
        """End the jobs of this block once `too_long` says why. Raises TookTooLong with this sentence.

        keeps_core: it is known to be a task that does not end, not a job that is long or waits for others.
        """
        self._too_long = too_long
        try:
            yield
        except Exception as error:
            if self._said:
                if keeps_core or self._goes_on():
                    self._end_engine()
                raise TookTooLong(self._said, node) from error
            raise
        finally:
            self._too_long = None

    def is_over(self) -> bool:
        """Whether the jobs have to end: called by whoever watches them."""
        if (too_long := self._too_long) is not None:
            self._said = too_long() or ""
        return bool(self._said)


@contextmanager
def cancellable(spark: SparkSession, tag: str, cancel: Event) -> Iterator[Watch]:
    """Tag the jobs of this thread, and interrupt them once `cancel` is set. Until its end the engine is in use.

    The watch, which ends them as well, costs a block no thread of its own.
    Meanwhile, jobs that a killed process left there are ended: this thread's jobs would wait for them.
    """
    done, given_up = Event(), Event()
    server = server_of(spark)

    def end() -> None:
        given_up.set()
        give_up(spark)

    limits = Watch(end, lambda: keeps_a_core(server.jvm)) if server else Watch(lambda: None, lambda: False)

    def end_if_stuck() -> None:
        limit = TimeLimit(PATIENCE_S, server.jvm if server else None)
        while not done.wait(min(0.3, PATIENCE_S)):
            if limit.is_over():
                end()
                return

    def watch() -> None:
        noted = time.monotonic()
        looked = float("-inf")
        while not (cancel.wait(0.1) or limits.is_over()):
            if done.is_set():
                return
            if server is not None and time.monotonic() - looked > _LOOK_S:
                end_left(spark, server)
                looked = time.monotonic()
            if time.monotonic() - noted > _NOTED_S:
                keep_alive(spark)
                noted = time.monotonic()
        # A separate thread: if a server is stuck, the request to cancel may wait forever, too.
        Thread(target=end_if_stuck, name=f"give up {tag}", daemon=True).start()
        while not (done.is_set() or given_up.is_set()):
            # Repeatedly: a job that starts right after a cancellation is not covered by it.
            # A request fails if the server ends or the network breaks meanwhile; the next one, or giving up, follows.
            with suppress(Exception):
                spark.interruptTag(tag)
            done.wait(0.3)

    spark.addTag(tag)
    watcher = Thread(target=watch, name=f"cancel {tag}", daemon=True)
    watcher.start()
    try:
        with at_work(server, tag) if server is not None else nullcontext():
            yield limits
    except BaseException:
        leave(spark, tag)
        raise
    finally:
        done.set()
        if cancel.is_set():
            # Later jobs are not cancelled. A watcher that was not needed ends by itself.
            watcher.join(timeout=2)
        if not given_up.is_set():
            spark.removeTag(tag)
