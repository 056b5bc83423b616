"""Runs a plan without Spark, node by node: the engine's own kernels on plain rows.

Only what random pipelines need: keyed steps over plain columns, with one input or two, filters, and projections.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from engine.changelog import RowKind
from engine.expressions import compile_condition
from engine.kernel import Emitted, Input, Key, Row, run
from engine.mini_batch import mini_batch
from engine.operator import InputPlan, Source
from engine.operators.window_assign import WindowAssign
from engine.planner import NodePlan, Plan
from engine.planner.derive import merge_holdbacks
from engine.position import ordinal
from engine.runtime.steps import sources_by_event_time, step_of
from engine.schema import Schema, quote
from engine.step import Keyed
from engine.timeline import MAX_WATERMARK, Timeline, combine
from engine.windows import WindowKind
from tests.engine.cases import bundled

Arrival = tuple[str, str, Row]
"""A source's name, the kind of a record, and its row, times in microseconds, as kernels see them."""


def changelog(plan: Plan, arrivals: Sequence[Arrival]) -> list[Emitted]:
    """What the last node emits. arrivals: the rows of all sources in the order in which they come."""
    outputs = {
        source.id: [
            Emitted(seq, b"", RowKind.of(kind).value, row)
            for seq, (name, kind, row) in enumerate(arrivals, start=1)
            if name == source.id
        ]
        for source in plan.sources
    }
    lines = {source.id: _watermarks(plan, source, outputs[source.id], len(arrivals) + 1) for source in plan.sources}
    for node in plan.nodes:
        if node.id not in outputs:
            outputs[node.id] = _run(plan, node, [_given(plan, given, outputs) for given in node.inputs], lines)
    return outputs[plan.nodes[-1].id]


def _watermarks(plan: Plan, source: NodePlan, events: Sequence[Emitted], end: int) -> Timeline:
    assert isinstance(source.operator, Source)
    time, delay_ms = source.schema.event_time, source.operator.watermark_delay_ms
    marks: list[tuple[int, int]] = []
    if time is not None and delay_ms is not None:
        at = source.schema.index(time.name)
        marks = [(event.seq, event.row[at] // 1000 - delay_ms) for event in events]
    batch = mini_batch(plan.pipeline.options)
    if batch is not None:
        marks = _in_steps(marks, batch.latency_ms) if source.id in sources_by_event_time(plan) else []
    # Flink's watermark starts at 0.
    return Timeline.of([*(mark for mark in marks if mark[1] > 0), (end, MAX_WATERMARK)])


def _given(plan: Plan, given: InputPlan, outputs: Mapping[str, list[Emitted]]) -> list[Emitted]:
    dropped = plan.node(given.node).mode - given.mode
    return [one for one in outputs[given.node] if one.kind not in dropped]


def _run(plan: Plan, node: NodePlan, given: list[list[Emitted]], lines: Mapping[str, Timeline]) -> list[Emitted]:
    step = step_of(plan, node)
    if isinstance(node.operator, WindowAssign) and not isinstance(step, Keyed):
        return _assigned(node.operator, node.inputs[0].schema, given[0])
    if not isinstance(step, Keyed):
        where = step.projections[0].where
        matches = compile_condition(where, node.inputs[0].schema, node.id, "condition") if where else lambda _: True
        kept = (one for one in given[0] if matches(one.row) is True and (step.kinds is None or one.kind in step.kinds))
        read_all = [_reader(text, node.inputs[0].schema) for text in step.projections[0].values]
        return [
            one._replace(
                step=one.step if step.forward else one.step + ordinal(0), row=tuple(read(one.row) for read in read_all)
            )
            for one in kept
        ]
    timeline = combine(lines, merge_holdbacks(tuple(one.derived for one in node.inputs)))
    records: list[tuple[Key, Input]] = []
    for port, (side, plan_of_side) in enumerate(zip(step.inputs, node.inputs, strict=True)):
        keys = [_reader(text, plan_of_side.schema) for text in side.keys]
        values = [_reader(text, plan_of_side.schema) for text in side.values]
        for one in given[port]:
            row: Row = tuple(read(one.row) for read in values)
            records.append((tuple(read(one.row) for read in keys), Input(one.seq, one.kind, row, port, one.step)))
    records.sort(key=lambda record: (record[1].seq, record[1].step + ordinal(record[1].port)))
    if step.bundling is not None:
        records = bundled(records, step.bundling.size, timeline)
    by_key: dict[Key, list[Input]] = {}
    for key, record in records:
        by_key.setdefault(key, []).append(record)
    emitted: list[Emitted] = []
    kernel = step.kernel()
    for key, inputs in by_key.items():
        out, _ = run(kernel, inputs, timeline, key=key, rank=node.rank, ports=len(step.inputs))
        emitted += out.emitted
    return sorted(emitted, key=lambda one: (one.seq, one.step))


def _assigned(operator: WindowAssign, schema: Schema, given: list[Emitted]) -> list[Emitted]:
    time = schema.event_time
    assert time is not None
    at, assign = schema.index(time.name), operator.windowing.assigner()
    found = []
    for one in given:
        windows = assign(one.row[at] // 1000)
        in_order = reversed(windows) if operator.kind is WindowKind.HOP else windows
        for number, (start, end) in enumerate(in_order):
            bounds = (start * 1000, end * 1000, (end - 1) * 1000)
            found.append(one._replace(step=one.step + ordinal(number), row=one.row + bounds))
    return found


def _reader(expression: str, schema: Schema) -> Callable[[Row], Any]:
    if expression == "TRUE":
        return lambda _: True
    if expression.startswith("coalesce("):
        matches = compile_condition(expression.removeprefix("coalesce(").removesuffix(", FALSE)"), schema, "", "")
        return lambda row: matches(row) is True
    for at, column in enumerate(schema):
        if expression == quote(column.name):
            return lambda row, at=at: row[at]  # type: ignore[misc]
        if expression == f"unix_millis(CAST({quote(column.name)} AS TIMESTAMP))":
            return lambda row, at=at: row[at] // 1000  # type: ignore[misc]
        if column.time is not None and expression == column.milliseconds:
            return lambda row, at=at: row[at] // 1000  # type: ignore[misc]
    raise AssertionError(expression)


def _in_steps(marks: list[tuple[int, int]], step_ms: int) -> list[tuple[int, int]]:
    sent: list[tuple[int, int]] = []
    reached = 0
    for seq, mark in marks:
        if (mark + 1) // step_ms > reached:
            reached = (mark + 1) // step_ms
            sent.append((seq, mark))
    return sent
