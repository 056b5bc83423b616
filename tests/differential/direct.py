"""Runs a plan without Spark, node by node: the engine's own kernels on plain rows.

Only what random pipelines need: one source, keyed steps over plain columns, and filters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine.changelog import RowKind
from engine.expressions import compile_condition
from engine.kernel import Emitted, Input, Key, Row, run
from engine.mini_batch import mini_batch
from engine.operator import Keyed
from engine.planner import NodePlan, Plan
from engine.position import ordinal
from engine.runtime.steps import sources_by_event_time, step_of
from engine.schema import Schema, quote
from engine.timeline import MAX_WATERMARK, Timeline
from tests.engine.cases import bundled


def changelog(plan: Plan, rows: Sequence[Sequence[Any]], *, kinds: bool, time_at: int, delay_ms: int) -> list[Emitted]:
    """What the last node emits. rows: of the source; times in microseconds, as kernels see them."""
    source = plan.sources[0]
    events = [
        Emitted(seq, b"", RowKind.of(row[0]).value if kinds else 0, tuple(row[1:] if kinds else row))
        for seq, row in enumerate(rows, start=1)
    ]
    end = (len(rows) + 1, MAX_WATERMARK)
    times = [event.row[time_at] // 1000 for event in events]
    marks = [(seq, max(times[:seq]) - delay_ms) for seq in range(1, len(rows) + 1)]
    batch = mini_batch(plan.pipeline.options)
    if batch is not None:
        by_time = source.id in sources_by_event_time(plan)
        marks = _in_steps(marks, batch.latency_ms) if by_time else []
    # Flink's watermark starts at 0.
    timeline = Timeline.of([*(mark for mark in marks if mark[1] > 0), end])
    outputs = {source.id: events}
    for node in plan.nodes:
        if node is not source:
            outputs[node.id] = _run(plan, node, outputs[node.inputs[0].node], timeline)
    return outputs[plan.nodes[-1].id]


def _run(plan: Plan, node: NodePlan, given: list[Emitted], timeline: Timeline) -> list[Emitted]:
    step = step_of(plan, node)
    schema = node.inputs[0].schema
    if not isinstance(step, Keyed):
        where = step.projections[0].where
        matches = compile_condition(where, schema, node.id, "condition") if where else lambda _: True
        kept = (one for one in given if matches(one.row) is True and (step.kinds is None or one.kind in step.kinds))
        return [one._replace(step=one.step if step.forward else one.step + ordinal(0)) for one in kept]
    keys = [_reader(text, schema) for text in step.inputs[0].keys]
    values = [_reader(text, schema) for text in step.inputs[0].values]
    records: list[tuple[Key, Input]] = []
    for one in given:
        row: Row = tuple(read(one.row) for read in values)
        records.append((tuple(read(one.row) for read in keys), Input(one.seq, one.kind, row, 0, one.step)))
    if step.bundling is not None:
        records = bundled(records, step.bundling.size, timeline)
    by_key: dict[Key, list[Input]] = {}
    for key, record in records:
        by_key.setdefault(key, []).append(record)
    emitted: list[Emitted] = []
    kernel = step.kernel()
    for key, inputs in by_key.items():
        out, _ = run(kernel, inputs, timeline, key=key, rank=node.rank)
        emitted += out.emitted
    return sorted(emitted, key=lambda one: (one.seq, one.step))


def _reader(expression: str, schema: Schema) -> Callable[[Row], Any]:
    for at, column in enumerate(schema):
        if expression == quote(column.name):
            return lambda row, at=at: row[at]  # type: ignore[misc]
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
