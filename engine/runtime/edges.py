"""The edges of a run as Spark reads them: files of records, files of a source's events, and views of other edges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from engine.frames import KIND, SEQ, STEP, UNIT, changelog_ddl
from engine.recorder import EdgeFile, EdgeView
from engine.schema import Schema, quote

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

# Beyond this a list of numbers in the query costs more than a join with them.
_LISTED: Final = 4096


@dataclass(frozen=True)
class SourceFile:
    """A file of consecutive events of a source, from first_seq on; unit: its number, as its rows have it."""

    path: str
    unit: int
    first_seq: int
    rows: int

    def part(self, after_seq: int, last_seq: int) -> EdgeFile | None:
        """What of it belongs to the events (after_seq, last_seq]."""
        low, high = max(self.first_seq, after_seq + 1), min(self.first_seq + self.rows - 1, last_seq)
        return EdgeFile(self.path, self.first_seq, low, high) if low <= high else None


@dataclass(frozen=True)
class EdgeRecords:
    """An edge's records in an epoch.

    files: where they are. units: of a source, whose files have no numbers of their own, the unit of each file; is_cut:
    the files hold other events too. kind, step: of all its records, where that is known. rows: how many there are.
    stored, stored_schema, suffix: of a view, what its columns are called in the files, all that is there, and what a
    step is longer by.
    """

    schema: Schema
    files: tuple[EdgeFile, ...]
    rows: int
    units: Mapping[str, int] | None = None
    kind: int | None = None
    step: bytes | None = None
    is_cut: bool = False
    stored: tuple[str, ...] | None = None
    stored_schema: Schema | None = None
    suffix: bytes = b""

    def seen_as(self, view: EdgeView, schema: Schema) -> EdgeRecords:
        """The same records as another edge has them."""
        held = dict(zip(self.schema.names, self.stored or self.schema.names, strict=True))
        return replace(
            self,
            schema=schema,
            stored=tuple(held[name] for name in view.columns),
            stored_schema=self.stored_schema or self.schema,
            suffix=self.suffix + view.suffix,
            step=None if self.step is None else self.step + view.suffix,
        )

    def frame(self, spark: SparkSession) -> DataFrame:
        """SEQ, STEP, KIND and the columns, in any order."""
        from pyspark.sql import functions as f

        held = self.stored_schema or self.schema
        names = self.stored or self.schema.names
        columns = [
            f.col(quote(name)).alias(column.name) for name, column in zip(names, self.schema, strict=True)
        ]
        paths = [file.path for file in self.files]
        if not paths:
            return spark.createDataFrame([], changelog_ddl(self.schema))
        if self.units is None:
            read = spark.read.schema(changelog_ddl(held)).parquet(*paths)
            step = f.concat(f.col(STEP), f.lit(self.suffix)) if self.suffix else f.col(STEP)
            return read.select(SEQ, step.alias(STEP), KIND, *columns)
        kind = f.col(KIND) if self.kind is None else f.lit(self.kind).cast("tinyint")
        ddl = ", ".join([*([f"{KIND} tinyint"] if self.kind is None else []), held.ddl(), f"{UNIT} int"])
        read = self.numbered(spark, spark.read.schema(ddl).parquet(*paths))
        if self.is_cut:
            low, high = min(file.low for file in self.files), max(file.high for file in self.files)
            read = read.where(f.col(SEQ).between(low, high))
        return read.select(SEQ, f.lit(self.step or b"").alias(STEP), kind.alias(KIND), *columns)

    def numbered(self, spark: SparkSession, read: DataFrame) -> DataFrame:
        """What is read of the files, with SEQ: what its file starts with, and its place in there."""
        from pyspark.sql import functions as f

        assert self.units is not None, "files of records have their numbers"
        starts = {self.units[file.path]: file.first_seq or 0 for file in self.files}
        place: Column = f.col("_metadata.row_index")
        if len(starts) == 1:
            return read.withColumn(SEQ, f.lit(next(iter(starts.values()))).cast("bigint") + place)
        if max(starts) < _LISTED:
            listed = ", ".join(f"{starts.get(at, 0)}L" for at in range(max(starts) + 1))
            return read.withColumn(SEQ, f.expr(f"element_at(array({listed}), {UNIT} + 1)") + place)
        known = spark.createDataFrame(list(starts.items()), f"{UNIT} int, __start bigint")
        joined = read.withColumn("__place", place).join(f.broadcast(known), UNIT)
        return joined.withColumn(SEQ, f.col("__start") + f.col("__place"))
