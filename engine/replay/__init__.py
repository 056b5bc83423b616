"""An operator's state for one key as of an event: its own kernel, driven again by what a run kept.

    question    which key, which records: what has to be asked of the store
    values      the records' keys and values, as the step's expressions make them
    clock       the watermark that the operator saw, looked up where a timer asks for it

The records of one key decide its state, so nothing else is read; what comes of it is what the run came to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.described import Description, Label, Names, instant, state_table
from engine.kernel import Emitted, Key, KeyLoop, Output, Saved
from engine.planner.derive import merge_holdbacks
from engine.position import ORDINALS
from engine.replay.clock import Marks, RunClock
from engine.replay.question import KeyedNode, Spark, keyed_node, keyed_nodes
from engine.replay.values import Values, values_of
from engine.timeline import MIN_WATERMARK

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["KeyedNode", "Marks", "Replayed", "keyed_node", "keyed_nodes", "replay"]


@dataclass(frozen=True)
class Replayed:
    """A key's state. key: as the kernel knows it. event: as of which; records: how many of the key there were.

    emitted: what they made the operator say. saved: what a run keeps of the key between epochs.
    """

    key: Key
    event: int
    records: int
    state: Description
    emitted: tuple[Emitted, ...]
    saved: Saved | None


def replay(
    node: KeyedNode,
    key: Sequence[Any] | None,
    records: Mapping[int, pa.Table],
    marks: Marks,
    event: int,
    spark: Spark,
) -> Replayed | None:
    """Drive the node's kernel for one key up to an event; None where no record has the key.

    key: as the records' expressions make it; None: all records are of one key. records: by input `__seq`, `__step`,
    `__kind` and its columns, the key's among them. spark: asked only for expressions that are more than columns.
    """
    planned, step = node.plan, node.step
    values = {
        port: values_of(step.inputs[port], planned.inputs[port].schema, table, spark) for port, table in records.items()
    }
    found = sorted(
        (
            (record, port)
            for port, given in values.items()
            for record in given.records()
            if record.seq <= event and (key is None or _is_same(record.key, key))
        ),
        key=lambda item: (item[0].seq, item[0].step + ORDINALS[item[1]]),
    )
    if not found:
        return None
    holdbacks = merge_holdbacks(tuple(given.derived for given in planned.inputs)) if step.uses_time else {}
    clock = RunClock(marks, holdbacks, event)
    out = Output(clock, planned.rank, ports=len(step.inputs))
    loop = KeyLoop(step.kernel(), out)
    loop.key(found[0][0].key, None)
    for record, port in found:
        watermark_ms = clock.at(record.seq - 1) if step.uses_time else MIN_WATERMARK
        loop.record(record.seq, record.step, port, record.kind, record.row, watermark_ms)
    saved = loop.end()
    allowed = {int(kind) for kind in planned.mode}
    return Replayed(
        found[0][0].key,
        event,
        len(found),
        (*loop.kernel.describe(_names(node, values)), *_timers(saved)),
        tuple(record for record in out.emitted if record.kind in allowed),
        saved,
    )


def _is_same(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether two keys are one: NULL is NULL here, and NaN is NaN."""
    return all(a == b or (a != a and b != b) for a, b in zip(one, other, strict=True))


def _names(node: KeyedNode, values: Mapping[int, Values]) -> Names:
    inputs = tuple(values[port].labels if port in values else () for port in range(len(node.step.inputs)))
    output = tuple(Label(column.name, column.type.startswith("timestamp")) for column in node.plan.schema)
    return Names(inputs, output)


def _timers(saved: Saved | None) -> Description:
    times = sorted({timer[0] for timer in saved.timers}) if saved else []
    if not times:
        return ()
    note = "The operator wakes up for this key when the watermark reaches these times."
    return (state_table("Timers", ("at",), [(instant(time_ms),) for time_ms in times], note),)
