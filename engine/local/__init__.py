"""Runs a plan without Spark jobs, node by node, over records in memory: the same result as a run, record for record.

    sources       the events of sources, read as in a run
    read_parts    the parts of a source that workers would read
    arrivals      the events' numbers, in one order over all sources
    watermarks    each source's watermark after each event
    values        expressions over records; Spark evaluates the ones that Arrow cannot, once per input
    native        stateless steps
    keyed         stateful steps, through the operators' kernels
    preview       the first records of an output
    parsed        the first parsed rows of a source
    run_size      what a run will take, from its first rows

It is used for first records in the builder, for the replay of a key's state, and for tests without a cluster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from engine.contract.frames import KIND, SEQ, STEP, changelog_schema
from engine.contract.kernel import Emitted, Late
from engine.contract.operator import OUT, InputPlan, Operator
from engine.contract.step import Keyed, Native
from engine.local.arrivals import Events, Numbers, numbered
from engine.local.keyed import Outcome, gather, in_instants, key_order, loop_of, outcome_of, run_keys
from engine.local.native import run_native
from engine.local.values import Spark
from engine.local.watermarks import Mark, clock_by_arrival, marks_of, recorded_clock, timeline_of
from engine.mini_batch.bundles import Bundles, flushes
from engine.model.combined_watermark import combined_watermark
from engine.model.options import goes_by_arrival, goes_by_epochs
from engine.model.position import ORDINALS
from engine.model.schema import Schema
from engine.model.timeline import Timeline
from engine.planner import NodePlan, Plan
from engine.python_functions.consent import require_consent
from engine.runtime.arrivals.times_of_arrival import times_of_arrival
from engine.runtime.edges.records import of_kinds
from engine.runtime.keyed.local_times import LocalTimes
from engine.runtime.steps import sources_by_event_time, step_of, watermark_steps_ms

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Events", "LocalRun", "Mark", "Spark"]


@dataclass
class _Output:
    """The output of a node. second: by port."""

    records: pa.Table
    lates: Sequence[Late] = ()
    fires: Sequence[tuple[int, int, int]] = ()
    second: Mapping[str, pa.Table] = field(default_factory=dict)


class LocalRun:
    """A run of a plan over given events. A node and the nodes above it run when the node's output is requested.

    events: of every source of the plan. spark: only used for expressions that Arrow cannot evaluate.
    """

    def __init__(self, plan: Plan, events: Mapping[str, Events], spark: Spark) -> None:
        require_consent((node.id, node.operator) for node in plan.nodes)
        self._plan = plan
        self._events = events
        self._spark = spark
        self._numbers: Numbers = numbered(plan.pipeline.arrival, plan.sources, plan.tables, events)
        steps_ms = watermark_steps_ms(plan)
        self.marks: Mapping[str, tuple[Mark, ...]] = {
            node.id: marks_of(
                node, events[node.id], self._numbers.seqs[node.id], self._numbers.ends[node.id], steps_ms.get(node.id)
            )
            for node in plan.sources
        }
        """By source, its events in order of arrival, each with the watermark after it."""
        self._timelines = {name: timeline_of(marks) for name, marks in self.marks.items()}
        self._now = self._recorded_clock()
        self._by_time = sources_by_event_time(plan)
        self._done: dict[str, _Output] = {}

    def _recorded_clock(self) -> Timeline:
        options = self._plan.pipeline.options
        if goes_by_epochs(options) and self._numbers.now:
            return Timeline.of(self._numbers.now)
        if not goes_by_arrival(options):
            return recorded_clock(self.marks.values())
        nodes = self._plan.sources
        return clock_by_arrival(
            (times_of_arrival(self._events[node.id].table.column(column.name), column), self._numbers.seqs[node.id])
            for node in nodes
            if (column := self._plan.clock_of(node)) is not None
        )

    def records(self, node_id: str, port: str = OUT) -> pa.Table:
        """An output in order of position: `engine.contract.frames.changelog_schema`."""
        output = self._output(self._plan.node(node_id))
        return output.records if port == OUT else output.second[port]

    def lates(self, node_id: str) -> Sequence[Late]:
        """The entries of a node in the late ledger."""
        return self._output(self._plan.node(node_id)).lates

    def fires(self, node_id: str) -> Sequence[tuple[int, int, int]]:
        """The windows of a node that fired: (event, start, end)."""
        return self._output(self._plan.node(node_id)).fires

    def _output(self, node: NodePlan) -> _Output:
        if node.id not in self._done:
            self._done[node.id] = self._run(node)
        return self._done[node.id]

    def _run(self, node: NodePlan) -> _Output:
        if not isinstance(node.operator, Operator):
            return _Output(self._without_retractions(node, self._source(node)))
        step = step_of(self._plan, node)
        inputs = [self._given(input_) for input_ in node.inputs]
        if isinstance(step, Native):
            return _Output(self._without_retractions(node, run_native(node, step, inputs, self._spark)))
        return self._keyed(node, step, inputs)

    def _source(self, node: NodePlan) -> pa.Table:
        import pyarrow as pa
        import pyarrow.compute as pc

        events = self._events[node.id].table
        seqs = pa.array(self._numbers.seqs[node.id], pa.int64())
        steps = pa.array([b""] * len(events), pa.binary())
        columns = [_cast(events.column(column.name), column.type.arrow) for column in node.schema]
        schema = changelog_schema(node.schema)
        whole = pa.table([seqs, steps, _cast(events.column(KIND), pa.int8()), *columns], schema=schema)
        return whole.filter(pc.is_valid(whole.column(KIND))).sort_by(SEQ)

    def _given(self, input_: InputPlan) -> pa.Table:
        """The records that a consumer receives of an input: without -U if it does not need them."""
        return of_kinds(self.records(input_.node, input_.port), self._plan.passing(input_))

    def _without_retractions(self, node: NodePlan, table: pa.Table) -> pa.Table:
        """If retraction is switched off, retractions are dropped."""
        return of_kinds(table, frozenset(node.mode)) if self._plan.drops_retractions else table

    def _keyed(self, node: NodePlan, step: Keyed, inputs: Sequence[pa.Table]) -> _Output:
        gathered = gather(node, step, dict(enumerate(inputs)), self._spark)
        records = gathered.records
        if step.bundling is not None:
            ends = flushes(node.inputs, self._timelines, self._by_time, self._numbers.firsts, self._numbers.idle)
            bundles = Bundles(step.bundling, ends, node.rank)
            # At the end of the input there are no more open bundles.
            records = [
                keyed
                for keyed in bundles.bundled(records, len(step.inputs), key_order(node, step, gathered.key_types))
                if keyed.record.end is not None
            ]
        timeline = Timeline.of([])
        if step.uses_time:
            timeline = combined_watermark(self._timelines, node.above, self._numbers.idle)
        line = timeline if step.zone is None else step.zone.timeline(timeline)
        outcome = outcome_of(run_keys(partial(loop_of, node, step, now=self._now.at), records, line))
        if step.zone is not None:
            outcome = in_instants(outcome, LocalTimes(step.zone, step.in_zone, lambda: timeline))
        table = self._without_retractions(node, _table(node.schema, outcome.emitted))
        outside = set(table.column(KIND).to_pylist()) - set(map(int, node.mode))
        if outside:
            message = f"the kernel emitted kinds {outside} where its changelog mode is {node.mode.signs}"
            raise AssertionError(message)
        return _Output(table, outcome.lates, outcome.fires, _second(node, outcome, inputs))


def _second(node: NodePlan, outcome: Outcome, inputs: Sequence[pa.Table]) -> Mapping[str, pa.Table]:
    """The input records that were dropped, once each and unchanged."""
    import pyarrow as pa

    assert isinstance(node.operator, Operator)
    tables = {}
    for port in node.second:
        at = node.operator.input_of_port(port)
        dropped = {(late.seq, late.step) for late in outcome.lates if late.port == at and late.is_dropped}
        position = zip(inputs[at].column(SEQ).to_pylist(), inputs[at].column(STEP).to_pylist(), strict=True)
        table = inputs[at].filter(pa.array([place in dropped for place in position], pa.bool_()))
        steps = [step + ORDINALS[0] for step in table.column(STEP).to_pylist()]
        tables[port] = _with_steps(table, steps)
    return tables


def _with_steps(table: pa.Table, steps: Sequence[bytes]) -> pa.Table:
    import pyarrow as pa

    return table.set_column(1, table.schema.field(STEP), pa.array(steps, pa.binary()))


def _table(schema: Schema, records: Sequence[Emitted]) -> pa.Table:
    import pyarrow as pa

    columns = [[record[at] for record in records] for at in range(3)]
    columns += [[record.row[at] for record in records] for at in range(len(schema))]
    types = changelog_schema(schema)
    return pa.table([_array(values, type_) for values, type_ in zip(columns, types.types, strict=True)], schema=types)


def _array(values: Sequence[Any], type_: Any) -> Any:
    import pyarrow as pa

    # Instants in kernels are microseconds.
    return pa.array(values, pa.int64()).cast(type_) if pa.types.is_timestamp(type_) else pa.array(values, type_)


def _cast(column: Any, type_: Any) -> Any:
    return column if column.type == type_ else column.cast(type_)
