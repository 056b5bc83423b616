"""Measures the rows per second of the sources: `python -m tests.bench.bench_sources [local[4]]`.

A CSV of 4 M lines (id, key, value, price, ts), read by the source with line numbers and types, beside Spark's own
CSV reader, which keeps neither the order nor the reasons of rejected rows; the same rows as JSON Lines and Parquet;
and the generator.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from engine.contract.source import Source
from engine.sources.csv import Csv
from engine.sources.generator import Generator
from engine.sources.jsonl import JsonLines
from engine.sources.parquet import Parquet
from engine.spark.session import get_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS: Final = 4_000_000


def _time(name: str, rows: int, *frames: DataFrame) -> None:
    best = min(_seconds(frames) for _ in range(3))
    sys.stdout.write(f"{name:28} {best:6.2f} s  {rows / best / 1e6:6.2f} M rows/s\n")


def _seconds(frames: tuple[DataFrame, ...]) -> float:
    begun = time.perf_counter()
    for frame in frames:
        frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - begun


def _source(spark: SparkSession, name: str, source: Source, folder: Path) -> None:
    begun = time.perf_counter()
    frames = source.read(spark, "bench", folder)
    sys.stdout.write(f"{name:28} {time.perf_counter() - begun:6.2f} s to prepare\n")
    _time(f"{name}: all rows", ROWS, frames.rows)


def main(master: str) -> None:
    """Write the files with the generator's records, then read them."""
    spark = get_spark(master)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        made = Generator(rows=ROWS, keys=200_000, disorder=0.1).read(spark, "bench", folder).records
        _time("generator", ROWS, made)
        table = made.selectExpr("id", "key", "value", "value / 7 AS price", "ts")
        table.write.option("header", True).csv(f"{folder}/csv")
        table.write.json(f"{folder}/jsonl")
        table.write.parquet(f"{folder}/parquet")
        layout = "id BIGINT, key STRING, value BIGINT, price DOUBLE, ts BIGINT"
        _time("spark.read.csv", ROWS, spark.read.csv(f"{folder}/csv", layout, header=True))
        _source(spark, "csv", Csv(path="csv", event_time="ts"), folder)
        _source(spark, "jsonl", JsonLines(path="jsonl", event_time="ts"), folder)
        _source(spark, "parquet", Parquet(path="parquet", event_time="ts"), folder)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "local[4]")
