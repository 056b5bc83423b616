"""Where classic PySpark and Spark Connect differ: cancelling jobs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def cancellable(spark: SparkSession, tag: str, cancel: Event) -> Iterator[None]:
    """Tag the jobs of this thread, and cancel them once `cancel` is set.

    Classic: its interruptTag cancels nothing, so the tag is the context's. Connect has no context.
    """
    done = Event()

    def watch() -> None:
        while not done.is_set():
            if cancel.wait(0.1):
                # Again and again: a job that starts right after a cancelling is not covered by it.
                _cancel(spark, tag)
                done.wait(0.3)

    _tag(spark, tag)
    watcher = Thread(target=watch, name=f"cancel {tag}", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join(timeout=2)
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
