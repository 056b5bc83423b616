"""What the sources of change data share: JSON lines, each an envelope around the rows that changed.

One line can yield several records, in order: an update is -U and then +U, each an event of its own. A line
is taken whole or not at all: where one of its rows does not fit, -U without +U would spoil every sum below.
Lines of nothing but `null` are tombstones and skipped, as Flink skips empty messages.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pydantic import Field

from engine.changelog import RowKind
from engine.errors import SourceError
from engine.frames import FILE, KIND, LINE, ORDINAL, PARSED, TEXT, WATERMARK
from engine.operator import Derived, SourceFrames
from engine.reading.columns import check_names, declared_type, derive_source
from engine.reading.file_source import FileSource
from engine.reading.flink_table import create_table
from engine.reading.inference import infer_json
from engine.reading.json_lines import ENDINGS, broken_line, read_objects, sampled
from engine.reading.texts import misfit, rejection, written
from engine.schema import Column, Schema, quote

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import SparkSession

_CHANGES: Final = "__changes"
_REASON: Final = "__why"
# So many records fit between the ordinals of two lines.
_RECORD_BITS: Final = 20
_SAID_CHARS: Final = 40


@dataclass(frozen=True)
class Opened:
    """A line's envelope: its records as an array of (kind, row), and why it is rejected; null where it is not."""

    changes: SparkColumn
    reason: SparkColumn


class EnvelopeFile(FileSource):
    """A source over files of envelopes, one per line."""

    endings: ClassVar[tuple[str, ...]] = ENDINGS
    format: ClassVar[str]
    """What Flink calls the format."""

    sample_rows: int = Field(
        1000, ge=1, le=100_000, title="Rows for types", description="So many lines are looked at to infer the types."
    )

    @staticmethod
    @abstractmethod
    def rows_of(envelope: dict[str, Any]) -> Sequence[Any]:
        """The rows in an envelope of the sample."""

    @staticmethod
    def infer(values: Iterable[Any]) -> str:
        """A column's type."""
        return infer_json(values)

    @abstractmethod
    def layout(self, row: str) -> str:
        """The fields of an envelope, as DDL; row: a row as a type."""

    @abstractmethod
    def opened(self, envelope: SparkColumn, names: Sequence[str]) -> Opened:
        """The records of an envelope. names: the columns of a row, all STRING."""

    @property
    def sampled(self) -> int:
        """The rows for types."""
        return self.sample_rows

    def derive(self, node: str, folder: Path) -> Derived:
        """Names and types from the rows in the sample; what `types` names besides is a column too."""
        files = self.files(node, folder)
        stamps = tuple(file.stamp for file in files)
        columns = sampled(files, stamps, self.sample_rows, node, self.rows_of, self.infer)
        found = {column.name: column for column in columns}
        for name, text in self.types.items():
            found[name] = Column(name, declared_type(text, node, "types"))
        if not found:
            message = (
                f"{files[0].name} has no {self.title} with a row in its first lines; check the format, or set types."
            )
            raise SourceError(message, node, "path")
        check_names(list(found), node, "types")
        return derive_source(self, node, tuple(found.values()), self.primary_key, changelog=True)

    def read(self, spark: SparkSession, node: str, folder: Path) -> SourceFrames:
        """The rows in the envelopes as typed records, and the lines that cannot be read."""
        from pyspark.sql import functions as F

        schema = self.derive(node, folder).schema
        files = self.files(node, folder)
        row = ", ".join(f"{quote(column.name)}: STRING" for column in schema)
        lines = read_objects(spark, files, self.layout(f"STRUCT<{row}>")).where(F.trim(TEXT) != "null")
        opened = self.opened(F.get(PARSED, F.lit(0)), schema.names)
        typed = F.transform(opened.changes, lambda change: _typed(change, schema))
        known = lines.select(
            FILE, LINE, TEXT, ORDINAL, F.coalesce(broken_line(), opened.reason).alias(_REASON), typed.alias(_CHANGES)
        )
        misfits = F.filter(F.col(_CHANGES).getField("reason"), lambda reason: reason.isNotNull())
        reason = F.coalesce(_REASON, F.get(misfits, F.lit(0)))
        judged = known.withColumn(_REASON, reason)
        # A rejected line has no change and is one row all the same; a line without a change is none.
        no_change = F.array(F.lit(None).cast(known.schema[_CHANGES].dataType.elementType))  # type: ignore[attr-defined]
        changes = F.when(F.col(_REASON).isNull(), F.col(_CHANGES)).otherwise(no_change)
        taken = judged.select("*", F.posexplode(changes).alias("__at", "__change"))
        change = F.col("__change")
        return SourceFrames(
            taken.select(
                (F.shiftleft(ORDINAL, _RECORD_BITS) + F.col("__at")).alias(ORDINAL),
                change.getField("kind").alias(KIND),
                F.lit(None).cast("bigint").alias(WATERMARK),
                *(change.getField("row").getField(column.name).alias(column.name) for column in schema),
                *rejection(F.col(_REASON)),
            )
        )

    def flink_sql(self, node: str, schema: Schema) -> str:
        """The filesystem connector with Flink's format for these envelopes."""
        options = {
            "connector": "filesystem",
            "path": self.path,
            "format": self.format,
            f"{self.format}.ignore-parse-errors": "true",
        }
        return create_table(node, schema, self, options, self.primary_key)


def _typed(change: SparkColumn, schema: Schema) -> SparkColumn:
    """A record of typed values, with why it does not fit."""
    from pyspark.sql import functions as F

    row = change.getField("row")
    fields = [written(row.getField(column.name), column.type) for column in schema]
    return F.struct(
        change.getField("kind").alias("kind"),
        F.struct(*(field.value.alias(column.name) for column, field in zip(schema, fields, strict=True))).alias("row"),
        F.coalesce(*(misfit(column, field) for column, field in zip(schema, fields, strict=True))).alias("reason"),
    )


def change(kind: RowKind, row: SparkColumn) -> SparkColumn:
    """One record of a line."""
    from pyspark.sql import functions as F

    return F.struct(F.lit(int(kind)).cast("tinyint").alias("kind"), row.alias("row"))


def row_before(after: SparkColumn, old: SparkColumn, names: Sequence[str]) -> SparkColumn:
    """The row before, where `old`, a map, holds the changed fields only. A field that is there and null was null."""
    from pyspark.sql import functions as F

    return F.struct(
        *(
            F.when(F.map_contains_key(old, name), old.getItem(name)).otherwise(after.getField(name)).alias(name)
            for name in names
        )
    )


def unknown(field: str, said: SparkColumn, known: Sequence[str]) -> SparkColumn:
    """Why an envelope is rejected whose kind of change is missing or unknown; null where it is one of these."""
    from pyspark.sql import functions as F

    listed = f"{', '.join(known[:-1])} or {known[-1]}"
    wrong = F.concat(F.lit(f'"{field}" is "'), F.substring(said, 1, _SAID_CHARS), F.lit(f'", not {listed}'))
    missing = F.lit(f'the line has no "{field}" ({listed}); is it another format?')
    return F.when(said.isNull(), missing).when(~said.isin(*known), wrong)
