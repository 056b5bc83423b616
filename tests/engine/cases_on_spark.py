"""Runs cases in Spark's workers: the tasks of `engine.runtime`, two buckets of keys, two epochs cut in the middle.

A Spark job per case would take a second. Here one job has the tasks of many cases; each case has its own kernel, files
and state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import engine
import tests
from engine.contract.columnar_kernel import Layout, OfKinds, TimedKernel
from engine.contract.frames import (
    ENDS,
    EXPIRES,
    KIND,
    PORT,
    SEQ,
    STEP,
    arrow_fields,
    changelog_schema,
    key_name,
    plain_state,
    value_name,
)
from engine.contract.kernel import Emitted, Late
from engine.mini_batch.bundles import KeyedRecord
from engine.model.changelog import RowKind
from engine.model.position import ordinal
from engine.model.schema import Column, Schema
from engine.model.type_texts import spark_type
from engine.runtime.arrivals.clocks import Clock, RecordedClock, Rises, SourceLine
from engine.runtime.edges.edge_files import RECORDS, EdgeFiles
from engine.runtime.keyed.account import HELD, Points
from engine.runtime.keyed.chunks import ColumnarTask
from engine.runtime.keyed.inputs import Gathered, RowsPiece, Shape
from engine.runtime.keyed.node_files import FIRES, LATE, STATES, NodeFiles
from engine.runtime.keyed.states import StateFile, StateStore
from engine.runtime.keyed.worker import PlainTask
from engine.runtime.reports import Report, run_each
from engine.spark.workspace import Workspace
from tests.engine.cases import Case, Given, Result, parse_given, types_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BUCKETS = 2
_SOURCE = "source"


def run_on_spark(cases: Sequence[Case], spark: SparkSession, workspace: Workspace) -> list[Result]:
    """The output of each case, in order of position."""
    from pyspark.cloudpickle import register_pickle_by_value

    for package in (engine, tests):
        register_pickle_by_value(package)  # type: ignore[no-untyped-call]
    runs = [_CaseRun(case, parse_given(case), workspace, f"case-{at}") for at, case in enumerate(cases)]
    for epoch in range(2):
        tasks = [run.task(epoch) for run in runs]
        for report in run_each(spark, [partial(_all, tasks, bucket) for bucket in range(_BUCKETS)]):
            runs[report["case"]].take(epoch, report)
    return [run.result() for run in runs]


def _all(tasks: Sequence[PlainTask | ColumnarTask], bucket: int) -> Iterator[Report]:
    for at, task in enumerate(tasks):
        for report in task(bucket):
            yield {**report, "case": at}


@dataclass
class _CaseRun:
    """A case, and the files that its tasks have written so far."""

    case: Case
    given: Given
    workspace: Workspace
    node: str
    _states: tuple[StateFile, ...] = ()
    _written: dict[str, list[str]] = field(default_factory=dict)

    def task(self, epoch: int) -> PlainTask | ColumnarTask:
        """The task of a worker in an epoch."""
        events = self.given.seqs or [0]
        middle = events[(len(events) - 1) // 2]
        first, last = (0, middle) if epoch == 0 else (middle, events[-1])
        shape = self._shape
        gathered = self._gathered(shape, self.given.between(first, last), epoch)
        kept = plain_state(expires=True)
        make, output = self.case.columnar, tuple(column.type.arrow for column in self._output)
        layout = Layout(
            tuple(field.type for field in shape.key_fields),
            tuple(tuple(shape.rows.field(name).type for name in names) for names in shape.values),
            output,
        )
        if make is not None:
            kept = make(layout).state_schema
        states = StateStore(self.workspace, self._states, shape.key_fields, kept)
        files = NodeFiles(
            EdgeFiles(self.workspace, self.node, ("edges", self.node, f"epoch={epoch}"), self._output),
            epoch,
            tuple(f"in{port}" for port in range(self.case.ports)),
            frozenset(map(int, RowKind if self.case.mode is None else self.case.mode)),
            states.arrow if epoch == 0 else None,
        )
        clock = self._clock(first, last)
        if make is not None:
            kernel = make(layout)
            timed = clock if isinstance(kernel, TimedKernel) else None
            # Counted and not looked at; no kernel tells more kinds of entries.
            points = Points((last,), tuple("abcd") if isinstance(kernel, OfKinds) else ("rows",))
            recorded = self._recorded(last) if EXPIRES in kernel.state_schema.names else None
            return ColumnarTask(make, layout, gathered, states, timed, files, recorded, points)
        assert self.case.kernel is not None
        is_bundled = self.case.bundle is not None
        recorded = self._recorded(last)
        points = Points((last,), ("rows",))
        return PlainTask(self.case.kernel, 0, gathered, states, clock, files, is_bundled, recorded, points)

    def take(self, epoch: int, report: Report) -> None:
        """Note a file that a task has written."""
        if report["what"] == STATES:
            self._states = (*self._states, StateFile(report["path"], epoch, report["bucket"], _BUCKETS, report["rows"]))
        elif report["what"] != HELD:
            self._written.setdefault(report["what"], []).append(report["path"])

    def result(self) -> Result:
        """The result of the case, from all files."""
        position = len(changelog_schema(Schema(())))
        emitted = [Emitted(*row[:position], row[position:]) for row in self._rows(RECORDS)]
        # The first column is the node, which is dropped; the port is stored by name.
        lates = [Late(int(port.removeprefix("in")), *entry) for _, port, *entry in self._rows(LATE)]
        fires = {(seq, start, end) for _, seq, start, end in self._rows(FIRES)}
        emitted.sort(key=lambda e: (e.seq, e.step))
        lates.sort(key=lambda e: (e.seq, e.step))
        return Result(emitted, lates, fires, {})

    def _rows(self, what: str) -> Iterator[tuple[Any, ...]]:
        for path in self._written.get(what, []):
            table = pq.read_table(path)
            yield from zip(*(column.to_pylist() for column in table.columns), strict=True)

    @property
    def _shape(self) -> Shape:
        """The columns of the records: each port has its own columns for its values."""
        of_key, by_port, _ = types_of(self.case, self.given)
        keys = {key_name(at): type_ for at, type_ in enumerate(of_key)}
        values = [{value_name(port, at): type_ for at, type_ in enumerate(types)} for port, types in enumerate(by_port)]
        columns = [(name, spark_type(type_).arrow) for named in (keys, *values) for name, type_ in named.items()]
        ends = arrow_fields(*ENDS) if self.case.bundle else ()
        fields = [*arrow_fields(PORT, SEQ, STEP, KIND), *columns, *ends]
        return Shape(tuple(keys), tuple(map(tuple, values)), pa.schema(fields))

    @property
    def _output(self) -> Schema:
        _, _, types = types_of(self.case, self.given)
        return Schema(tuple(Column(f"column_{at}", spark_type(type_)) for at, type_ in enumerate(types)))

    def _gathered(self, shape: Shape, records: Sequence[KeyedRecord], epoch: int) -> Gathered:
        many = self.case.ports > 1
        rows = [
            {
                PORT: record.port,
                SEQ: record.seq,
                STEP: record.step + ordinal(record.port) if many else record.step,
                KIND: record.kind,
                **dict(zip(shape.keys, key, strict=True)),
                **dict(zip(shape.values[record.port], record.row, strict=True)),
                **dict(zip(ENDS, record.end or (), strict=False)),
            }
            for key, record in records
        ]
        path = self.workspace.place("inputs", self.node, f"{epoch}.parquet")
        self.workspace.write(path, pa.Table.from_pylist(rows, schema=shape.rows))
        return Gathered(self.workspace, shape, ((RowsPiece(path),),) * _BUCKETS, is_spread=False)

    def _recorded(self, last: int) -> RecordedClock:
        line = self.given.clock
        path = self.workspace.place("watermarks", f"{self.node}.tops.npy")
        self.workspace.save(path, np.stack([line.seqs, line.marks]))
        return RecordedClock(self.workspace, (Rises(path),), line.start_ms, last)

    def _clock(self, first: int, last: int) -> Clock:
        line = self.given.timeline
        path = self.workspace.save(
            self.workspace.place("watermarks", f"{self.node}.npy"), np.stack([line.seqs, line.marks])
        )
        # The source ends after all events: a case has the end of its input in its own watermarks.
        lines = {_SOURCE: SourceLine((Rises(path),), max([0, *self.given.seqs]) + 1)}
        return Clock(self.workspace, lines, _SOURCE, first, last)
