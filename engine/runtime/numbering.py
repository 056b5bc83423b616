"""The numbers of a run's events: dense from 1 over all sources, in order of arrival, ends included.

Where the events of a source follow each other without another source's in between, its files need no numbers: each
starts with one. Where sources interleave, by turns, by a column or as listed, their events are ranked and
written once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.contract.frames import (
    EVENTS,
    INDEX,
    KIND,
    RANK,
    SEQ,
    STEP,
    TIME,
    TOP,
    UNIT,
    WATERMARK,
    arrow_fields,
    changelog_schema,
    ddl,
)
from engine.contract.recorder import EdgeFile
from engine.contract.source import Source
from engine.errors import PipelineError
from engine.model.pipeline import Arrival
from engine.model.schema import quote
from engine.planner import NodePlan, Plan
from engine.runtime.edges import numbered
from engine.runtime.reports import Batches, Report, run_tasks, task_name
from engine.runtime.units import Unit, UnitFiles
from engine.spark.workspace import PartFile, Workspace

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_EVENTS: Final = pa.schema(arrow_fields(*EVENTS))


@dataclass(frozen=True)
class Numbers:
    """How the events of a run are numbered. ends: the seq of each source's end. last_seq: of all, ends included."""

    counts: Mapping[str, int]
    last_ranks: Mapping[str, int]
    ends: Mapping[str, int]
    together: bool

    @property
    def last_seq(self) -> int:
        """The last event's."""
        return max(self.ends.values())

    def seq_of(self, rank: int) -> int:
        """The number of the event with a rank."""
        return rank + 1 + (0 if self.together else sum(last < rank for last in self.last_ranks.values()))

    def seq_column(self) -> Column:
        """The same of a column of ranks."""
        from pyspark.sql import functions as f

        seq = f.col(RANK) + f.lit(1)
        for last in () if self.together else self.last_ranks.values():
            seq = seq + f.when(f.col(RANK) > f.lit(last), 1).otherwise(0)
        return seq


def follow_each_other(plan: Plan) -> bool:
    """Whether the events of each source are numbered without a gap, whatever the sources hold."""
    mode = plan.pipeline.arrival.mode
    return mode == "one_after_the_other" or (mode == "in_turn" and len(plan.sources) == 1)


def numbers_of(arrival: Arrival, counts: Mapping[str, int], last_ranks: Mapping[str, int]) -> Numbers:
    """The ends of the sources: right after a source's last event, or after the last event of all."""
    names, together = list(counts), arrival.ends == "together"
    if together:
        total = sum(counts.values())
        ends = {name: total + at + 1 for at, name in enumerate(names)}
    else:
        in_order = sorted(names, key=lambda name: (last_ranks[name], names.index(name)))
        # Before the end of a source come its last event's rank + 1 events and the ends of those that ended earlier.
        ends = {name: last_ranks[name] + 1 + at + 1 for at, name in enumerate(in_order)}
    return Numbers(counts, last_ranks, ends, together)


def offsets_of(counts: Mapping[str, int]) -> dict[str, int]:
    """The rank of each source's first event, where one comes after the other."""
    offsets, done = {}, 0
    for name, count in counts.items():
        offsets[name] = done
        done += count
    return offsets


def indexed(spark: SparkSession, files: UnitFiles, units: Sequence[Unit]) -> DataFrame:
    """A source's events with INDEX, KIND, WATERMARK, TIME and its columns."""
    from pyspark.sql import functions as f

    first, edge_files = 0, []
    for unit in units:
        edge_files.append(EdgeFile(unit.path, first, unit=unit.number))
        first += unit.events
    names = [name for name in files.arrow.names if name not in (TOP, UNIT)]
    held = ", ".join(
        [
            *([ddl(KIND)] if KIND in names else []),
            *([ddl(WATERMARK)] if WATERMARK in names else []),
            files.schema.ddl(),
            *([ddl(TIME)] if TIME in names else []),
        ]
    )
    if not units:
        read = spark.createDataFrame([], f"{held}, {ddl(INDEX)}")
    else:
        scanned = spark.read.schema(f"{held}, {ddl(UNIT)}").parquet(*(unit.path for unit in units))
        read = numbered(spark, scanned, edge_files).withColumnRenamed(SEQ, INDEX)
    kind = f.col(KIND) if KIND in names else f.lit(0).cast("tinyint")
    no_number = f.lit(None).cast("bigint")
    return read.select(
        INDEX,
        kind.alias(KIND),
        (f.col(WATERMARK) if WATERMARK in names else no_number).alias(WATERMARK),
        (f.col(TIME) if TIME in names else no_number).alias(TIME),
        *(f.col(quote(name)) for name in files.schema.names),
    )


def ranked(
    plan: Plan, spark: SparkSession, frames: Sequence[DataFrame], counts: Mapping[str, int]
) -> tuple[list[DataFrame], dict[str, int]]:
    """Each frame with the rank of its events, and each last rank; -1 where a source has none."""
    from pyspark.sql import functions as f

    names = list(counts)
    index = f.col(INDEX)
    arrival = plan.pipeline.arrival
    match arrival.mode:
        case "one_after_the_other":
            offsets = offsets_of(counts)
            last = {name: offsets[name] + counts[name] - 1 if counts[name] else -1 for name in names}
            return [
                frame.withColumn(RANK, index + f.lit(offsets[name])) for name, frame in zip(names, frames, strict=True)
            ], last
        case "in_turn":
            found = []
            for at, frame in enumerate(frames):
                rank = f.lit(0).cast("bigint")
                for other, name in enumerate(names):
                    rank = rank + f.least(f.lit(counts[name]).cast("bigint"), index + f.lit(int(other < at)))
                found.append(frame.withColumn(RANK, rank))
            last = {
                name: sum(min(n, counts[name] - 1 + int(other < at)) for other, n in enumerate(counts.values()))
                if counts[name]
                else -1
                for at, name in enumerate(names)
            }
            return found, last
        case "by_column":
            return _by_column(plan, frames, names)
        case "listed":
            return _as_listed(arrival, spark, frames, counts)


def _by_column(plan: Plan, frames: Sequence[DataFrame], names: Sequence[str]) -> tuple[list[DataFrame], dict[str, int]]:
    from pyspark.sql import functions as f

    parts = []
    for at, (node, frame) in enumerate(zip(plan.sources, frames, strict=True)):
        source = node.operator
        assert isinstance(source, Source)
        assert source.arrival_column is not None, "the plan was checked"
        column = node.schema.column(source.arrival_column, node.id, "arrival_column")
        value = f.col(quote(column.name))
        value = f.unix_micros(value.cast("timestamp")) if column.type in ("timestamp", "date") else value
        row = f.struct("*").alias(f"__row{at}")
        parts.append(frame.select(value.alias("__arrival"), f.lit(at).alias("__source"), INDEX, row))
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.unionByName(part, allowMissingColumns=True)
    merged = whole.orderBy("__arrival", "__source", INDEX).zipWithIndex(RANK).localCheckpoint()
    found = {row[0]: row[1] for row in merged.groupBy("__source").agg(f.max(RANK)).collect()}
    ranks = [merged.where(f.col("__source") == at).select(f"__row{at}.*", RANK) for at in range(len(names))]
    return ranks, {name: found.get(at, -1) for at, name in enumerate(names)}


def _as_listed(
    arrival: Arrival, spark: SparkSession, frames: Sequence[DataFrame], counts: Mapping[str, int]
) -> tuple[list[DataFrame], dict[str, int]]:
    from pyspark.sql import functions as f

    found, last = [], {}
    for name, frame in zip(counts, frames, strict=True):
        places = [at for at, listed in enumerate(arrival.order) if listed == name]
        if len(places) != counts[name]:
            message = (
                f"arrival.order lists it {len(places)} times, but it has {counts[name]} events, rejected rows not "
                "counted. List every event, or choose another order of arrival."
            )
            raise PipelineError(message, name, "arrival.order")
        last[name] = places[-1] if places else -1
        known = spark.createDataFrame(list(enumerate(places)), ddl(INDEX, RANK))
        found.append(frame.join(f.broadcast(known), INDEX))
    return found, last


@dataclass(frozen=True)
class Written:
    """A source's events with numbers. records: its changelog by epoch, with the rows of each file. events: SEQ, TIME
    and WATERMARK of all of them.
    """

    records: Mapping[int, tuple[tuple[str, int], ...]]
    events: tuple[str, ...]


def write_numbered(
    frame: DataFrame, node: NodePlan, workspace: Workspace, numbers: Numbers, bounds: Sequence[int]
) -> Written:
    """Number a source's ranked events and write them. bounds: the last event of each epoch."""
    from pyspark.sql import functions as f

    schema = changelog_schema(node.schema)
    lasts = np.array(bounds)
    node_id = node.id

    def task(batches: Batches) -> Iterator[Report]:
        name = task_name()
        files: dict[int, PartFile] = {}
        events = PartFile(workspace.place("numbered", node_id, f"{name}.events.parquet"), _EVENTS)
        for batch in batches:
            events.write(pa.RecordBatch.from_arrays([batch.column(n) for n in _EVENTS.names], schema=_EVENTS))
            kept = batch.filter(pc.is_valid(batch.column(KIND)))
            epochs = np.searchsorted(lasts, kept.column(SEQ).to_numpy(), side="left")
            columns = {name: kept.column(name) for name in schema.names if name != STEP}
            columns[STEP] = pa.array([b""] * kept.num_rows, pa.binary())
            rows = pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
            for epoch in np.unique(epochs).tolist():
                if epoch not in files:
                    files[epoch] = PartFile(workspace.place("numbered", node_id, f"{name}.{epoch}.parquet"), schema)
                files[epoch].write(rows.filter(pa.array(epochs == epoch)))
        for epoch, file in files.items():
            if file.close():
                yield {"epoch": epoch, "path": file.path, "rows": file.rows}
        if events.close():
            yield {"events": events.path}

    chosen = (f.col(quote(name)) for name in node.schema.names)
    with_seq = frame.withColumn(SEQ, numbers.seq_column()).select(SEQ, KIND, TIME, WATERMARK, *chosen)
    reports = run_tasks(with_seq.sortWithinPartitions(SEQ), task)
    records: dict[int, tuple[tuple[str, int], ...]] = {}
    for report in reports:
        if "epoch" in report:
            records[report["epoch"]] = (*records.get(report["epoch"], ()), (report["path"], report["rows"]))
    return Written(records, tuple(report["events"] for report in reports if "events" in report))
