"""Random jobs on both engines: Flink in a process of its own, many jobs at once; ours with the local executor.

Flink guarantees no order for records of several keys, of joins and of timers. Those changelogs are compared as a
multiset of records, or by the resulting tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.contract.operator import Operator
from engine.errors import StudioError
from engine.flink.asking import SLOWLY
from engine.flink.comparison import Outcome, table
from engine.flink.process import FlinkProcess
from engine.flink.values import Records, records_of
from engine.local import LocalRun
from engine.local.sources import read
from engine.model.types import quote
from engine.planner import NodePlan, Plan, plan
from tests.differential.arrived import AnyJob, plan_of, run_locally
from tests.differential.random_jobs import COLUMNS
from tests.differential.random_queries import QueryJob

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from engine.contract.operator import Analyzer

RandomJob = AnyJob | QueryJob


@dataclass(frozen=True)
class Ours:
    """A job, planned and run here."""

    job: RandomJob
    planned: Plan
    records: Records

    @property
    def for_flink(self) -> dict[str, Any]:
        """The job in the form that `engine.flink.inside` reads."""
        return self.job.for_flink if isinstance(self.job, QueryJob) else _views_of(self.job, self.planned)


class Fuzzing:
    """Both engines. spark: for expressions that the local executor cannot compute."""

    def __init__(self, flink: FlinkProcess, analyzer: Analyzer, spark: Callable[[], SparkSession]) -> None:
        self.flink = flink
        self._analyzer = analyzer
        self._spark = spark

    def ours(self, job: RandomJob) -> Ours:
        """Plan and run the job here. Raises StudioError if it is rejected."""
        if not isinstance(job, QueryJob):
            planned = plan_of(job)
            return Ours(job, planned, _records(run_locally(planned, job.arrivals), planned.nodes[-1]))
        pipeline = job.case.pipeline(self._analyzer)
        planned = plan(pipeline, self._analyzer, Path())
        run = LocalRun(planned, read(planned, self._spark, Path()), self._spark)
        return Ours(job, planned, _records(run, planned.node(pipeline.nodes[-1].id)))

    def judged(self, jobs: Sequence[Ours]) -> list[tuple[Outcome, str]]:
        """The outcome of each job, with the difference as a text."""
        found = [_judged(ours, theirs) for ours, theirs in zip(jobs, self._answers(jobs), strict=True)]
        # One row may have overtaken another: run the job again, slowly.
        again = [at for at, ours in enumerate(jobs) if found[at][0] is Outcome.DIFFERENT and ours.job.rows_per_second]
        slowly = [replace(jobs[at], job=replace(jobs[at].job, rows_per_second=SLOWLY)) for at in again]
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


def _records(run: LocalRun, node: NodePlan) -> Records:
    return records_of(run.records(node.id), node.schema.names)


def _judged(ours: Ours, theirs: Records | str) -> tuple[Outcome, str]:
    if isinstance(theirs, str):
        causes = [line for line in theirs.splitlines() if "Exception" in line]
        return Outcome.REFUSED, " ".join(causes[-1:]) or theirs
    if ours.records == theirs:
        return Outcome.EQUAL, ""
    loose = ours.job.is_loose if isinstance(ours.job, QueryJob) else _is_any_loose(ours.job)
    if loose and Counter(map(str, ours.records)) == Counter(map(str, theirs)):
        return Outcome.OTHER_ORDER, ""
    if loose and table(ours.records) == table(theirs):
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
