"""Measures example 01 after a fresh start: the session, the first run, and later runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from tests.bench.measured import Job, Measured, Spent, Stopwatch, answer

WARM_RUNS: Final = 10
SESSION, FIRST, WARM = "session", "first run", "warm run"


def example_01(job: Job) -> Measured:
    """Measure in this fresh process. The time of the session includes the import of our modules."""
    watch = Stopwatch()
    from engine import examples
    from engine.spark.session import get_spark
    from tests.bench.studio_side import kept

    spark = get_spark(job.engine)
    parts: list[Spent] = [watch.lap(SESSION)]
    folder = Path(next(iter(examples.__path__)))
    document = (folder / "01-word-frequency.json").read_text(encoding="utf-8")
    for run in range(1 + WARM_RUNS):
        whole = kept(spark, document, folder, Path(job.scratch), job.epochs).whole
        parts.append(replace(whole, name=WARM if run else FIRST))
    return Measured(tuple(parts))


if __name__ == "__main__":
    answer(example_01)
