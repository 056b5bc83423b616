"""The first records of an output, made of the first rows of the sources: what an edge carries, in a moment.

The steps are those of a run, chained into one Spark job that writes nothing. What ingestion does in Spark for any
number of rows is done here for a few: numbering the events, following the watermarks. The first rows are taken
for all there is, so windows fire as they would at the end of the input. Mini-batch is left out of account:
where its bundles end depends on everything that is not read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import engine
from engine.errors import RunFailed, StudioError
from engine.operator import InputPlan, Operator, Source
from engine.options import MINI_BATCH
from engine.pipeline import Arrival
from engine.planner import NodePlan, Plan
from engine.planner.derive import merge_holdbacks
from engine.printing import Printed
from engine.runtime import failure_sentence
from engine.runtime.keyed import gather, run_keyed
from engine.runtime.native import run_native
from engine.runtime.steps import step_of
from engine.runtime.worker import RECORD, KnownTimeline
from engine.step import Native
from engine.timeline import MAX_WATERMARK, Timeline, combine

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS: Final = 100
_SHOWN: Final = 200
_POSITION: Final = ("__seq", "__step", "__kind")


@dataclass(frozen=True)
class Preview:
    """The first records of an output in order of position. rows: how many rows of each source it was made of.

    is_whole: no source has more rows than that.
    """

    columns: tuple[str, ...]
    records: tuple[Printed, ...]
    rows: Mapping[str, int]
    is_whole: bool


@dataclass(frozen=True)
class _Events:
    """The first events of a source, in order: kind (None: only a watermark), watermark, event time in ms, row."""

    kinds: Sequence[int | None]
    watermarks: Sequence[int | None]
    times: Sequence[int | None]
    rows: Sequence[tuple[Any, ...]]
    is_whole: bool

    def __len__(self) -> int:
        return len(self.kinds)


def first_records(plan: Plan, node_id: str, spark: SparkSession, folder: Path, *, rows: int = ROWS) -> Preview:
    """What a node makes of the first rows of the sources above it. Raises SourceError, RunFailed."""
    try:
        return _first_records(plan, node_id, spark, folder, rows)
    except StudioError:
        raise
    except Exception as error:
        raise RunFailed(failure_sentence(error), node_id) from error


def _first_records(plan: Plan, node_id: str, spark: SparkSession, folder: Path, rows: int) -> Preview:
    from pyspark.cloudpickle import register_pickle_by_value

    register_pickle_by_value(engine)  # type: ignore[no-untyped-call]
    options = {name: text for name, text in plan.pipeline.options.items() if name != MINI_BATCH.name}
    plan = replace(plan, pipeline=plan.pipeline.model_copy(update={"options": options}))
    node = plan.node(node_id)
    # Of all sources, also those that this node does not see: events are numbered as in a run.
    sources = plan.sources
    with TemporaryDirectory(prefix="changelog-studio-") as heads:
        events = {source.id: _read(source, spark, folder, Path(heads), rows) for source in sources}
    seqs, ends = _number(plan.pipeline.arrival, sources, events)
    frames = _Frames(plan, spark, events, seqs, ends)
    found = frames.of(node).orderBy("__seq", "__step").limit(_SHOWN).collect()
    return Preview(
        node.schema.names,
        tuple(Printed(row["__seq"], bytes(row["__step"]), row["__kind"], list(row[3:])) for row in found),
        {name: len(given) for name, given in events.items()},
        all(given.is_whole for given in events.values()),
    )


class _Frames:
    """The outputs of nodes as frames, each made of its inputs' when it is asked for."""

    def __init__(
        self,
        plan: Plan,
        spark: SparkSession,
        events: Mapping[str, _Events],
        seqs: Mapping[str, Sequence[int]],
        ends: Mapping[str, int],
    ) -> None:
        self._plan = plan
        self._spark = spark
        self._events = events
        self._seqs = seqs
        self._timelines = {
            name: _timeline(plan.node(name), given, seqs[name], ends[name]) for name, given in events.items()
        }
        self._made: dict[str, DataFrame] = {}

    def of(self, node: NodePlan) -> DataFrame:
        """`__seq`, `__step`, `__kind` and the columns of a node's output."""
        if node.id not in self._made:
            self._made[node.id] = self._make(node)
        return self._made[node.id]

    def _make(self, node: NodePlan) -> DataFrame:
        if not isinstance(node.operator, Operator):
            return self._source(node)
        step = step_of(self._plan, node)
        inputs = [self._given(given) for given in node.inputs]
        if isinstance(step, Native):
            return run_native(node, step, inputs)
        timeline = None
        if step.uses_time:
            timeline = KnownTimeline(
                combine(self._timelines, merge_holdbacks(tuple(given.derived for given in node.inputs)))
            )
        made = run_keyed(node, step, gather(step, inputs), None, timeline, partitions=1, keep_state=False)
        return made.where(f"__tag = {RECORD}").select(*_POSITION, *(f"`{name}`" for name in _quoted(node)))

    def _given(self, given: InputPlan) -> DataFrame:
        dropped = self._plan.node(given.node).mode - given.mode
        frame = self.of(self._plan.node(given.node))
        return frame.where(f"__kind NOT IN ({', '.join(map(str, map(int, dropped)))})") if dropped else frame

    def _source(self, node: NodePlan) -> DataFrame:
        events = self._events[node.id]
        given = zip(self._seqs[node.id], events.kinds, events.rows, strict=True)
        rows = [(seq, b"", kind, *row) for seq, kind, row in given if kind is not None]
        ddl = f"__seq bigint, __step binary, __kind tinyint, {node.schema.ddl()}"
        return self._spark.createDataFrame(rows, ddl)


def _quoted(node: NodePlan) -> Sequence[str]:
    return [name.replace("`", "``") for name in node.schema.names]


def _read(node: NodePlan, spark: SparkSession, folder: Path, heads: Path, rows: int) -> _Events:
    from pyspark.sql import functions as f

    source = node.operator
    assert isinstance(source, Source)
    # One more than is shown tells whether there are more.
    head = source.head(rows + 1, node.id, folder, heads)
    time = node.schema.event_time
    milliseconds = f.expr(time.milliseconds) if time is not None else f.lit(None)
    frame = head.read(spark, node.id, folder).records
    columns = [f.col("__kind"), f.col("__watermark"), milliseconds.cast("bigint")]
    found = (
        frame.orderBy("__ordinal").limit(rows + 1).select(*columns, *(f"`{name}`" for name in _quoted(node))).collect()
    )
    events = found[:rows]
    return _Events(
        [row[0] for row in events],
        [row[1] for row in events],
        [row[2] for row in events],
        [tuple(row[3:]) for row in events],
        len(found) <= rows,
    )


def _number(
    arrival: Arrival, sources: Sequence[NodePlan], events: Mapping[str, _Events]
) -> tuple[Mapping[str, Sequence[int]], Mapping[str, int]]:
    """The number of each event by source, and of each source's end."""
    left = {name: len(given) for name, given in events.items()}
    seqs = {name: [0] * count for name, count in left.items()}
    ends: dict[str, int] = {}
    at_once = arrival.ends == "at_its_last_record"
    seq = 0
    for name in [name for name, count in left.items() if at_once and not count]:
        seq += 1
        ends[name] = seq
    for name, index in _order(arrival, sources, events):
        seq += 1
        seqs[name][index] = seq
        left[name] -= 1
        if at_once and not left[name]:
            seq += 1
            ends[name] = seq
    for name in events:
        if name not in ends:
            seq += 1
            ends[name] = seq
    return seqs, ends


def _order(arrival: Arrival, sources: Sequence[NodePlan], events: Mapping[str, _Events]) -> list[tuple[str, int]]:
    """The source and the place in it of every event, as far as it was read."""
    all_of_them = [(node.id, index) for node in sources for index in range(len(events[node.id]))]
    match arrival.mode:
        case "one_after_the_other":
            return all_of_them
        case "in_turn":
            return sorted(all_of_them, key=lambda event: event[1])
        case "by_column":
            values = {node.id: _arrival_values(node, events[node.id]) for node in sources}
            return sorted(all_of_them, key=lambda event: values[event[0]][event[1]])
        case "listed":
            places: dict[str, int] = {}
            listed = []
            for name in arrival.order:
                index = places.get(name, 0)
                places[name] = index + 1
                if index < len(events[name]):
                    listed.append((name, index))
            # Rows beyond the list come last: the run will complain of them, the preview need not.
            return [*listed, *(event for event in all_of_them if event[1] >= places.get(event[0], 0))]


def _arrival_values(node: NodePlan, events: _Events) -> list[tuple[bool, Any]]:
    """By event what the sources are merged by; NULL comes first, as in Spark, and equal values keep their order."""
    source = node.operator
    assert isinstance(source, Source)
    assert source.arrival_column is not None, "the plan was checked"
    at = node.schema.index(source.arrival_column)
    return [(row[at] is not None, row[at]) for row in events.rows]


def _timeline(node: NodePlan, events: _Events, seqs: Sequence[int], end: int) -> Timeline:
    """A source's watermark after each of its events; at its end it is MAX."""
    source = node.operator
    assert isinstance(source, Source)
    delay, steps = source.watermark_delay_ms, []
    top: int | None = None
    arrived = sorted(zip(seqs, events.watermarks, events.times, strict=True), key=lambda event: event[0])
    for number, (seq, mark, time) in enumerate(arrived, start=1):
        candidate = mark if mark is not None or delay is None or time is None else time - delay
        top = candidate if top is None else max(top, candidate if candidate is not None else top)
        if top is not None and (number % source.watermark_every == 0 or mark is not None):
            steps.append((seq, top))
    return Timeline.of([*steps, (end, MAX_WATERMARK)])
