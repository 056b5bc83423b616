"""One epoch: every node of the plan, each after its inputs, computed from this epoch's input and the state so far.

edges/<node>/<port>/epoch=<k>/                                  a node's records
steps/<node>/epoch=<k>/{states,merged,late,fires,key_times}/    the other files of a keyed node
inputs/<node>/epoch=<k>/{computed,closed,open,buckets}/         its input: if Spark computed it, by bundles, by buckets
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from engine.contract.explanation import NO_STATE
from engine.contract.frames import POSITION, plain_state
from engine.contract.operator import OUT, Operator
from engine.contract.recorder import EdgeFile, Held
from engine.contract.step import Keyed, Native
from engine.model.combined_watermark import Above, Combined, Standing, has_latest
from engine.planner import NodePlan
from engine.runtime.arrivals.clocks import Clock
from engine.runtime.arrivals.ingest import EpochEvents
from engine.runtime.context import RunContext
from engine.runtime.edges.dropped import Dropped
from engine.runtime.edges.edge_files import EdgeFiles
from engine.runtime.edges.native import run_native
from engine.runtime.edges.records import EdgeRecords, frame_of_kinds, of_kinds
from engine.runtime.edges.shared_jobs import SharedJobs
from engine.runtime.keyed.account import HELD, Points, held_of
from engine.runtime.keyed.bundling import BundlingTask, bundled
from engine.runtime.keyed.chunks import ColumnarTask
from engine.runtime.keyed.inputs import (
    READ_BY_EACH,
    Gathered,
    RowsPiece,
    StepInput,
    gather,
    hashed_order,
    layout_of,
    spread,
)
from engine.runtime.keyed.local_times import LocalTimes
from engine.runtime.keyed.node_files import EXPIRED, FIRES, KEY_TIMES, LATE, MERGED, STATES, NodeFiles
from engine.runtime.keyed.states import StateFile, StateStore
from engine.runtime.keyed.worker import PlainTask
from engine.runtime.record_search import Suspects, suspects_of_native
from engine.runtime.reports import Batches, Report, run_each, task_name
from engine.runtime.steps import sources_by_event_time, step_of
from engine.spark.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FEW: Final = 10_000
# The most records, or stored bytes, for one task: it sorts them in memory.
_MANY: Final = 4_000_000
_LARGE: Final = 256 << 20
# The most bytes of state that are held in this process.
_SMALL: Final = 64 << 20


@dataclass
class NodeOutput:
    """The output of a node in an epoch. second: its second outputs by port. late, fires, key_times, expired: files."""

    records: EdgeRecords
    late: tuple[str, ...] = ()
    fires: tuple[str, ...] = ()
    second: dict[str, EdgeRecords] = field(default_factory=dict)
    key_times: tuple[str, ...] = ()
    expired: tuple[str, ...] = ()
    held: Held | None = None


@dataclass(frozen=True)
class Kept:
    """The state between epochs, by node: the files of its state, and those of records in open bundles.

    marks: the state of the combined watermarks that do not follow from those of their sources, by their origins.
    """

    states: Mapping[str, tuple[StateFile, ...]]
    bundles: Mapping[str, tuple[str, ...]]
    marks: Mapping[str, Standing] = field(default_factory=dict)

    @property
    def paths(self) -> frozenset[str]:
        """All of these files."""
        states = (file.path for files in self.states.values() for file in files)
        return frozenset((*states, *(path for paths in self.bundles.values() for path in paths)))


@dataclass
class EpochRunner:
    """Runs the nodes of a plan epoch by epoch and keeps track of their state files.

    can_be_idle: whether sources can be idle, in a live run. is_live: whether it is one.
    """

    run: RunContext
    can_be_idle: bool = False
    is_live: bool = False
    _states: dict[str, tuple[StateFile, ...]] = field(default_factory=dict)
    _records: dict[tuple[str, str], EdgeRecords] = field(default_factory=dict)
    _followed: dict[str, EdgeRecords] = field(default_factory=dict)
    _open_bundles: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _marks: dict[str, Standing] = field(default_factory=dict)
    _clocks: dict[str, Clock] = field(default_factory=dict)

    @property
    def workspace(self) -> Workspace:
        """Where tasks read and write."""
        return self.run.files.workspace

    @property
    def kept(self) -> Kept:
        """The state that the next epoch needs."""
        return Kept(dict(self._states), dict(self._open_bundles), dict(self._marks))

    @cached_property
    def _shared(self) -> SharedJobs:
        return SharedJobs(self.run.plan, self.run.views, self.workspace, self.run.jobs.are_here)

    def go_on(self, kept: Kept) -> None:
        """Continue after epochs that another process ran."""
        self._states, self._open_bundles = dict(kept.states), dict(kept.bundles)
        self._marks = dict(kept.marks)

    def end_epoch(self, events: EpochEvents) -> None:
        """End the epoch. What a combined watermark depends on besides those of its sources is kept."""
        if events.is_last_taken:
            standings = {name: clock.standing() for name, clock in self._clocks.items()}
            self._marks |= {name: standing for name, standing in standings.items() if standing is not None}
        self._clocks.clear()
        self._records.clear()

    def run_node(self, node: NodePlan, events: EpochEvents) -> NodeOutput:
        """Run one node in one epoch; its inputs have already run."""
        followed = self._followed.pop(node.id, None)
        output = self._run(node, events) if followed is None else NodeOutput(followed)
        self._records[node.id, OUT] = output.records
        self._records |= {(node.id, port): records for port, records in output.second.items()}
        return output

    def _run(self, node: NodePlan, events: EpochEvents) -> NodeOutput:
        if not isinstance(node.operator, Operator):
            return self._run_source(node, events)
        view = self.run.views.get((node.id, OUT))
        if view is not None:
            return NodeOutput(self._records[view.node, view.port].seen_as(view, node.schema))
        step = step_of(self.run.plan, node)
        if isinstance(step, Native):
            return NodeOutput(self._run_native(node, step, events.number))
        return self._run_keyed(node, step, events)

    def _run_source(self, node: NodePlan, events: EpochEvents) -> NodeOutput:
        records = events.records(node)
        if not self.run.plan.drops_retractions or node.derived.is_insert_only:
            return NodeOutput(records)
        # If retraction is switched off, -U and -D are dropped.
        kept = frozenset(map(int, node.mode))
        return NodeOutput(self._chosen(records, node, OUT, events.number, partial(_of_kinds, kept)))

    def _run_native(self, node: NodePlan, step: Native, epoch: int) -> EdgeRecords:
        there = {edge: records for edge, records in self._records.items() if edge not in self.run.views}
        there |= {(name, OUT): records for name, records in self._followed.items()}
        done = frozenset(name for name, _ in (*self._records, *there))
        written = self._shared.run(self.run.workers, node, there, done, epoch, self._are_few)
        if written is not None:
            own = written.pop(node.id)
            self._followed |= written
            return own
        if not any(self._records[edge.node, edge.port].rows for edge in node.inputs):
            return EdgeRecords(node.schema, (), 0)
        frames = [
            frame_of_kinds(self.run.frame(self._records[edge.node, edge.port]), self.run.plan.passing(edge))
            for edge in node.inputs
        ]
        suspects = partial(suspects_of_native, step, [self._records[edge.node, edge.port] for edge in node.inputs])
        kept = frozenset(node.mode) if self.run.plan.drops_retractions else None
        return self._write(frame_of_kinds(run_native(node, step, frames), kept), node, epoch, suspects)

    def _write(
        self,
        frame: DataFrame,
        node: NodePlan,
        epoch: int,
        suspects: Callable[[], Sequence[Suspects]],
    ) -> EdgeRecords:
        """Write a frame of records as an edge. suspects: as in `Jobs`."""
        files = self._shared.edge_files(node, OUT, epoch)

        def task(batches: Batches) -> Iterator[Report]:
            writer = files.begin(task_name())
            writer.write_all(batches)
            yield from writer.close()

        return self._written(files, self.run.jobs.run(frame, task, node.id, suspects=suspects))

    def _chosen(
        self,
        records: EdgeRecords,
        node: NodePlan,
        port: str,
        epoch: int,
        choose: Callable[[Batches], Batches],
    ) -> EdgeRecords:
        """Write some records of an edge as another one."""
        files = self._shared.edge_files(node, port, epoch)
        names, without_files = (*POSITION, *records.schema.names), replace(records, files=())

        def task(file: EdgeFile) -> Iterator[Report]:
            writer = files.begin(task_name())
            writer.write_all(choose(without_files.batches(files.workspace, file, names)))
            yield from writer.close()

        return self._written(files, run_each(self.run.workers, [partial(task, file) for file in records.files]))

    def _written(self, files: EdgeFiles, reports: Sequence[Report]) -> EdgeRecords:
        """The written edge. Edges of followers are noted until the turn of their nodes."""
        written = dict(files.written(reports))
        own = written.pop(files.node)
        self._followed |= written
        return own

    def _run_keyed(self, node: NodePlan, step: Keyed, events: EpochEvents) -> NodeOutput:
        epoch = events.number
        given = [self._records[input_.node, input_.port] for input_ in node.inputs]
        gathered = self._gathered(node, step, events)
        clock = None
        if step.uses_time:
            # Its own timers follow the incoming watermark; its delay applies only to the operators below.
            clock = replace(self._clock(node.above, events), zone=step.zone)
        layout = layout_of(node, gathered.shape)
        make = step.columnar.make
        schema = plain_state(expires=events.clock is not None) if make is None else make(layout).state_schema
        states = StateStore(self.workspace, self._states.get(node.id, ()), gathered.shape.key_fields, schema)
        files = NodeFiles(
            self._shared.edge_files(node, OUT, epoch),
            epoch,
            node.operator.ports,
            frozenset(int(kind) for kind in node.mode),
            None if events.is_last else states.arrow,
            self.run.plan.drops_retractions,
            None if step.zone is None or clock is None else LocalTimes(step.zone, step.in_zone, clock.load_instants),
        )
        assert isinstance(node.operator, Operator)
        ttls_ms = node.operator.state_ttls_ms(self.run.plan.pipeline.options) if events.clock is not None else ()
        points = Points.of(events.after_seq, events.last_seq, step, ttls_ms, is_curve=not self.is_live)
        task: PlainTask | ColumnarTask
        if make is not None:
            task = ColumnarTask(make, layout, gathered, states, clock, files, events.clock, points)
        else:
            assert step.kernel is not None
            is_bundled = step.bundling is not None
            task = PlainTask(step.kernel, node.rank, gathered, states, clock, files, is_bundled, events.clock, points)
        # Few records of a join may come to more than this process has room for, as may those of many windows that end
        # at once, and a large state that is merged.
        here = make is not None and len(given) == 1 and self._are_few(given[0].rows)
        if here:
            read = states.files if step.uses_time else states.to_merge()
            here = sum(self.workspace.size(file.path) for file in read) <= _SMALL
        reports = run_each(self.run.workers, [partial(task, bucket) for bucket in range(gathered.buckets)], here=here)
        written = {
            what: [report for report in reports if report["what"] == what]
            for what in (STATES, MERGED, LATE, FIRES, KEY_TIMES, EXPIRED, HELD)
        }
        self._states[node.id] = _states_after(states.files, epoch, written[STATES], written[MERGED], gathered.buckets)
        records = self._written(files.edge, reports)
        ledgers = (LATE, FIRES, KEY_TIMES, EXPIRED)
        late, fires, times, met = (tuple(report["path"] for report in written[what]) for what in ledgers)
        held = held_of(node.id, points, written[HELD]) if node.strategy.state != NO_STATE else None
        output = NodeOutput(records, late, fires, key_times=times, expired=met, held=held)
        for port in node.second:
            output.second[port] = self._dropped(node, port, late, epoch)
        return output

    def _gathered(self, node: NodePlan, step: Keyed, events: EpochEvents) -> Gathered:
        """The input of a keyed step, by buckets of keys."""
        epoch = events.number
        inputs = [self._records[input_.node, input_.port] for input_ in node.inputs]
        given = StepInput(step, inputs, [self.run.plan.passing(input_) for input_ in node.inputs])
        folder = ("inputs", node.id, f"epoch={epoch}")
        run = partial(self.run.jobs.run, node=node.id, suspects=given.suspects)
        shape, pieces = gather(self.workspace, given, folder, self.run.frame, run)
        buckets = self.run.partitions or self._buckets(inputs)
        if step.bundling is not None:
            carried = map(RowsPiece, self._open_bundles.get(node.id, ()))
            order = tuple(hashed_order(step, node.inputs[0].schema))
            clocks = self._ends_of_bundles(node, events)
            task = BundlingTask(
                *(self.workspace, shape, (*pieces, *carried), step.bundling, clocks, node.rank, order, folder)
            )
            shape, pieces, self._open_bundles[node.id] = bundled(self.run.workers, task, min(buckets, READ_BY_EACH))
        return spread(self.run.workers, self.workspace, shape, pieces, buckets, (*folder, "buckets"))

    def _buckets(self, inputs: Sequence[EdgeRecords]) -> int:
        """The number of tasks for an input: each costs as much as thousands of records, and sorts its own in memory."""
        rows = sum(records.rows for records in inputs)
        if rows <= _FEW:
            return 1
        size = self.run.files.size([file.path for records in inputs for file in records.files])
        return max(self.run.cores, -(-rows // _MANY), -(-size // _LARGE))

    def _are_few(self, rows: int) -> bool:
        """Whether records of an epoch are fewer than what a job of Spark costs, so that its tasks run in this process.

        Not if someone else's code runs in them, which only a worker may hang or break.
        """
        return self.is_live and self.run.files.are_here and rows <= _FEW and not self._has_foreign_code

    @cached_property
    def _has_foreign_code(self) -> bool:
        return any(isinstance(node.operator, Operator) and node.operator.foreign_code for node in self.run.plan.nodes)

    def _clock(self, above: Above, events: EpochEvents, ends_only: frozenset[str] = frozenset()) -> Clock:
        name = json.dumps([repr(above), sorted(ends_only)])
        bounds = events.after_seq, events.last_seq
        clock = Clock(self.workspace, events.lines, above, *bounds, ends_only, self._marks.get(name))
        if isinstance(above, Combined) and (self.can_be_idle or has_latest(above)):
            self._clocks[name] = clock
        return clock

    def _ends_of_bundles(self, node: NodePlan, events: EpochEvents) -> tuple[Clock, ...]:
        """The watermarks of a mini-batch step's inputs."""
        ends_only = frozenset(events.lines) - sources_by_event_time(self.run.plan)
        clocks = (self._clock(input_.derived.above, events, ends_only) for input_ in node.inputs)
        # With the event before the epoch: a source may begin right after it.
        return tuple(replace(clock, after_seq=clock.after_seq - 1) for clock in clocks)

    def _dropped(self, node: NodePlan, port: str, late: tuple[str, ...], epoch: int) -> EdgeRecords:
        """The input records that were dropped, once each, as they arrived."""
        assert isinstance(node.operator, Operator)
        at = node.operator.input_of_port(port)
        input_ = node.inputs[at]
        records = self._records[input_.node, input_.port]
        choose = Dropped(self.workspace, late, node.operator.ports[at], self.run.plan.passing(input_))
        return self._chosen(records if late else replace(records, files=()), node, port, epoch, choose)


def _of_kinds(kinds: frozenset[int], batches: Batches) -> Batches:
    return (of_kinds(batch, kinds) for batch in batches)


def _states_after(
    before: Sequence[StateFile],
    epoch: int,
    written: Sequence[Report],
    merged: Sequence[Report],
    buckets: int,
) -> tuple[StateFile, ...]:
    """A step's states after an epoch: merged files replace their inputs, and changes are added."""
    gone = {path for report in merged for path in report["merged"]}
    files = [file for file in before if file.path not in gone]
    files += [
        StateFile(report["path"], report["epoch"], report["bucket"], buckets, report["rows"])
        for report in merged
        if report["path"]
    ]
    files += [StateFile(report["path"], epoch, report["bucket"], buckets, report["rows"]) for report in written]
    return tuple(files)
