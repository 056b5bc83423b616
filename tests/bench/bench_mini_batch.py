"""Compares mini-batch of few records in one task and by Spark, in turn: seconds per epoch, and their ratio.

    python -m tests.bench.bench_mini_batch [RECORDS] [TURNS] [--engine local[2]]

A count by key in two phases over three epochs; both sides emit the same. Not part of the test run.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from engine.model.pipeline import Pipeline
from engine.runtime.mini_batch import gathering
from engine.spark.session import get_spark
from tests.golden.trace import TraceRecorder, run_pipeline

_EPOCHS = 3
_OPTIONS = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.size": "100",
    "table.exec.mini-batch.allow-latency": "1 h",
}


def counting(records: int) -> Pipeline:
    """A count by key, over 50 keys."""
    count = {"group_by": ["key"], "aggregates": [{"function": "COUNT", "name": "n"}]}
    nodes = [
        {"id": "made", "operator": "generator", "parameters": {"rows": records, "keys": 50}},
        {"id": "counts", "operator": "aggregate", "parameters": count},
    ]
    edges = [{"source": "made", "target": "counts"}]
    return Pipeline.from_dict({"nodes": nodes, "edges": edges, "options": _OPTIONS})


def main() -> int:
    """Run both sides, and print the time per epoch."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.bench_mini_batch")
    parser.add_argument("records", nargs="?", type=int, default=1000)
    parser.add_argument("turns", nargs="?", type=int, default=3)
    parser.add_argument("--engine", default="local[2]")
    args = parser.parse_args()
    pipeline, spark = counting(args.records), get_spark(args.engine)
    limits = {"one task": sys.maxsize, "Spark": 0}
    seconds: dict[str, list[float]] = {side: [] for side in limits}
    emitted: set[str] = set()

    def run(limit: int) -> tuple[float, TraceRecorder]:
        gathering.FEW = limit
        with tempfile.TemporaryDirectory(prefix="mini-batch-") as name:
            began = time.perf_counter()
            trace = run_pipeline(pipeline, spark, Path(name), Path(name) / "run", epochs=_EPOCHS, partitions=2)
            return (time.perf_counter() - began) / _EPOCHS, trace

    for turn in range(args.turns + 1):
        for side, limit in limits.items():
            spent, trace = run(limit)
            emitted.add(trace.text())
            # The first turn warms both up.
            if turn:
                seconds[side].append(spent)
    assert len(emitted) == 1, "both sides emit the same"
    medians = {side: statistics.median(each) for side, each in seconds.items()}
    for side, each in medians.items():
        sys.stdout.write(f"{side:>8}: {each:.2f} s for an epoch of {args.records // _EPOCHS:,} records\n")
    sys.stdout.write(f"   ratio: {medians['Spark'] / medians['one task']:.1f}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
