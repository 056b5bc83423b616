"""Measures the unit of CPU seconds: plain Spark with default settings reads the events as CSV and writes Parquet."""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Final

from engine.spark.java import environment
from tests.bench.measured import Job, Measured, Stopwatch, answer

_COLUMNS: Final = "seq BIGINT, k BIGINT, v BIGINT, ts BIGINT"


def csv_to_parquet(job: Job) -> Measured:
    """Measure on a session that has done the same with the first events."""
    from pyspark.sql import SparkSession

    os.environ["JAVA_HOME"] = environment()["JAVA_HOME"]
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(job.engine if job.engine.startswith("local") else "local[2]").config(
        "spark.ui.enabled", "false"
    )
    builder = builder.config("spark.local.dir", job.scratch).config("spark.driver.bindAddress", "127.0.0.1")
    spark = builder.config("spark.driver.memory", os.environ.get("CHANGELOG_STUDIO_MEMORY", "4g")).getOrCreate()
    with tempfile.TemporaryDirectory(dir=job.scratch) as out:
        spark.read.schema(_COLUMNS).csv(job.first).write.parquet(f"{out}/first")
        watch = Stopwatch()
        spark.read.schema(_COLUMNS).csv(job.events).write.parquet(f"{out}/events")
        return Measured((watch.lap("CSV to Parquet"),))


if __name__ == "__main__":
    answer(csv_to_parquet)
