"""The events of sources, read by Spark as a run reads them: whole, or the first rows of each, in one answer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import engine
from engine.frames import KIND, ORDINAL, WATERMARK
from engine.local.arrivals import Events
from engine.operator import Source
from engine.planner import NodePlan, Plan
from engine.reading.computed import frames_of
from engine.schema import quote

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_SOURCE: Final = "__source"


def read(plan: Plan, spark: SparkSession, folder: Path, rows: int | None = None) -> Mapping[str, Events]:
    """The events of all sources, by source; rows: no more than so many of each. Raises SourceError."""
    from pyspark.cloudpickle import register_pickle_by_value
    from pyspark.sql import functions as f

    register_pickle_by_value(engine)  # type: ignore[no-untyped-call]
    with TemporaryDirectory(prefix="changelog-studio-") as heads:
        frames = []
        for at, node in enumerate(plan.sources):
            frame = _records(node, spark, folder, Path(heads), rows)
            whole_row = f.struct(*(f.col(quote(name)) for name in frame.columns))
            frames.append(frame.select(f.lit(at).alias(_SOURCE), whole_row.alias(f"__row{at}")))
        together = frames[0]
        for frame in frames[1:]:
            together = together.unionByName(frame, allowMissingColumns=True)
        found = together.toArrow()
    return {node.id: _events(found, at, rows) for at, node in enumerate(plan.sources)}


def _records(node: NodePlan, spark: SparkSession, folder: Path, heads: Path, rows: int | None) -> DataFrame:
    """A source's records with its computed columns: ORDINAL, KIND, WATERMARK, and the schema's."""
    source = node.operator
    assert isinstance(source, Source)
    # One more than is wanted tells whether there are more.
    given = source if rows is None else source.head(rows + 1, node.id, folder, heads)
    records = frames_of(given, spark, node.id, folder).records
    records = records.select(ORDINAL, KIND, WATERMARK, *map(quote, node.schema.names))
    return records if rows is None else records.orderBy(ORDINAL).limit(rows + 1)


def _events(found: pa.Table, at: int, rows: int | None) -> Events:
    import pyarrow as pa
    import pyarrow.compute as pc

    mine: Any = found.filter(pc.equal(found.column(_SOURCE), at)).column(f"__row{at}")
    table = pa.Table.from_struct_array(mine).sort_by(ORDINAL).drop_columns([ORDINAL])
    return Events(table if rows is None else table.slice(0, rows), rows is None or len(table) <= rows)
