"""Ingestion: the events of all sources, numbered densely from 1 in order of arrival, as Parquet.

    sources/<node>/__epoch=<k>/     __seq, __step, __index, __kind, __watermark, __time, <columns>

Without watermark events such a folder is the source's edge as it is. `__index` counts the source's own
events from 0. A source's end is an event too; it has a number and no row. Which number is which source's
is decided once, before the first epoch, so that any split into epochs sees the same clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import PipelineError, SourceError
from engine.operator import Source
from engine.pipeline import Arrival
from engine.planner import NodePlan, Plan
from engine.reading.computed import frames_of
from engine.schema import quote

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


@dataclass(frozen=True)
class Ingested:
    """All events of a run. ends: the seq of each source's end. last_seq: of all events, ends included."""

    folders: dict[str, Path]
    counts: dict[str, int]
    ends: dict[str, int]
    last_seq: int
    rejected: tuple[Path, ...]
    epochs: int
    with_watermark_events: frozenset[str]

    def bounds(self, epoch: int) -> tuple[int, int]:
        """The events (low, high] of an epoch."""
        return self.last_seq * epoch // self.epochs, self.last_seq * (epoch + 1) // self.epochs


def ingest(plan: Plan, spark: SparkSession, folder: Path, work: Path, epochs: int) -> Ingested:
    """Read every source to its end, number the events, and write them by epoch.

    Raises SourceError where a source cannot be read at all, PipelineError where the order makes no sense.
    """
    from pyspark.sql import functions as f

    names = [node.id for node in plan.sources]
    rejected: list[Path] = []
    indexed, counts, mixed = [], {}, set()
    for node in plan.sources:
        staged = _stage(node, spark, folder, work)
        indexed.append(staged.frame)
        counts[node.id] = staged.events
        if staged.events > staged.rows:
            mixed.add(node.id)
        rejected += staged.rejected
    ranked, last_ranks = _rank(plan, spark, indexed, counts)
    ends = _ends(plan.pipeline.arrival, names, last_ranks, sum(counts.values()))
    last_seq = max(ends.values())
    epochs = max(1, min(epochs, last_seq))
    folders: dict[str, Path] = {}
    for node, frame in zip(plan.sources, ranked, strict=True):
        seq = _seq(names, last_ranks, plan.pipeline.arrival)
        target = work / "sources" / node.id
        numbered = frame.withColumn("__seq", seq).withColumn("__step", f.lit(b"")).drop("__rank")
        _write(numbered, target, last_seq, epochs)
        folders[node.id] = target
    return Ingested(folders, counts, ends, last_seq, tuple(rejected), epochs, frozenset(mixed))


@dataclass(frozen=True)
class _Staged:
    """A source as it was read: `events` are its rows and its watermark events."""

    frame: DataFrame
    events: int
    rows: int
    rejected: list[Path]


def _stage(node: NodePlan, spark: SparkSession, folder: Path, work: Path) -> _Staged:
    """Read a source once into Parquet, with a dense `__index` and the event time in ms as `__time`."""
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as f

    source = node.operator
    assert isinstance(source, Source)
    try:
        frames = frames_of(source, spark, node.id, folder)
        time = node.schema.event_time
        staged = work / "staged" / node.id
        frames.records.withColumn(
            "__time", f.expr(time.milliseconds) if time is not None else f.lit(None).cast("bigint")
        ).write.parquet(str(staged))
        rejected: list[Path] = []
        if frames.rejected is not None:
            target = work / "rejected" / node.id
            frames.rejected.select(f.lit(node.id).alias("node"), "file", "line", "raw", "reason").write.parquet(
                str(target)
            )
            rejected.append(target)
    except PySparkException as error:
        from engine.analyzer import sentence_of

        message = f"it cannot be read: {sentence_of(error)}"
        raise SourceError(message, node.id) from error
    frame = spark.read.parquet(str(staged))
    asked = (f.min("__ordinal"), f.max("__ordinal"), f.count("*"), f.count("__kind"))
    first, last, count, rows = frame.agg(*asked).collect()[0]
    if count and last - first + 1 == count:
        frame = frame.withColumn("__index", f.col("__ordinal") - f.lit(first))
    else:
        frame = frame.orderBy("__ordinal").zipWithIndex("__index")
    return _Staged(frame.drop("__ordinal"), count, rows, rejected)


def _rank(
    plan: Plan, spark: SparkSession, frames: Sequence[DataFrame], counts: dict[str, int]
) -> tuple[list[DataFrame], dict[str, int]]:
    """Each frame with `__rank`, the place of its events among those of all sources, from 0; and each last rank."""
    from pyspark.sql import functions as f

    names = list(counts)
    index = f.col("__index")
    arrival = plan.pipeline.arrival
    match arrival.mode:
        case "one_after_the_other":
            ranks, last, done = [], {}, 0
            for name in names:
                ranks.append(index + f.lit(done))
                done += counts[name]
                last[name] = done - 1 if counts[name] else -1
            return [frame.withColumn("__rank", rank) for frame, rank in zip(frames, ranks, strict=True)], last
        case "in_turn":
            ranks = []
            for at in range(len(names)):
                rank = f.lit(0).cast("bigint")
                for other, name in enumerate(names):
                    rank = rank + f.least(f.lit(counts[name]).cast("bigint"), index + f.lit(int(other < at)))
                ranks.append(rank)
            last = {
                name: sum(min(n, counts[name] - 1 + int(other < at)) for other, n in enumerate(counts.values()))
                if counts[name]
                else -1
                for at, name in enumerate(names)
            }
            return [frame.withColumn("__rank", rank) for frame, rank in zip(frames, ranks, strict=True)], last
        case "by_column":
            return _rank_by_column(plan, frames, names)
        case "listed":
            return _rank_listed(arrival, spark, frames, counts)


def _rank_by_column(
    plan: Plan, frames: Sequence[DataFrame], names: Sequence[str]
) -> tuple[list[DataFrame], dict[str, int]]:
    from pyspark.sql import functions as f

    parts = []
    for at, (node, frame) in enumerate(zip(plan.sources, frames, strict=True)):
        source = node.operator
        assert isinstance(source, Source)
        assert source.arrival_column is not None, "the plan was checked"
        column = node.schema.column(source.arrival_column, node.id, "arrival_column")
        value = f.col(quote(column.name))
        value = f.unix_micros(value.cast("timestamp")) if column.type in ("timestamp", "date") else value
        parts.append(
            frame.select(
                value.alias("__arrival"), f.lit(at).alias("__source"), "__index", f.struct("*").alias(f"__row{at}")
            )
        )
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.unionByName(part, allowMissingColumns=True)
    merged = whole.orderBy("__arrival", "__source", "__index").zipWithIndex("__rank").localCheckpoint()
    found = {row[0]: row[1] for row in merged.groupBy("__source").agg(f.max("__rank")).collect()}
    # A source's own events are counted in the order in which they arrive, which may not be that of its rows.
    ranked = [
        merged.where(f.col("__source") == at)
        .select(f"__row{at}.*", "__rank")
        .drop("__index")
        .orderBy("__rank")
        .zipWithIndex("__index")
        for at in range(len(names))
    ]
    return ranked, {name: found.get(at, -1) for at, name in enumerate(names)}


def _rank_listed(
    arrival: Arrival, spark: SparkSession, frames: Sequence[DataFrame], counts: dict[str, int]
) -> tuple[list[DataFrame], dict[str, int]]:
    from pyspark.sql import functions as f

    ranked, last = [], {}
    for name, frame in zip(counts, frames, strict=True):
        places = [at for at, listed in enumerate(arrival.order) if listed == name]
        if len(places) != counts[name]:
            message = (
                f"arrival.order lists it {len(places)} times, but it has {counts[name]} events, rejected rows not "
                "counted. List every event, or choose another order of arrival."
            )
            raise PipelineError(message, name, "arrival.order")
        last[name] = places[-1] if places else -1
        known = spark.createDataFrame(list(enumerate(places)), "__index bigint, __rank bigint")
        ranked.append(frame.join(f.broadcast(known), "__index"))
    return ranked, last


def _ends(arrival: Arrival, names: Sequence[str], last_ranks: dict[str, int], total: int) -> dict[str, int]:
    """The seq of each source's end: right after its last event, or after the last event of all."""
    if arrival.ends == "together":
        return {name: total + at + 1 for at, name in enumerate(names)}
    in_order = sorted(names, key=lambda name: (last_ranks[name], names.index(name)))
    # Before the end of a source come its last event's rank + 1 events and the ends of those that ended earlier.
    return {name: last_ranks[name] + 1 + at + 1 for at, name in enumerate(in_order)}


def _seq(names: Sequence[str], last_ranks: dict[str, int], arrival: Arrival) -> Column:
    from pyspark.sql import functions as f

    seq = f.col("__rank") + f.lit(1)
    if arrival.ends == "together":
        return seq
    for name in names:
        seq = seq + f.when(f.col("__rank") > f.lit(last_ranks[name]), 1).otherwise(0)
    return seq


def _write(frame: DataFrame, target: Path, last_seq: int, epochs: int) -> None:
    from pyspark.sql import functions as f

    if epochs == 1:
        frame.sortWithinPartitions("__seq").write.parquet(str(target / "__epoch=0"))
        return
    # The epoch k with last_seq * k // epochs < seq <= last_seq * (k + 1) // epochs.
    epoch = f.expr(f"cast((__seq * {epochs} - 1) div {last_seq} as int)")
    frame.withColumn("__epoch", epoch).sortWithinPartitions("__seq").write.partitionBy("__epoch").parquet(str(target))
