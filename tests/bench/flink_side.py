"""Flink's side: a workload into a blackhole sink, run by the one Flink that the project asks (`engine.flink.process`).

Timed from the submission of the job to its end. CPU seconds are those of Flink's interpreter and its JVM.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from engine.flink.environment import ENVIRONMENT
from engine.flink.process import FlinkProcess
from tests.bench.measured import Job, Measured, Spent, Stopwatch, answer
from tests.bench.workloads import QUERIES, tables


def workload(job: Job) -> Measured:
    """Measure a workload, in a JVM that has run it over the first events, unless it should begin cold."""
    # All compilers and the default collector, as a cluster has them.
    flink = FlinkProcess(os.environ[ENVIRONMENT], jvm="")
    try:
        if job.first:
            _run(flink, job.first, job)
        return Measured((_run(flink, job.events, job),))
    finally:
        flink.close()


def _run(flink: FlinkProcess, events: str, job: Job) -> Spent:
    watch = Stopwatch()
    settings = {"parallelism.default": str(cores(job.engine))}
    (answered,) = flink.ask([{"statements": statements(job, events), "settings": settings}])
    if "error" in answered:
        raise RuntimeError(answered["error"])
    return watch.lap("job")


def statements(job: Job, events: str) -> list[str]:
    """The script of a workload over a file of events."""
    filled = f"CREATE TABLE sink WITH ('connector' = 'blackhole') AS {QUERIES[job.workload]}"
    return [*tables(job.workload, Path(events).as_uri()), filled]


def cores(engine: str) -> int:
    """The number of cores in `local[2]`; all cores of the machine for `local[*]`."""
    found = re.fullmatch(r"local\[(\d+|\*)(?:,\d+)?\]", engine)
    return int(found[1]) if found and found[1] != "*" else (os.cpu_count() or 1)


if __name__ == "__main__":
    answer(workload)
