"""A native step on Spark: projections and conditions in Spark SQL, with kinds unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from engine.contract.frames import EACH, KIND, SEQ, STEP
from engine.contract.step import Native
from engine.expressions.costs import bounded
from engine.model.position import ordinal
from engine.planner import NodePlan
from engine.python_functions.on_spark import with_call
from engine.runtime.edges.records import frame_of_kinds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# `engine.model.position.ordinal` of the column __at, which posexplode counts below 2^31.
_ORDINAL: Final = (
    "unhex(CASE WHEN __at < 240 THEN lpad(hex(__at), 2, '0') WHEN __at < 256 THEN concat('F0', hex(__at)) "
    "WHEN __at < 65536 THEN concat('F1', lpad(hex(__at), 4, '0')) "
    "WHEN __at < 16777216 THEN concat('F2', lpad(hex(__at), 6, '0')) ELSE concat('F3', lpad(hex(__at), 8, '0')) END)"
)


def run_native(node: NodePlan, step: Native, inputs: Sequence[DataFrame]) -> DataFrame:
    """Apply a native step to an epoch's input. Positions gain the port (if there are several) and one ordinal."""
    from pyspark.sql import functions as f

    frames = []
    for port, (frame, projection) in enumerate(zip(inputs, step.projections, strict=True)):
        frame = frame_of_kinds(frame, step.kinds)
        if projection.where is not None:
            frame = frame.where(f.expr(bounded(projection.where)))
        if projection.call is not None:
            frame = with_call(frame, projection.call)
        path = f.col(STEP)
        if projection.each is not None:
            frame = frame.select("*", f.posexplode(f.expr(projection.each)).alias("__at", EACH))
            path = f.concat(path, *([] if len(inputs) == 1 else [f.lit(ordinal(port))]), f.expr(_ORDINAL))
        elif not step.forward:
            suffix = ordinal(0) if len(inputs) == 1 else ordinal(port) + ordinal(0)
            path = f.concat(path, f.lit(suffix))
        columns = [
            f.expr(bounded(value)).cast(str(column.type)).alias(column.name)
            for value, column in zip(projection.values, node.schema, strict=True)
        ]
        frames.append(frame.select(SEQ, path.alias(STEP), KIND, *columns))
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.unionAll(frame)
    return whole
