"""Where classic PySpark and Spark Connect differ: cancelling jobs.

Cancelling ends jobs. What Spark does before a job, in the analyzer or the optimizer, hears of nothing: a run that is
still there PATIENCE_S after it was cancelled has its JVM ended, which ends it; the next run starts another.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread, Timer
from typing import TYPE_CHECKING, Final

from engine.spark.session import give_up

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A worker that is cancelled has 2 s before Spark kills it; a machine that swaps takes some more.
PATIENCE_S: Final = 10.0


@contextmanager
def cancellable(spark: SparkSession, tag: str, cancel: Event) -> Iterator[None]:
    """Tag the jobs of this thread, and cancel them once `cancel` is set.

    Classic: its interruptTag cancels nothing, so the tag is the context's. Connect has no context.
    """
    done, given_up = Event(), Event()

    def end() -> None:
        given_up.set()
        give_up(spark)

    # A thread of its own: where a JVM gets nowhere, asking it to cancel may wait for ever, too.
    last_resort = Timer(PATIENCE_S, end)
    last_resort.daemon = True

    def watch() -> None:
        while not cancel.wait(0.1):
            if done.is_set():
                return
        last_resort.start()
        while not (done.is_set() or given_up.is_set()):
            # Again and again: a job that starts right after a cancelling is not covered by it.
            try:
                _cancel(spark, tag)
            except Exception:
                # Its JVM was ended while it was asked, which PySpark tells in several ways.
                if not given_up.is_set():
                    raise
            done.wait(0.3)

    _tag(spark, tag)
    watcher = Thread(target=watch, name=f"cancel {tag}", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        last_resort.cancel()
        if cancel.is_set():
            # Nothing is cancelled of what comes next. A watcher that was not needed ends by itself.
            watcher.join(timeout=2)
        if not given_up.is_set():
            _untag(spark, tag)


def is_connect(spark: SparkSession) -> bool:
    """True for a Spark Connect session."""
    return ".connect." in type(spark).__module__


def _tag(spark: SparkSession, tag: str) -> None:
    if is_connect(spark):
        spark.addTag(tag)
    else:
        spark.sparkContext.addJobTag(tag)


def _untag(spark: SparkSession, tag: str) -> None:
    if is_connect(spark):
        spark.removeTag(tag)
    else:
        spark.sparkContext.removeJobTag(tag)


def _cancel(spark: SparkSession, tag: str) -> None:
    if is_connect(spark):
        spark.interruptTag(tag)
    else:
        spark.sparkContext.cancelJobsWithTag(tag)
