"""A native step: the projections and conditions of a stateless operator; kinds stay unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from engine.contract.frames import KIND, SEQ, STEP, changelog_schema
from engine.contract.step import Native, Projection
from engine.contract.value_sizes import check_sizes
from engine.errors import RunFailed
from engine.local.values import Spark, select, with_call
from engine.model.position import ORDINALS, ordinal
from engine.model.schema import Column, Schema
from engine.planner import NodePlan
from engine.runtime.edges.records import of_kinds

if TYPE_CHECKING:
    import pyarrow as pa


def run_native(node: NodePlan, step: Native, inputs: Sequence[pa.Table], spark: Spark) -> pa.Table:
    """Apply a native step. Steps are extended by the port (if there are several) and one ordinal."""
    import pyarrow as pa

    tables = []
    for port, (table, projection) in enumerate(zip(inputs, step.projections, strict=True)):
        table = of_kinds(table, step.kinds)
        path = ORDINALS[port] if len(inputs) > 1 else b""
        tables.append(_projected(node, projection, node.inputs[port].schema, table, path, spark, step.forward))
    whole = pa.concat_tables(tables)
    try:
        check_sizes(whole)
    except ValueError as error:
        raise RunFailed(str(error), node.id) from error
    return whole if len(tables) == 1 else whole.sort_by([(SEQ, "ascending"), (STEP, "ascending")])


def _projected(
    node: NodePlan,
    projection: Projection,
    schema: Schema,
    table: pa.Table,
    path: bytes,
    spark: Spark,
    forward: bool,
) -> pa.Table:
    import pyarrow as pa

    if projection.call is not None:
        table, schema = with_call(table, schema, projection.call, spark)
    chosen = select(projection.values, schema, table, spark, where=projection.where, each=projection.each)
    steps = chosen.records.column(STEP).to_pylist()
    if projection.each is not None:
        assert chosen.numbers is not None
        steps = [step + path + ordinal(number) for step, number in zip(steps, chosen.numbers, strict=True)]
    elif not forward:
        steps = [step + path + ORDINALS[0] for step in steps]
    columns = [_typed(chosen.columns[sql], column) for sql, column in zip(projection.values, node.schema, strict=True)]
    position = [chosen.records.column(SEQ), pa.array(steps, pa.binary()), chosen.records.column(KIND)]
    return pa.table([*position, *columns], schema=changelog_schema(node.schema))


def _typed(values: Any, column: Column) -> Any:
    import pyarrow as pa

    type_ = column.type.arrow
    if values.type == type_:
        return values
    return values.cast(type_) if len(values) else pa.nulls(0, type_)
