"""The time of jobs that a user waits for: one that takes too long is ended with a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from engine.spark.cancelling import cancellable
from engine.spark.cpu_time import TimeLimit
from engine.spark.session import server_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOK_S: Final = 30.0
"""The time for the answer about some records, which a user waits for: more on a machine that is busy otherwise."""
ADVICE: Final = (
    "Use a pattern in which no repetition takes what another one could, such as a*b for a*a*a*b, or shorter texts"
)


@contextmanager
def in_time(spark: SparkSession, what: str) -> Iterator[None]:
    """End the jobs of this block after LOOK_S. what: is evaluated, such as `the first records`."""
    server = server_of(spark)
    limit = TimeLimit(LOOK_S, None if server is None else server.jvm)
    sentence = f"{what} took more than {LOOK_S:.0f} s: an expression may never end. {ADVICE}."
    with (
        cancellable(spark, f"in-time-{uuid4().hex}", Event()) as watch,
        watch.limited(lambda: sentence if limit.is_over() else None),
    ):
        yield
