"""Jobs that are watched: one that takes too long is ended with a sentence, and with its engine if nothing else ends it.

Spark evaluates a record to its end: a regular expression that backtracks for hours can be interrupted by nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from engine.errors import TookTooLong
from engine.spark.cancelling import cancellable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOK_S: Final = 30.0
"""The time for the answer about some records, which a user waits for."""
ADVICE: Final = (
    "Use a pattern in which no repetition takes what another one could, such as a*b for a*a*a*b, or shorter texts"
)
_LOOKS_S: Final = 0.25


@contextmanager
def watched(spark: SparkSession, too_long: Callable[[], str | None], node: str = "") -> Iterator[None]:
    """End the jobs of this block once `too_long` says why. Raises TookTooLong with this sentence."""
    late, done, said = Event(), Event(), ""

    def look() -> None:
        nonlocal said
        while not done.wait(_LOOKS_S):
            if sentence := too_long():
                said = sentence
                late.set()
                return

    looking = Thread(target=look, name="changelog-studio-watch", daemon=True)
    try:
        with cancellable(spark, f"watched-{uuid4().hex}", late):
            looking.start()
            yield
    except Exception as error:
        if said:
            raise TookTooLong(said, node) from error
        raise
    finally:
        done.set()


@contextmanager
def in_time(spark: SparkSession, what: str) -> Iterator[None]:
    """End the jobs of this block after LOOK_S. what: is evaluated, such as `the first records`."""
    until = monotonic() + LOOK_S
    sentence = f"{what} took more than {LOOK_S:.0f} s: an expression may never end. {ADVICE}."
    with watched(spark, lambda: sentence if monotonic() > until else None):
        yield
