"""The numbers of a run's events: dense from 1 over all sources, in order of arrival, including the ends.

If the events of a source are consecutive, without events of other sources in between, its files need no numbers: each
has the number of its first event. If sources interleave (by turns, merged or as listed), or rows are watermarks, the
events are ranked and rewritten, one task per unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.contract.columnar_kernel import Longs
from engine.contract.frames import (
    EVENTS,
    KIND,
    SEQ,
    STEP,
    TIME,
    TOP,
    UNIT,
    WATERMARK,
    arrow_fields,
    changelog_schema,
)
from engine.model.options import goes_by_arrival
from engine.model.pipeline import Arrival
from engine.model.schema import Schema
from engine.planner import Plan
from engine.runtime.arrivals.order import Ranks
from engine.runtime.arrivals.times_of_arrival import times_of_arrival
from engine.runtime.arrivals.units import Unit, UnitFiles
from engine.runtime.arrivals.watermark_rule import NO_TIME, rises_of
from engine.runtime.reports import Report, run_each, task_name
from engine.spark.workspace import PartFile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EVENTS: Final = pa.schema(arrow_fields(*EVENTS))


@dataclass(frozen=True)
class Numbers:
    """The numbering of events that are ingested together.

    after_seq, last_seq: the last event before them, and the last of them, including ends. ends: the seq of each end
    among them. last_ranks: if ends are between other events, the rank of the event before each end. idle: the seq at
    which a source becomes idle, after all others.
    """

    after_seq: int
    last_seq: int
    ends: Mapping[str, int]
    last_ranks: tuple[int, ...]
    idle: Mapping[str, int] = field(default_factory=dict)

    def seq_of(self, rank: int) -> int:
        """The number of the event with a rank."""
        return self.after_seq + rank + 1 + sum(last < rank for last in self.last_ranks)

    def seqs_of(self, ranks: Longs) -> Longs:
        """The numbers of events with these ranks."""
        ended: Longs = np.searchsorted(np.array(self.last_ranks, np.int64), ranks, side="left")
        return self.after_seq + ranks + 1 + ended


def numbers_of(
    arrival: Arrival,
    counts: Mapping[str, int],
    last_ranks: Mapping[str, int],
    after_seq: int,
    ending: Sequence[str],
    idling: Sequence[str] = (),
) -> Numbers:
    """Number these counts of events per source; some sources end with them, and some are idle afterwards.

    The end of a source follows its last event, or the last event of all sources; in a recording, its recorded place
    counts.
    """
    total = sum(counts.values())
    idle = {name: after_seq + total + len(ending) + at + 1 for at, name in enumerate(idling)}
    last_seq = after_seq + total + len(ending) + len(idle)
    if arrival.ends == "together" and arrival.mode != "recorded":
        ends = {name: after_seq + total + at + 1 for at, name in enumerate(ending)}
        return Numbers(after_seq, last_seq, ends, (), idle)
    in_order = sorted(ending, key=lambda name: (last_ranks[name], ending.index(name)))
    # A source's end is preceded by its last event's rank + 1 events, and by the ends of sources that ended earlier.
    ends = {name: after_seq + last_ranks[name] + 1 + at + 1 for at, name in enumerate(in_order)}
    return Numbers(after_seq, last_seq, ends, tuple(last_ranks[name] for name in in_order), idle)


@dataclass(frozen=True)
class Written:
    """A source's events with numbers. records: its changelog by epoch, with the rows of each file. events: the files of
    SEQ, TIME and WATERMARK of all of them, in any order. clocks: if the recorded clock is read, files of (event, ms)
    where its times rise.
    """

    records: Mapping[int, tuple[tuple[str, int], ...]]
    events: tuple[str, ...]
    clocks: tuple[str, ...] = ()


def write_numbered(
    plan: Plan,
    spark: SparkSession | None,
    read: Mapping[str, tuple[UnitFiles, Sequence[Unit]]],
    ranks: Mapping[str, Ranks],
    numbers: Numbers,
    bounds: Sequence[int],
) -> dict[str, Written]:
    """Number the events of the sources and write them, one task per unit. bounds: the last event of each epoch."""
    tasks = []
    for node in plan.sources:
        if node.id not in read:
            continue
        files, units = read[node.id]
        first = 0
        for unit in units:
            has_clock = plan.state_expires and (files.clock is not None or not goes_by_arrival(plan.pipeline.options))
            numbering = _Numbering(node.id, files, node.schema, ranks[node.id], numbers, tuple(bounds), has_clock)
            tasks.append(partial(_write, numbering, unit, first))
            first += unit.events
    reports = run_each(spark, tasks)
    written = {}
    for node in plan.sources:
        records: dict[int, tuple[tuple[str, int], ...]] = {}
        own = [report for report in reports if report["node"] == node.id]
        for report in own:
            for epoch, path, rows in report["records"]:
                records[epoch] = (*records.get(epoch, ()), (path, rows))
        clocks = tuple(report["clock"] for report in own if report["clock"] is not None)
        written[node.id] = Written(records, tuple(report["events"] for report in own), clocks)
    return written


@dataclass(frozen=True)
class _Numbering:
    node: str
    files: UnitFiles
    schema: Schema
    ranks: Ranks
    numbers: Numbers
    bounds: tuple[int, ...]
    has_clock: bool


def _write(how: _Numbering, unit: Unit, first: int) -> Iterator[Report]:
    """Write the records of a unit in order of their numbers, one file per epoch, and its events."""
    workspace, schema = how.files.workspace, changelog_schema(how.schema)
    names = [name for name in how.files.arrow.names if name not in (TOP, UNIT)]
    table = pa.Table.from_batches(workspace.read(unit.path, names), how.files.arrow_of(names))
    size = table.num_rows
    seqs = how.numbers.seqs_of(how.ranks.of(first, size))
    columns: dict[str, Any] = {
        KIND: pa.array(np.zeros(size, np.int8)),
        WATERMARK: pa.nulls(size, pa.int64()),
        TIME: pa.nulls(size, pa.int64()),
        **{name: table.column(name) for name in names},
        SEQ: pa.array(seqs),
        STEP: pa.array([b""] * size, pa.binary()),
    }
    whole = pa.table(columns)
    # Only an order by a column changes the order within a source; otherwise the batches stay as they were read.
    if (np.diff(seqs) < 0).any():
        whole = whole.take(pa.array(np.argsort(seqs)))
    name = task_name()
    events = PartFile(workspace.place("numbered", how.node, f"{name}.events.parquet"), _EVENTS)
    for batch in whole.select(_EVENTS.names).cast(_EVENTS).to_batches():
        events.write(batch)
    events.close()
    clock = None
    if how.has_clock:
        clock = workspace.save(workspace.place("numbered", how.node, f"{name}.clock.npy"), _clock(how, whole))
    changelog = whole.filter(pc.is_valid(whole.column(KIND)))
    epochs = np.searchsorted(np.array(how.bounds), changelog.column(SEQ).to_numpy(), side="left")
    records = []
    for epoch in np.unique(epochs).tolist():
        file = PartFile(workspace.place("numbered", how.node, f"{name}.{epoch}.parquet"), schema)
        for batch in changelog.select(schema.names).cast(schema).filter(pa.array(epochs == epoch)).to_batches():
            file.write(batch)
        file.close()
        records.append((epoch, file.path, file.rows))
    yield {"node": how.node, "events": events.path, "clock": clock, "records": records}


def _clock(how: _Numbering, events: pa.Table) -> Longs:
    """The numbers of the events at which the recorded clock's times of this unit rise, and these times."""
    column = how.files.clock
    if column is None:
        times = events.column(TIME).fill_null(NO_TIME).to_numpy().astype(np.int64, copy=False)
    else:
        times = times_of_arrival(events.column(column.name), column)
    places, tops = rises_of(times, NO_TIME)
    return np.stack([events.column(SEQ).to_numpy()[places], tops])
