"""Measures a CSV with many columns into a sink."""

from __future__ import annotations

import json
from pathlib import Path

from engine.spark.session import get_spark
from tests.bench.measured import Job, Measured, answer
from tests.bench.studio_side import kept


def wide_csv(job: Job) -> Measured:
    """Measure on a session that has done the same with a narrow file."""
    spark = get_spark(job.engine)
    for file in (Path(job.first), Path(job.events)):
        measured = kept(spark, _document(file.name), file.parent, Path(job.scratch), job.epochs)
    return measured


def _document(path: str) -> str:
    nodes = [
        {"id": "wide", "operator": "csv", "parameters": {"path": path}},
        {"id": "out", "operator": "sink", "parameters": {"mode": "changelog"}},
    ]
    return json.dumps({"version": 1, "name": "wide", "nodes": nodes, "edges": [{"source": "wide", "target": "out"}]})


if __name__ == "__main__":
    answer(wide_csv)
