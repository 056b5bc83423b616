"""Compares the output of a run with the batch answer: operator by operator, down to the sinks.

Each operator's changelog is folded to a table and compared with Spark's result over the whole input tables. An input
is the batch answer of the operator above, so that the result of a sink is valid for the whole query. If the batch
answer and the stream's table are equal, the rows have their positions in the stream, which decide results that depend
on the order of arrival. Records that were too late for an operator are not part of its input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os.path import getsize, isfile
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import numpy as np

from engine.batch_check.result import Checked, Difference, NodeCheck
from engine.contract.batch_input import BatchInput
from engine.contract.batch_rows import by_whole_row, comparable, shown, table_of
from engine.contract.frames import (
    END_MS,
    KIND,
    PLACED,
    SEQ,
    START_MS,
    STEP,
    WATERMARK_MS,
    arrow_fields,
    ddl,
    late_ddl,
)
from engine.contract.operator import OUT, InputPlan, Operator
from engine.contract.recorder import ClockFile
from engine.contract.sending import sent
from engine.errors import PipelineError
from engine.model.combined_watermark import Above, combined_watermark, has_latest, holdbacks_of
from engine.model.schema import Schema
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK, Idle, Timeline
from engine.model.types import quote
from engine.planner import NodePlan, Plan
from engine.runtime.edges.records import EdgeRecords, together, watermark_marks
from engine.spark.cancelling import cancellable
from engine.spark.watching import ADVICE
from engine.windows.batch import not_late

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

NODE_S: float = 1800.0
"""What the check of an operator may take. Those of the largest runs take minutes."""
_SHOWN: Final = 100
# Bytes.
_LITTLE: Final = 1 << 18
_LATE: Final = late_ddl("node", "port", "seq", "step", "window_start_ms", "window_end_ms", "used")


@dataclass(frozen=True)
class Recorded:
    """The location of a run's output, in the form of `engine.contract.recorder.EpochOutput`.

    edges: by node and port, epoch by epoch. late: the late ledger. clocks, watermarks: of the sources, per event.
    idle: when sources were idle.
    """

    edges: Mapping[tuple[str, str], Sequence[EdgeRecords]]
    late: Sequence[str] = ()
    clocks: Sequence[ClockFile] = ()
    watermarks: Sequence[str] = ()
    idle: Idle = field(default_factory=dict)


def check(
    plan: Plan, spark: SparkSession, recorded: Recorded, told: Callable[[str], None] = lambda node: None
) -> Checked:
    """Check a run that has ended. told: called with each operator before it is checked.

    Raises TookTooLong for an operator that takes longer than NODE_S, and PipelineError in a time zone.
    """
    if plan.zone is not None:
        message = f"Spark's batch answer has the days of UTC: a run in the time zone {plan.zone.name} is not checked."
        raise PipelineError(message)
    at, until = "", monotonic() + NODE_S

    def begin(node: str) -> None:
        nonlocal at, until
        at, until = node, monotonic() + NODE_S
        told(node)

    def too_long() -> str | None:
        sentence = f"the check of {at} took more than {NODE_S / 60:.0f} minutes: an expression may never end. {ADVICE}."
        return sentence if monotonic() > until else None

    with cancellable(spark, f"check-{uuid4().hex}", Event()) as watch, watch.limited(too_long):
        return _Checking(plan, spark, recorded).run(begin)


@dataclass
class _Checking:
    plan: Plan
    spark: SparkSession
    recorded: Recorded
    changelogs: dict[tuple[str, str], DataFrame] = field(default_factory=dict)
    tables: dict[tuple[str, str], DataFrame] = field(default_factory=dict)
    is_little: bool = field(init=False)

    def __post_init__(self) -> None:
        self.is_little = _are_small(self.recorded)

    def run(self, told: Callable[[str], None]) -> Checked:
        checks: list[NodeCheck] = []
        late = self._late()
        lates = {(row.node, row.port) for row in late.select("node", "port").distinct().collect()} if late else set()
        sinks = {node.id for node in self.plan.sinks}
        for node in self.plan.nodes:
            own = (node.id, OUT)
            self.changelogs[own] = self._read(own, node.schema)
            self.tables[own] = stream = _folded(self.changelogs[own], node)
            for port, derived in node.second.items():
                # Late records are passed on unchanged.
                late_rows = self._read((node.id, port), derived.schema)
                self.changelogs[node.id, port], self.tables[node.id, port] = late_rows, late_rows.drop(KIND)
            if not isinstance(node.operator, Operator):
                continue
            told(node.id)
            inputs = [
                self._input(input_, port, node, late if (node.id, port) in lates else None)
                for input_, port in zip(node.inputs, _ports(node.operator, len(node.inputs)), strict=True)
            ]
            batch = _as_schema(node.operator.batch(self.plan.context(node), inputs), node.schema)
            checked = self._compared(node, batch, stream, self._let_go(node, late), is_sink=node.id in sinks)
            if not checked.is_equal:
                self.tables[own] = _positioned(batch, stream, node.schema)
            checks.append(checked)
        return Checked(tuple(checks))

    def _let_go(self, node: NodePlan, late: DataFrame | None) -> DataFrame | None:
        """What the operator counts over its whole inputs, each with the list of its dropped records."""
        from pyspark.sql import functions as f

        assert isinstance(node.operator, Operator)
        ports = _ports(node.operator, len(node.inputs))

        def inputs() -> Iterator[BatchInput]:
            for input_, port in zip(node.inputs, ports, strict=True):
                whole = self._input(input_, port, node, None)
                if late is not None:
                    dropped = late.where((f.col("node") == node.id) & (f.col("port") == port) & (f.col("used") == ""))
                    whole = replace(whole, late=dropped.selectExpr(f"seq AS {SEQ}", f"step AS {STEP}"))
                yield whole

        return node.operator.let_go(self.plan.context(node), inputs())

    def _input(self, input_: InputPlan, port: str, node: NodePlan, late: DataFrame | None) -> BatchInput:
        """An input of a node, without the records that were dropped, or left out of a window."""
        from pyspark.sql import functions as f

        output = (input_.node, input_.port)
        table, changelog, watermarks = self.tables[output], self.changelogs[output], self._watermarks(node)
        if late is None:
            return BatchInput(table, changelog, watermarks)
        mine = late.where((f.col("node") == node.id) & (f.col("port") == port))
        judges = isinstance(node.operator, Operator) and node.operator.judges_late
        mine = (mine if judges else mine.where("used = ''")).selectExpr(
            f"seq AS {SEQ}", f"step AS {STEP}", f"window_start_ms AS {START_MS}", f"window_end_ms AS {END_MS}"
        )
        if judges:
            return BatchInput(table, changelog, watermarks, mine)
        whole = mine.where(f"{END_MS} IS NULL")
        windowed = mine.where(f"{END_MS} IS NOT NULL")
        in_time = not_late(changelog, whole)
        # A row stays if only its retraction was late.
        rows = not_late(table, whole) if input_.mode.is_insert_only else by_whole_row(in_time, input_.schema).drop(KIND)
        return BatchInput(rows, in_time, watermarks, windowed)

    def _read(self, output: tuple[str, str], schema: Schema) -> DataFrame:
        return self._gathered(together(self.spark, schema, self.recorded.edges.get(output, ())))

    def _gathered(self, frame: DataFrame) -> DataFrame:
        """A small run in one partition: there is no shuffle, and one task instead of ten."""
        return frame.coalesce(1) if self.is_little else frame

    def _watermarks(self, node: NodePlan) -> DataFrame:
        """The combined watermark of the sources above a node before each event; for the latest, after it, too."""
        from pyspark.sql import Window
        from pyspark.sql import functions as f

        files = [str(file) for file in self.recorded.watermarks]
        events = self._gathered(watermark_marks(self.spark, self.recorded.clocks, files))
        held = holdbacks_of(node.above)
        if has_latest(node.above) or any(self.recorded.idle.get(source) for source in held):
            following = _Following(node.above, self.recorded.idle)
            return events.coalesce(1).sortWithinPartitions("seq").mapInArrow(sent(following), ddl(SEQ, WATERMARK_MS))
        before = Window.orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
        ended = f.lit(MAX_WATERMARK)
        marks = []
        for source, by_ms in held.items():
            mark = f.max(f.when(f.col("source") == source, f.col("watermark_ms"))).over(before)
            marks.append(f.when(mark == ended, ended).otherwise(f.coalesce(mark - by_ms, f.lit(MIN_WATERMARK))))
        least = marks[0] if len(marks) == 1 else f.least(*marks)
        return events.select(f.col("seq").alias(SEQ), least.alias(WATERMARK_MS))

    def _late(self) -> DataFrame | None:
        folders = [str(folder) for folder in self.recorded.late]
        return self._gathered(self.spark.read.schema(_LATE).parquet(*folders)) if folders else None

    def _compared(
        self, node: NodePlan, batch: DataFrame, stream: DataFrame, let_go: DataFrame | None, *, is_sink: bool
    ) -> NodeCheck:
        """Compare both tables by counting rows. Each row has its comparable values and the values to show."""
        from pyspark.sql import functions as f

        schema = node.schema
        loose = node.operator.unordered if isinstance(node.operator, Operator) else frozenset()
        compared = [comparable(quote(column.name), column.type, unordered=column.name in loose) for column in schema]
        sides = [
            frame.select(
                *(f.expr(value).alias(f"__c{at}") for at, value in enumerate(compared)),
                f.struct(*(f.expr(shown(column.name, column.type)) for column in schema)).alias("__row"),
                f.lit(in_batch).alias("__in_batch"),
                f.lit(1 - in_batch).alias("__in_stream"),
            )
            for frame, in_batch in ((batch, 1), (stream, 0))
        ]
        counted = (
            self._gathered(sides[0].unionAll(sides[1]))
            .groupBy(*(f"__c{at}" for at in range(len(schema))))
            .agg(f.sum("__in_batch").alias("b"), f.sum("__in_stream").alias("s"), f.first("__row").alias("row"))
        )
        sums = counted.agg(
            f.sum(f.least("b", "s")),
            f.sum(f.greatest(f.col("b") - f.col("s"), f.lit(0))),
            f.sum(f.greatest(f.col("s") - f.col("b"), f.lit(0))),
        )
        # One query for all numbers.
        same, missing, extra, *gone = (sums if let_go is None else sums.crossJoin(let_go)).collect()[0]
        differences: tuple[Difference, ...] = ()
        if missing or extra:
            order = [f.col(f"__c{at}") for at in range(len(schema))]
            rows = counted.where("b <> s").orderBy(*order).limit(_SHOWN).collect()
            differences = tuple(Difference(tuple(row["row"]), int(row["b"]), int(row["s"])) for row in rows)
        numbers = (int(same or 0), int(missing or 0), int(extra or 0))
        return NodeCheck(node.id, schema.names, is_sink, *numbers, differences, *(int(count or 0) for count in gone))


@dataclass(frozen=True)
class _Following:
    """The watermark before each event, and after the last, if it depends on all earlier events: in one task."""

    above: Above
    idle: Idle

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        import pyarrow.compute as pc

        event_batches = list(batches)
        if not event_batches:
            return
        events = pa.Table.from_batches(event_batches)
        lines = {}
        for source in holdbacks_of(self.above):
            own = events.filter(pc.and_(pc.equal(events["source"], source), pc.is_valid(events["watermark_ms"])))
            lines[source] = Timeline.rising(own["seq"].to_numpy(), own["watermark_ms"].to_numpy())
        seqs = events["seq"].to_numpy()
        seqs = np.unique(np.concatenate([seqs, seqs + 1]))
        before = combined_watermark(lines, self.above, self.idle).before(seqs)
        yield pa.RecordBatch.from_arrays(
            [pa.array(seqs), pa.array(before)], schema=pa.schema(arrow_fields(SEQ, WATERMARK_MS))
        )


def _are_small(recorded: Recorded) -> bool:
    """Whether all files are local and so small that one task is fast enough."""
    files = [file.path for records in recorded.edges.values() for epoch in records for file in epoch.files]
    files += [*map(str, recorded.watermarks), *map(str, recorded.late), *(clock.path for clock in recorded.clocks)]
    return all(map(isfile, files)) and sum(map(getsize, set(files))) < _LITTLE


def _ports(operator: Operator, inputs: int) -> Sequence[str]:
    return operator.ports if len(operator.ports) == inputs else operator.ports[:1] * inputs


def _folded(changelog: DataFrame, node: NodePlan) -> DataFrame:
    key = node.row_key
    if key is not None and not key:
        # The empty key: the table is a single row.
        changelog = changelog.withColumn("__one", _one())
        return table_of(changelog, node.schema, ["__one"], insert_only=node.mode.is_insert_only).drop("__one")
    return table_of(changelog, node.schema, key or (), insert_only=node.mode.is_insert_only)


def _one() -> Any:
    from pyspark.sql import functions as f

    return f.lit(1)


def _as_schema(frame: DataFrame, schema: Schema) -> DataFrame:
    from pyspark.sql import functions as f

    return frame.select(*(f.col(quote(column.name)).cast(str(column.type)).alias(column.name) for column in schema))


def _positioned(batch: DataFrame, stream: DataFrame, schema: Schema) -> DataFrame:
    """The batch answer's rows, each with the position of an equal row of the stream, or else after all others."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    same = [f.expr(comparable(quote(column.name), column.type)) for column in schema]
    window = Window.partitionBy(*same) if same else Window.partitionBy(f.lit(1))

    def numbered(frame: DataFrame, order: Sequence[Column], prefix: str) -> DataFrame:
        nth = f.row_number().over(window.orderBy(*order))
        return frame.select(
            "*", nth.alias(f"{prefix}n"), *(column.alias(f"{prefix}{at}") for at, column in enumerate(same))
        )

    left = numbered(batch, [f.lit(1)], "__b")
    right = numbered(stream, [f.col(name) for name in PLACED], "__s").drop(*schema.names)
    on = [f.col(f"__b{at}").eqNullSafe(f.col(f"__s{at}")) for at in ("n", *range(len(same)))]
    joined = left.join(right, on, "left")
    return joined.select(
        f.coalesce(SEQ, f.lit((1 << 63) - 1)).alias(SEQ),
        f.coalesce(STEP, f.lit(b"")).alias(STEP),
        *(f.col(quote(name)) for name in schema.names),
    )
