"""Runs a plan over records in memory, node by node: the tasks of a run, in this process.

    sources       the events of sources, read as in a run
    read_parts    the parts of a source that workers would read
    jobs          what only Spark evaluates, over records that are sent to it
    watermarks    each source's watermark after each event
    keyed         the records and the loops of kernels, for replays
    preview       the first records of an output
    parsed        the first parsed rows of a source
    run_size      what a run will take, from its first rows

It is used for first records in the builder, for kept tests, and for tests without a cluster.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.contract.cancel import Cancel
from engine.contract.frames import KIND, POSITION, TIME, changelog_schema, fires_schema, late_schema
from engine.contract.kernel import Late
from engine.contract.operator import OUT, Operator
from engine.contract.recorder import Nobody, Progress
from engine.contract.scan import Numbered, milliseconds
from engine.errors import RunFailed
from engine.local.events import Events
from engine.local.jobs import LocalJobs, Spark
from engine.local.watermarks import Mark, marks_of
from engine.planner import NodePlan, Plan
from engine.python_functions.consent import require_consent
from engine.runtime.arrivals.ingest import ingest
from engine.runtime.arrivals.intake import Read
from engine.runtime.arrivals.units import UnitFiles, units_of
from engine.runtime.context import RunContext
from engine.runtime.edges.records import in_order
from engine.runtime.epoch import EpochRunner, NodeOutput
from engine.runtime.in_process import in_process
from engine.spark.failures import NodeFailed, failure_sentence
from engine.spark.run_files import LocalFiles
from engine.spark.workspace import Workspace

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Events", "LocalRun", "Mark", "Spark"]


class LocalRun:
    """A run of a plan over given events. A node and the nodes above it run when the node's output is requested.

    events: of every source of the plan. spark: only used for expressions that Arrow cannot evaluate.
    """

    def __init__(self, plan: Plan, events: Mapping[str, Events], spark: Spark) -> None:
        require_consent((node.id, node.operator) for node in plan.nodes)
        plan = _with_what_is_there(plan, events)
        workspace = Workspace.in_memory()
        weakref.finalize(self, workspace.remove)
        self._files = LocalFiles(Path(workspace.root))
        jobs = LocalJobs(self._files)
        context = RunContext(plan, spark, Nobody(), Path(), jobs, Progress(), Cancel(), partitions=1)
        self._plan = plan
        self._runner = EpochRunner(context)
        self._outputs: dict[str, NodeOutput] = {}
        with in_process(checks=False):
            read = {node.id: self._read(node, events[node.id]) for node in plan.sources}
            (self._epoch,) = ingest(plan, None, read, self._files, epochs=1)

    def _read(self, node: NodePlan, events: Events) -> Read:
        """The events of a source as a task that reads it writes them."""
        numbered = events.recorded or (Numbered() if self._plan.pipeline.arrival.mode == "recorded" else None)
        table, time = events.table, node.schema.event_time
        files = UnitFiles(
            *(self._files.workspace, node.id, node.schema, time is not None),
            has_kinds=not node.derived.is_insert_only,
            has_marks=table.column(KIND).null_count > 0,
            numbered=numbered,
            clock=self._plan.clock_of(node),
        )
        unit, at = files.begin(0, node.id), 0
        for batch in table.combine_chunks().to_batches():
            if time is not None:
                batch = batch.append_column(TIME, milliseconds(batch.column(time.name), time))
            unit.write(batch, at, at + batch.num_rows - 1)
            at += batch.num_rows
        report = unit.close()
        return Read(files, units_of([] if report is None else [report], node.id), [], {})

    @cached_property
    def marks(self) -> Mapping[str, tuple[Mark, ...]]:
        """By source, its events in order of arrival, each with the watermark after it."""
        return marks_of(self._plan.sources, self._epoch, self._files)

    def records(self, node_id: str, port: str = OUT) -> pa.Table:
        """An output in order of position: `engine.contract.frames.changelog_schema`."""
        output = self._output(node_id)
        edge = output.records if port == OUT else output.second[port]
        names = (*POSITION, *edge.schema.names)
        return in_order(edge, self._files.workspace, names).cast(changelog_schema(edge.schema))

    def lates(self, node_id: str) -> Sequence[Late]:
        """The entries of a node in the late ledger."""
        operator = self._plan.node(node_id).operator
        ports = operator.ports if isinstance(operator, Operator) else ()
        rows = self._rows(self._output(node_id).late, late_schema().names)
        lates = [Late(ports.index(port), *entry) for _, port, *entry in rows]
        return sorted(lates, key=lambda late: (late.seq, late.step))

    def fires(self, node_id: str) -> Sequence[tuple[int, int, int]]:
        """The windows of a node that fired: (event, start, end)."""
        rows = self._rows(self._output(node_id).fires, fires_schema().names)
        return sorted({(seq, start, end) for _, seq, start, end in rows})

    def _rows(self, paths: Sequence[str], names: Sequence[str]) -> list[tuple[Any, ...]]:
        batches = (batch for path in paths for batch in self._files.workspace.read(path, names))
        return [row for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)]

    def _output(self, node_id: str) -> NodeOutput:
        if node_id not in self._outputs:
            node = self._plan.node(node_id)
            for input_ in node.inputs:
                self._output(input_.node)
            try:
                with in_process(checks=False):
                    self._outputs[node_id] = self._runner.run_node(node, self._epoch)
            except NodeFailed as error:
                raise RunFailed(failure_sentence(error.error), error.node) from error
        return self._outputs[node_id]


def _with_what_is_there(plan: Plan, events: Mapping[str, Events]) -> Plan:
    """The plan; of a listed order of arrival what there are events for, and those that it does not list come last."""
    arrival = plan.pipeline.arrival
    if arrival.mode != "listed":
        return plan
    left = Counter({name: len(own) for name, own in events.items()})
    order = []
    for name in (*arrival.order, *left.elements()):
        if left[name]:
            left[name] -= 1
            order.append(name)
    changed = plan.pipeline.model_copy(update={"arrival": arrival.model_copy(update={"order": tuple(order)})})
    return replace(plan, pipeline=changed)
