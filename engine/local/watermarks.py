"""The watermark of a source after each of its events, from the files of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from engine.contract.frames import TIME, TOP
from engine.contract.recorder import ClockFile
from engine.planner import NodePlan
from engine.runtime.arrivals.ingest import EpochEvents
from engine.spark.run_files import LocalFiles
from engine.spark.workspace import Workspace


class Mark(NamedTuple):
    """An event. event_time_ms: None for an end or an explicit watermark; watermark_ms: None before the first."""

    seq: int
    event_time_ms: int | None
    watermark_ms: int | None


def marks_of(sources: Sequence[NodePlan], epoch: EpochEvents, files: LocalFiles) -> Mapping[str, tuple[Mark, ...]]:
    """By source, its events in order of arrival, its end last. A source without event time only has its end."""
    marks: dict[str, list[Mark]] = {node.id: [] for node in sources}
    for path in epoch.watermark_files(files):
        for batch in files.workspace.read(path, ("seq", "source", "event_time_ms", "watermark_ms")):
            for seq, source, *mark in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                marks[source].append(Mark(seq, *mark))
    for clock in epoch.clock_files():
        marks[clock.source] += _followed(clock, files.workspace)
    return {name: tuple(sorted(own)) for name, own in marks.items()}


def _followed(clock: ClockFile, workspace: Workspace) -> Iterator[Mark]:
    """The events of a source whose watermark is that of its largest event time so far."""
    rows = pa.Table.from_batches(workspace.read(clock.path, (TIME, TOP)))
    before = [] if clock.top_before_ms is None else [clock.top_before_ms]
    columns = rows.column(TIME).to_pylist(), rows.column(TOP).to_pylist()
    for seq, (time_ms, top_ms) in enumerate(zip(*columns, strict=True), clock.first_seq):
        tops = before if top_ms is None else [*before, top_ms]
        yield Mark(seq, time_ms, max(tops) - clock.delay_ms if tops and clock.delay_ms is not None else None)
