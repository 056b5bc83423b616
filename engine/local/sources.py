"""The events of sources: all, or the first rows of each source.

Sources that workers read are read in this process. Spark reads the other sources, all in one query.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import engine
from engine.contract.frames import KIND, NUMBER, ORDINAL, WATERMARK
from engine.contract.scan import Scan
from engine.contract.source import Source
from engine.local.events import Events
from engine.local.jobs import Spark
from engine.local.read_parts import read_parts
from engine.model.types import quote
from engine.planner import NodePlan, Plan
from engine.reading.files.named_folders import copies_in
from engine.reading.typed.computed import computation_of, frames_of
from engine.scratch import scratch

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_SOURCE: Final = "__source"


def read(plan: Plan, spark: Spark, folder: Path, rows: int | None = None) -> Mapping[str, Events]:
    """The events of all sources, by source. rows: the limit for each source. Raises SourceError."""
    with scratch("sources") as place, copies_in(place):
        heads = {node.id: _head(node, folder, place, rows) for node in plan.sources}
        scans = {name: head.scan(name, folder) for name, head in heads.items()}
        here = {node.id: _here(node, heads[node.id], scans[node.id], folder, rows) for node in plan.sources}
        left = [node for node in plan.sources if here[node.id] is None]
        tables = {name: table for name, table in here.items() if table is not None}
        if left:
            tables |= _with_spark(left, heads, spark(), folder, rows)
    events = {}
    for node in plan.sources:
        table, scan = tables[node.id], scans[node.id]
        events[node.id] = Events(
            table if rows is None else table.slice(0, rows),
            rows is None or len(table) <= rows,
            None if scan is None else scan.numbered,
        )
    return events


def _head(node: NodePlan, folder: Path, place: Path, rows: int | None) -> Source:
    source = node.operator
    assert isinstance(source, Source)
    # One additional row shows whether there are more.
    return source if rows is None else source.head(rows + 1, node.id, folder, place)


def _here(node: NodePlan, source: Source, scan: Scan | None, folder: Path, rows: int | None) -> pa.Table | None:
    """A source's events as workers read them: KIND, WATERMARK, NUMBER for a recording, the columns.

    None if Spark has to read it.
    """
    import pyarrow as pa

    compute = computation_of(source, node.schema, node.id, folder) if scan is not None else None
    if scan is None or compute is None:
        return None
    first = [(KIND, pa.int8()), (WATERMARK, pa.int64()), *([(NUMBER, pa.int64())] if scan.numbered else [])]
    schema = pa.schema([*first, *((column.name, column.type.arrow) for column in node.schema)])
    batches: list[pa.RecordBatch] = []
    for part in read_parts(scan, node.id):
        batches.append(_typed(compute(part).records, schema))
        if rows is not None and sum(batch.num_rows for batch in batches) > rows:
            break
    return pa.Table.from_batches(batches, schema)


def _typed(records: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The records in this schema. By default all records are +I, and none is a watermark."""
    import pyarrow as pa

    size, names = records.num_rows, records.schema.names
    absent = {KIND: pa.array([0] * size, pa.int8()), WATERMARK: pa.nulls(size, pa.int64())}
    columns = [records.column(name) if name in names else absent[name] for name in schema.names]
    return pa.RecordBatch.from_arrays(
        [column.cast(type_) for column, type_ in zip(columns, schema.types, strict=True)], schema=schema
    )


def _with_spark(
    nodes: Sequence[NodePlan], sources: Mapping[str, Source], spark: SparkSession, folder: Path, rows: int | None
) -> Mapping[str, pa.Table]:
    from pyspark.cloudpickle import register_pickle_by_value
    from pyspark.sql import functions as f

    register_pickle_by_value(engine)  # type: ignore[no-untyped-call]
    frames = []
    for at, node in enumerate(nodes):
        frame = _records(node, sources[node.id], spark, folder, rows)
        # Not as a struct: in the rows of other sources it would be NULL, which Arrow refuses if its fields cannot be.
        own = (f.col(quote(name)).alias(f"{at} {name}") for name in frame.columns)
        frames.append(frame.select(f.lit(at).alias(_SOURCE), *own))
    together = frames[0]
    for frame in frames[1:]:
        together = together.unionByName(frame, allowMissingColumns=True)
    table = together.toArrow()
    return {node.id: _part(table, at) for at, node in enumerate(nodes)}


def _records(node: NodePlan, source: Source, spark: SparkSession, folder: Path, rows: int | None) -> DataFrame:
    """A source's records with its computed columns: ORDINAL, KIND, WATERMARK, and the schema's columns."""
    records = frames_of(source, spark, node.id, folder).records
    records = records.select(ORDINAL, KIND, WATERMARK, *map(quote, node.schema.names))
    return records if rows is None else records.orderBy(ORDINAL).limit(rows + 1)


def _part(table: pa.Table, at: int) -> pa.Table:
    import pyarrow.compute as pc

    own = {name: name.removeprefix(f"{at} ") for name in table.column_names if name.startswith(f"{at} ")}
    mine = table.filter(pc.equal(table.column(_SOURCE), at)).select(list(own)).rename_columns(own)
    return mine.sort_by(ORDINAL).rename_columns({ORDINAL: NUMBER})
