"""Flink's side, for an interpreter with apache-flink: a workload into a blackhole sink.

Timed from the submission of the job to its end. Imports only pyflink and the standard library.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment

from tests.bench.measured import Job, Measured, Spent, Stopwatch, answer
from tests.bench.workloads import QUERIES, tables


def workload(job: Job) -> Measured:
    """Measure a workload, in a JVM that has run it over the first events, unless it should begin cold."""
    if job.first:
        _run(job.first, job)
    return Measured((_run(job.events, job),))


def _run(events: str, job: Job) -> Spent:
    flink = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    flink.get_config().set("parallelism.default", str(cores(job.engine)))
    for statement in tables(job.workload, Path(events).as_uri()):
        flink.execute_sql(statement)
    query = QUERIES[job.workload]
    schema = flink.sql_query(query).get_schema()
    columns = ", ".join(
        f"`{name}` {_sink_type(str(of))}"
        for name, of in zip(schema.get_field_names(), schema.get_field_data_types(), strict=True)
    )
    flink.execute_sql(f"CREATE TABLE sink ({columns}) WITH ('connector' = 'blackhole')")
    watch = Stopwatch()
    flink.execute_sql(f"INSERT INTO sink {query}").wait()
    return watch.lap("job")


def _sink_type(type_: str) -> str:
    known = {"TIMESTAMP_LTZ": "TIMESTAMP_LTZ(3)", "TIMESTAMP": "TIMESTAMP(3)", "CHAR": "STRING", "STRING": "STRING"}
    return next((sink for part, sink in known.items() if part in type_), "BIGINT")


def cores(engine: str) -> int:
    """The number of cores in `local[2]`; all cores of the machine for `local[*]`."""
    found = re.fullmatch(r"local\[(\d+|\*)(?:,\d+)?\]", engine)
    return int(found[1]) if found and found[1] != "*" else (os.cpu_count() or 1)


if __name__ == "__main__":
    answer(workload)
