"""One epoch: every node of the plan, each after its inputs, from this epoch's input and the state so far.

edges/<node>/__epoch=<k>/           a source's or a native node's output
steps/<node>/epoch=<k>/__tag=<t>/   a keyed node's: 0 records, 1 states, 2 late records, 3 fired windows
key_times/<node>/epoch=<k>/         a keyed node's slowest keys
bundles/<node>/epoch=<k>/           in mini-batch its input: the records of bundles that end, and of those still open
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow.parquet as pq

from engine.operator import OUT, InputPlan, Operator
from engine.options import RETRACTION, is_on
from engine.planner import NodePlan, Plan
from engine.planner.derive import merge_holdbacks
from engine.position import ordinal
from engine.runtime.bundles import Flushes, bundle
from engine.runtime.ingest import Ingested
from engine.runtime.keyed import gather, hashed_order, run_keyed
from engine.runtime.native import run_native
from engine.runtime.steps import sources_by_event_time, step_of
from engine.runtime.watermarks import Watermarks
from engine.runtime.worker import FIRED, LATE, RECORD, STATE, TimelineFiles
from engine.step import Keyed, Native

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COMPACT_EVERY: Final = 8
_LATE_TIMES: Final = ("event_time_ms", "window_start_ms", "window_end_ms", "watermark_ms", "lateness_ms")


@dataclass
class NodeOutput:
    """What a node wrote in an epoch, as folders; None where there is nothing. second: its second outputs by port.

    key_times: that of its slowest keys, which need not be there.
    """

    records: Path
    late: Path | None = None
    fires: Path | None = None
    second: dict[str, Path] = field(default_factory=dict)
    key_times: Path | None = None

    def count(self) -> int:
        """The number of records, from the files' footers."""
        return sum(pq.read_metadata(file).num_rows for file in self.records.glob("*.parquet"))


@dataclass
class EpochRunner:
    """Runs the nodes of a plan epoch by epoch and keeps track of where their state is."""

    plan: Plan
    spark: SparkSession
    ingested: Ingested
    watermarks: Watermarks
    work: Path
    partitions: int
    _states: dict[str, list[Path]] = field(default_factory=dict)
    _records: dict[tuple[str, str], Path] = field(default_factory=dict)
    _open_bundles: dict[str, Path] = field(default_factory=dict)

    def run_node(self, node: NodePlan, epoch: int) -> NodeOutput:
        """Run one node in one epoch; its inputs have run."""
        output = self._run(node, epoch)
        self._records[node.id, OUT] = output.records
        self._records |= {(node.id, port): folder for port, folder in output.second.items()}
        return output

    def _run(self, node: NodePlan, epoch: int) -> NodeOutput:
        if not isinstance(node.operator, Operator):
            return self._run_source(node, epoch)
        step = step_of(self.plan, node)
        inputs = [self._given(given) for given in node.inputs]
        if isinstance(step, Native):
            folder = self._folder(node.id, epoch)
            self._without_retractions(run_native(node, step, inputs), node).write.parquet(str(folder))
            return NodeOutput(folder)
        return self._run_keyed(node, step, inputs, epoch)

    @property
    def _drops_retractions(self) -> bool:
        return not is_on(self.plan.pipeline.options, RETRACTION)

    def _without_retractions(self, records: DataFrame, node: NodePlan) -> DataFrame:
        """Where retraction is switched off, what takes rows back goes nowhere."""
        if not self._drops_retractions:
            return records
        from pyspark.sql import functions as f

        return records.where(f.col("__kind").isin(sorted(int(kind) for kind in node.mode)))

    def _run_source(self, node: NodePlan, epoch: int) -> NodeOutput:
        events = self.ingested.folders[node.id] / f"__epoch={epoch}"
        events.mkdir(parents=True, exist_ok=True)
        if node.id not in self.ingested.with_watermark_events and not self._drops_retractions:
            return NodeOutput(events)
        schema = f"__seq bigint, __step binary, __kind tinyint, {node.schema.ddl()}"
        folder = self._folder(node.id, epoch)
        records = self.spark.read.schema(schema).parquet(str(events)).where("__kind is not null")
        self._without_retractions(records, node).write.parquet(str(folder))
        return NodeOutput(folder)

    def _run_keyed(self, node: NodePlan, step: Keyed, inputs: list[DataFrame], epoch: int) -> NodeOutput:
        is_last = epoch == self.ingested.epochs - 1
        compact = (epoch + 1) % COMPACT_EVERY == 0
        timeline = None
        if step.uses_time:
            starts = self.watermarks.starts[epoch]
            # Its own timers follow the watermark that reaches it; what it holds back is for those below.
            holdbacks = merge_holdbacks(tuple(given.derived for given in node.inputs))
            timeline = TimelineFiles(str(self.watermarks.of(epoch)), starts, holdbacks)
        key_times = self.work / "key_times" / node.id / f"epoch={epoch}"
        frame = run_keyed(
            node,
            step,
            self._bundles(node, step, inputs, epoch),
            self._read_states(node.id),
            timeline,
            partitions=self.partitions,
            keep_state=not is_last,
            compact=compact,
            drops_retractions=self._drops_retractions,
            key_times=key_times,
        )
        root = self.work / "steps" / node.id / f"epoch={epoch}"
        if is_last and timeline is None:
            folder = root / f"__tag={RECORD}"
            frame.drop("__tag").write.parquet(str(folder))
            return NodeOutput(folder, key_times=key_times)
        frame.write.partitionBy("__tag").parquet(str(root))
        for tag in (RECORD, STATE, LATE, FIRED):
            (root / f"__tag={tag}").mkdir(exist_ok=True)
        if not is_last:
            self._states[node.id] = [*([] if compact else self._states.get(node.id, [])), root / f"__tag={STATE}"]
        records = root / f"__tag={RECORD}"
        output = NodeOutput(records, key_times=key_times)
        if timeline is None:
            return output
        for port in node.second:
            output.second[port] = self.work / "second" / node.id / port / f"epoch={epoch}"
            self._lost(node, port, inputs, root).write.parquet(str(output.second[port]))
        if any((root / f"__tag={LATE}").iterdir()):
            output.late = self.work / "late" / node.id / f"epoch={epoch}"
            self._late(node, root).write.parquet(str(output.late))
        if any((root / f"__tag={FIRED}").iterdir()):
            output.fires = self.work / "fires" / node.id / f"epoch={epoch}"
            self._fires(node, root).write.parquet(str(output.fires))
        return output

    def _bundles(self, node: NodePlan, step: Keyed, inputs: list[DataFrame], epoch: int) -> DataFrame:
        """The step's input; in mini-batch that of the bundles that end, and the rest is kept for the next epoch."""
        whole = gather(step, inputs)
        if step.bundling is None:
            return whole
        starts, marks = self.watermarks.starts[epoch], str(self.watermarks.of(epoch))
        ends_only = frozenset(starts) - sources_by_event_time(self.plan)
        bundled = bundle(
            self.spark,
            whole,
            self._open_bundles.get(node.id),
            step.bundling,
            Flushes(
                tuple(TimelineFiles(marks, starts, dict(given.derived.holdbacks), ends_only) for given in node.inputs)
            ),
            rank=node.rank,
            folder=self.work / "bundles" / node.id / f"epoch={epoch}",
            keys=[f"__k{at}" for at in hashed_order(step, node.inputs[0].schema)],
        )
        self._open_bundles[node.id] = bundled.open
        return self.spark.read.schema(bundled.schema).parquet(str(bundled.closed))

    def _notes(self, root: Path, tag: int) -> DataFrame:
        """The late records or fired windows of a step: a position and a JSON array."""
        folder = root / f"__tag={tag}"
        return self.spark.read.schema("__seq bigint, __step binary, __note string").parquet(str(folder))

    def _late(self, node: NodePlan, root: Path) -> DataFrame:
        from pyspark.sql import functions as f

        note = f.from_json("__note", "array<string>")
        ports = f.array(*(f.lit(port) for port in node.operator.ports))
        return self._notes(root, LATE).select(
            f.lit(node.id).alias("node"),
            f.element_at(ports, note[0].cast("int") + 1).alias("port"),
            f.col("__seq").alias("seq"),
            f.col("__step").alias("step"),
            *(note[at].cast("bigint").alias(name) for at, name in enumerate(_LATE_TIMES, start=1)),
            note[6].alias("reason"),
        )

    def _lost(self, node: NodePlan, port: str, inputs: list[DataFrame], root: Path) -> DataFrame:
        """The input records that the ledger says were lost, once each, as they came in."""
        from pyspark.sql import functions as f

        assert isinstance(node.operator, Operator)
        at = node.operator.input_of_port(port)
        note = f.from_json("__note", "array<string>")
        lost = self._notes(root, LATE).where((note[0].cast("int") == at) & (note[7] == "true"))
        places = lost.select("__seq", f.col("__step")).distinct()
        found = inputs[at].join(f.broadcast(places), ["__seq", "__step"], "left_semi")
        return found.withColumn("__step", f.concat("__step", f.lit(ordinal(0))))

    def _fires(self, node: NodePlan, root: Path) -> DataFrame:
        from pyspark.sql import functions as f

        note = f.from_json("__note", "array<bigint>")
        return (
            self._notes(root, FIRED)
            .select(
                f.lit(node.id).alias("node"),
                f.col("__seq").alias("seq"),
                note[0].alias("window_start_ms"),
                note[1].alias("window_end_ms"),
            )
            .distinct()
        )

    def _read_states(self, node: str) -> DataFrame | None:
        folders = self._states.get(node)
        if not folders:
            return None
        from pyspark.sql import functions as f

        parts = []
        for folder in folders:
            epoch = int(folder.parent.name.removeprefix("epoch="))
            if any(folder.iterdir()):
                parts.append(self.spark.read.parquet(str(folder)).withColumn("__epoch", f.lit(epoch)))
        if not parts:
            return None
        whole = parts[0]
        for part in parts[1:]:
            whole = whole.unionByName(part, allowMissingColumns=True)
        return whole

    def _given(self, given: InputPlan) -> DataFrame:
        """What a consumer gets of an input: without -U where it wants none."""
        schema = f"__seq bigint, __step binary, __kind tinyint, {given.schema.ddl()}"
        found = self.spark.read.schema(schema).parquet(str(self._records[given.node, given.port]))
        if given.port != OUT:
            return found
        dropped = self.plan.node(given.node).mode - given.mode
        return found.where(f"__kind NOT IN ({', '.join(map(str, map(int, dropped)))})") if dropped else found

    def _folder(self, node: str, epoch: int) -> Path:
        return self.work / "edges" / node / f"__epoch={epoch}"
