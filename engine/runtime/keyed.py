"""A keyed step on Spark: one frame of all inputs and states, sorted by key and position, through a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from engine.planner import NodePlan
from engine.runtime.worker import STATE_PORT, KnownTimeline, Task, TimelineFiles, port_suffix
from engine.schema import Schema, arrow_type, quote
from engine.step import Keyed, KeyedInput

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def gather(step: Keyed, inputs: Sequence[DataFrame]) -> DataFrame:
    """One frame of all inputs: `__port`, position, `__kind`, the key as `__k*`, the values by port as `__v*_*`."""
    frames = [_input(frame, port, step.inputs[port], len(inputs)) for port, frame in enumerate(inputs)]
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.unionByName(frame, allowMissingColumns=True)
    return whole


def hashed_order(step: Keyed, schema: Schema) -> list[int]:
    """The places of a key's parts as Flink has them: plain columns in the order of the input."""
    keys = step.inputs[0].keys
    places = {quote(name): at for at, name in enumerate(schema.names)}
    order = list(range(len(keys)))
    return sorted(order, key=lambda at: places[keys[at]]) if all(key in places for key in keys) else order


def run_keyed(
    node: NodePlan,
    step: Keyed,
    whole: DataFrame,
    states: DataFrame | None,
    timeline: TimelineFiles | KnownTimeline | None,
    *,
    partitions: int,
    keep_state: bool,
    compact: bool = False,
    drops_retractions: bool = False,
    key_times: Path | None = None,
) -> DataFrame:
    """Apply a keyed step to an epoch's gathered input, in mini-batch with the ends of its bundles.

    states: the rows kept so far, of several epochs, or None. key_times: where to note the slowest keys. Gives the
    step's output frame: `__tag` (see `engine.runtime.worker`), positions and columns; `__k*` and `__state` with
    keep_state; `__note` with time.
    """
    from pyspark.sql import functions as f

    key_names = [f"__k{at}" for at in range(len(step.inputs[0].keys))]
    key_types = {field.name: field.dataType for field in whole.schema.fields if field.name in key_names}
    if states is not None:
        kept = states.select(
            f.lit(STATE_PORT).cast("tinyint").alias("__port"),
            # Before all events, the latest epoch last: the loop takes the last one.
            (f.col("__epoch").cast("bigint") - f.lit(1 << 40)).alias("__seq"),
            f.lit(b"").alias("__step"),
            f.lit(0).cast("tinyint").alias("__kind"),
            *(f.col(name) for name in key_names),
            f.col("__state"),
        )
        whole = whole.unionByName(kept, allowMissingColumns=True)
    whole = whole.repartition(partitions, *key_names) if key_names else whole.repartition(1)
    whole = whole.sortWithinPartitions(*key_names, "__seq", "__step")
    output = _output_fields(node, key_types, keep_state=keep_state, notes=timeline is not None)
    task = Task(
        kernel=step.kernel,
        rank=node.rank,
        keys=len(key_names),
        values=tuple(len(one.values) for one in step.inputs),
        schema=pa.schema([(name, type_) for name, type_, _ in output]),
        columns=len(node.schema),
        allowed=frozenset(int(kind) for kind in node.mode),
        timeline=timeline,
        keep_state=keep_state,
        compact=compact,
        bundled=step.bundling is not None,
        drops_retractions=drops_retractions,
        key_times=str(key_times) if key_times is not None else None,
    )
    ddl = ", ".join(f"{quote(name)} {spark}" for name, _, spark in output)
    return whole.mapInArrow(lambda batches: task(batches), ddl)


def _input(frame: DataFrame, port: int, given: KeyedInput, ports: int) -> DataFrame:
    from pyspark.sql import functions as f

    if given.where is not None:
        frame = frame.where(f.expr(given.where))
    step: Column = f.col("__step")
    if ports > 1:
        step = f.concat(step, f.lit(port_suffix(port)))
    return frame.select(
        f.lit(port).cast("tinyint").alias("__port"),
        f.col("__seq"),
        step.alias("__step"),
        f.col("__kind"),
        *(f.expr(key).alias(f"__k{at}") for at, key in enumerate(given.keys)),
        *(f.expr(value).alias(f"__v{port}_{at}") for at, value in enumerate(given.values)),
    )


def _output_fields(
    node: NodePlan, key_types: dict[str, Any], *, keep_state: bool, notes: bool
) -> list[tuple[str, pa.DataType, str]]:
    fields = [
        ("__tag", pa.int8(), "tinyint"),
        ("__seq", pa.int64(), "bigint"),
        ("__step", pa.binary(), "binary"),
        ("__kind", pa.int8(), "tinyint"),
    ]
    fields += [(column.name, arrow_type(column.type), column.type) for column in node.schema]
    if keep_state:
        for name, type_ in key_types.items():
            text = type_.simpleString()
            fields.append((name, arrow_type(text), text))
        fields.append(("__state", pa.binary(), "binary"))
    if notes:
        fields.append(("__note", pa.string(), "string"))
    return fields
