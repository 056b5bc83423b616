"""Random jobs on both engines: Flink in a process of its own, many jobs at once; ours with the local executor.

Flink guarantees no order for records of several keys, of joins and of timers. Those changelogs are compared as a
multiset of records, or by the resulting tables.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from engine.contract.operator import Operator
from engine.errors import StudioError
from engine.local import LocalRun
from engine.local.sources import read
from engine.model.changelog import SYMBOLS
from engine.model.types import quote
from engine.planner import Plan, plan
from tests.conformance.running import plain
from tests.differential.arrived import AnyJob, plan_of, run_locally
from tests.differential.random_jobs import COLUMNS
from tests.differential.random_queries import QueryJob
from tests.golden.trace import printed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from engine.contract.operator import Analyzer

Records = list[tuple[Any, ...]]
RandomJob = AnyJob | QueryJob
SLOW = 4
"""Rows per second for the second run of a job, in case its rows overtook each other in the first."""


class Outcome(Enum):
    """The outcome of a job."""

    EQUAL = "equal, record for record"
    OTHER_ORDER = "equal, but for an order that Flink does not promise"
    SAME_TABLE = "another order upstream: the same table"
    REFUSED = "refused by Flink"
    DIFFERENT = "different"


@dataclass(frozen=True)
class Ours:
    """A job, planned and run here."""

    job: RandomJob
    planned: Plan
    records: Records

    @property
    def for_flink(self) -> dict[str, Any]:
        """The job in the form that `flink_jobs` reads."""
        return self.job.for_flink if isinstance(self.job, QueryJob) else _views_of(self.job, self.planned)


class Flink:
    """A process that runs jobs, with C1 and the serial collector only: rows are few, and the machine is shared."""

    def __init__(self, python: str) -> None:
        script = Path(__file__).parent / "flink_jobs.py"
        self.process = subprocess.Popen(
            [python, str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "JVM_ARGS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx2g"},
        )

    def answers(self, jobs: Sequence[dict[str, Any]]) -> list[Records | str]:
        """The changelog of each job, or Flink's error if it rejects the job."""
        if not jobs:
            return []
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(list(jobs)) + "\n")
        self.process.stdin.flush()
        # Java's own output may begin with a bracket, too.
        while not (line := self.process.stdout.readline()).startswith('[{"'):
            assert line, "Flink has gone away"
        return [
            answer["error"] if "error" in answer else [tuple(row) for row in answer["changelog"]]
            for answer in json.loads(line)
        ]

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.process.wait()


class Fuzzing:
    """Both engines. spark: for expressions that the local executor cannot compute."""

    def __init__(self, flink: Flink, analyzer: Analyzer, spark: Callable[[], SparkSession]) -> None:
        self.flink = flink
        self._analyzer = analyzer
        self._spark = spark

    def ours(self, job: RandomJob) -> Ours:
        """Plan and run the job here. Raises StudioError if it is rejected."""
        if not isinstance(job, QueryJob):
            planned = plan_of(job)
            return Ours(job, planned, records_of(run_locally(planned, job.arrivals).records(planned.nodes[-1].id)))
        pipeline = job.case.pipeline(self._analyzer)
        planned = plan(pipeline, self._analyzer, Path())
        run = LocalRun(planned, read(planned, self._spark, Path()), self._spark)
        return Ours(job, planned, records_of(run.records(pipeline.nodes[-1].id)))

    def judged(self, jobs: Sequence[Ours]) -> list[tuple[Outcome, str]]:
        """The outcome of each job, with the difference as a text."""
        found = [_judged(ours, theirs) for ours, theirs in zip(jobs, self._answers(jobs), strict=True)]
        # One row may have overtaken another: run the job again, slowly.
        again = [at for at, ours in enumerate(jobs) if found[at][0] is Outcome.DIFFERENT and ours.job.rows_per_second]
        slowly = [replace(jobs[at], job=replace(jobs[at].job, rows_per_second=SLOW)) for at in again]
        for at, ours, theirs in zip(again, slowly, self._answers(slowly), strict=True):
            found[at] = _judged(ours, theirs)
        return found

    def shrunk(self, ours: Ours, told: str) -> tuple[Ours, str]:
        """A smaller job that still differs, with its difference. Up to 12 smaller jobs are tried at a time."""
        for _ in range(4):
            smaller = []
            for job in ours.job.smaller():
                try:
                    smaller.append(self.ours(job))
                except StudioError:
                    continue
                if len(smaller) == 12:
                    break
            judged = self.judged(smaller)
            differ = [at for at, (outcome, _) in enumerate(judged) if outcome is Outcome.DIFFERENT]
            if not differ:
                break
            ours, told = smaller[differ[0]], judged[differ[0]][1]
        return ours, told

    def _answers(self, jobs: Sequence[Ours]) -> list[Records | str]:
        return self.flink.answers([ours.for_flink for ours in jobs])


def records_of(changelog: pa.Table) -> Records:
    """A changelog in the form of `flink_jobs`: times in epoch ms, decimals as text."""
    return [(SYMBOLS[record.kind], *map(plain, record.row)) for record in printed(changelog)]


def _judged(ours: Ours, theirs: Records | str) -> tuple[Outcome, str]:
    if isinstance(theirs, str):
        causes = [line for line in theirs.splitlines() if "Exception" in line]
        return Outcome.REFUSED, " ".join(causes[-1:]) or theirs
    if ours.records == theirs:
        return Outcome.EQUAL, ""
    loose = ours.job.is_loose if isinstance(ours.job, QueryJob) else _is_any_loose(ours.job)
    if loose and Counter(map(str, ours.records)) == Counter(map(str, theirs)):
        return Outcome.OTHER_ORDER, ""
    if loose and _table(ours.records) == _table(theirs):
        same = isinstance(ours.job, QueryJob) or _same_as_far_as_said(ours, theirs)
        if same:
            return Outcome.SAME_TABLE, ""
    lines = [f"ours   {row}" for row in ours.records] + [f"flink  {row}" for row in theirs]
    return Outcome.DIFFERENT, "\n".join(
        [*(f"{node.id}: {node.strategy.name} {node.mode}" for node in ours.planned.nodes), *lines]
    )


def _is_any_loose(job: AnyJob) -> bool:
    names = [name for name, _ in job.operators]
    return any(
        # Flink leaves out unused results of an aggregate below another one, and so updates that show no change.
        _is_loose(name, given, job) or (name == "aggregate" and "aggregate" in names[at + 1 :])
        for at, (name, given) in enumerate(job.operators)
    )


def _same_as_far_as_said(ours: Ours, theirs: Records) -> bool:
    """Whether the order within each key is the same, if Flink guarantees it."""
    job = ours.job
    assert not isinstance(job, QueryJob)
    below = job.operators[:-1]
    # Flink leaves out unused results of an aggregate below another one, and so updates that show no change.
    is_hiding = job.hides_updates or any(name == "aggregate" for name, _ in below)
    if is_hiding or any(_is_loose(name, given, job) for name, given in below):
        return True
    last = ours.planned.nodes[-1]
    for key in last.derived.upsert_keys:
        places = [last.schema.index(name) + 1 for name in key]
        return _by(ours.records, places) == _by(theirs, places)
    return False


def _is_loose(name: str, given: dict[str, Any], job: AnyJob) -> bool:
    if name.endswith("join"):
        return True
    if name in ("window_aggregate", "over_aggregate", "window_topn") or given.get("kind") == "session":
        return given.get("order") != "arrival"
    if name == "deduplicate" and given["order"] == "event_time" and given["keep"] == "first":
        return True
    return bool(job.options) and name in ("aggregate", "deduplicate")


def _by(records: Records, places: Sequence[int]) -> dict[tuple[Any, ...], Records]:
    found: dict[tuple[Any, ...], Records] = {}
    for record in records:
        found.setdefault(tuple(record[place] for place in places), []).append(record)
    return found


def _table(records: Records) -> Counter[str]:
    rows: Counter[str] = Counter()
    for kind, *row in records:
        rows[str(row)] += 1 if kind in ("+I", "+U") else -1
    return Counter({row: count for row, count in rows.items() if count})


def _views_of(job: AnyJob, planned: Plan) -> dict[str, Any]:
    """The job for Flink: one view per node, with the operator's own Flink SQL."""
    views = [
        [node.id, node.operator.flink_sql([(given.node, given.schema) for given in node.inputs])]
        for node in planned.nodes
        if isinstance(node.operator, Operator)
    ]
    last = planned.nodes[-1]
    types = {"string": "STRING", "bigint": "BIGINT", "timestamp": "TIMESTAMP_LTZ(3)"}
    columns = [[name, types[type_]] for name, type_ in COLUMNS]
    return {
        "tables": [{**table, "columns": columns, "time": "rt"} for table in job.tables],
        "arrivals": job.arrivals,
        "rows_per_second": job.rows_per_second,
        "views": views,
        "sql": f"SELECT {', '.join(map(quote, last.schema.names))} FROM {quote(last.id)}",
        "options": job.options,
    }
