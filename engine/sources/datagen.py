"""Random or sequential values by column, as in Flink's datagen connector, but reproducible.

Every value is a hash of (seed, column, record number), so it does not depend on the process that computes it. A
timestamp is `start_ms` plus 1000 / rate ms per record; in Flink it is the current time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

from engine.contract.declared_table import DeclaredTable, ReadTable
from engine.contract.derived import Derived
from engine.contract.frames import ORDINAL
from engine.contract.parameters import Parameters, parameter
from engine.contract.source import SourceFrames
from engine.errors import PipelineError
from engine.model.schema import Column, Schema
from engine.model.types import BOOLEAN, INT, INTEGERS, SMALLINT, STRING, TINYINT, Array, Map, Row, Time, Type
from engine.reading.declared_options import DeclaredOptions
from engine.reading.flink_table import create_table
from engine.reading.paced import START_MS, MadeUp, Seed, Start
from engine.reading.typed.columns import check_names, column_of, derive_source

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import SparkSession

_MOST: Final[dict[Type, int]] = {TINYINT: 127, SMALLINT: 32_767, INT: (1 << 31) - 1}
_HEX_OF_A_HASH: Final = 32
# A sequence has an end in Flink; this one is never reached.
_ENDLESS: Final = 1 << 62
_SETTINGS: Final[tuple[tuple[str, str, Callable[[str], Any]], ...]] = (
    ("kind", "kind", str),
    ("start", "min", float),
    ("end", "max", float),
    ("min", "min", float),
    ("max", "max", float),
    ("length", "length", int),
    ("null-rate", "null_rate", float),
)
"""Of a column's options, the parameter and how it is read."""
# Flink's default size of a collection.
_ELEMENTS: Final = 3


def _is_made(type_: Type) -> bool:
    """Whether values of a type can be generated."""
    if type_.parts:
        return all(map(_is_made, type_.parts))
    return type_.is_number or type_.is_time or isinstance(type_, Time) or type_ in (STRING, BOOLEAN)


class GeneratedColumn(Parameters):
    """One column, and how its values are generated."""

    name: str = parameter("Name", min_length=1)
    type: str = parameter(
        "Type", "A type of Flink SQL, such as BIGINT, STRING or TIMESTAMP(3).", default="BIGINT", is_type=True
    )
    kind: Literal["random", "sequence"] = parameter(
        "Kind", "random: any value between From and To. sequence: counts up from From to To.", default="random"
    )
    min: float | None = parameter("From", "The smallest value. Empty: 0, or 1 for a sequence.", default=None)
    max: float | None = parameter("To", "The largest value. Empty: 1000.", default=None)
    length: int = parameter("Length", "The length of random texts, in characters.", default=8, ge=1, le=10_000)
    null_rate: float = parameter("Share of NULL", default=0.0, ge=0, le=1)


class Datagen(MadeUp):
    """Generated records with any columns."""

    operator: ClassVar[str] = "datagen"
    title: ClassVar[str] = "Datagen"
    summary: ClassVar[str] = (
        "Random or sequential values for your own columns, as from Flink's datagen; the same in every run."
    )
    connector = "datagen"

    columns: tuple[GeneratedColumn, ...] = parameter("Columns", "Names, types and values of the columns.", default=())
    seed: Seed = 1
    start_ms: Start = START_MS

    @property
    def size(self) -> int | None:
        """The number of records; a shorter sequence ends the source, as in Flink. None: endless."""
        ends = [column for column in self.columns if column.kind == "sequence" and column.max is not None]
        sizes = [max(0, self._last(column) - self._first(column) + 1) for column in ends]
        return min([*([] if self.rows is None else [self.rows]), *sizes], default=None)

    def derive(self, node: str, folder: Path) -> Derived:
        """The declared columns."""
        check_names([column.name for column in self.columns], node, "columns")
        columns = [column_of(column.name, column.type, node, "columns") for column in self.columns]
        for column in columns:
            is_counted = any(spec.kind == "sequence" for spec in self.columns if spec.name == column.name)
            if not _is_made(column.type) or (is_counted and column.type.parts):
                message = (
                    f"columns: {column.name} is {column.type.flink}, for which no values can be generated. Choose a "
                    "simple type."
                )
                raise PipelineError(message, node, "columns")
        return derive_source(self, node, columns)

    def read(
        self, spark: SparkSession, node: str, folder: Path, places: Mapping[str, str] | None = None
    ) -> SourceFrames:
        """All records; none is ever rejected."""
        from pyspark.sql import functions as F

        schema = self.derive(node, folder).schema
        values = [
            self._value(spec, column).alias(column.name) for spec, column in zip(self.columns, schema, strict=True)
        ]
        return SourceFrames.of_records(
            spark.range(*self.range).select(
                F.col("id").alias(ORDINAL),
                *values,
            ),
            schema.names,
        )

    @classmethod
    def from_table(cls, table: DeclaredTable) -> ReadTable:
        """Random values for its columns, or sequences."""
        options = DeclaredOptions(table)
        return options.read(cls.parameters_of(options))

    @classmethod
    def settings_of(cls, column: Column, options: DeclaredOptions) -> dict[str, Any]:
        """Those that are given."""
        field = f"fields.{column.name}"
        given = [(name, options.number(f"{field}.{option}", read)) for option, name, read in _SETTINGS]
        return {name: value for name, value in given if value is not None}

    def flink_sql(self, node: str, schema: Schema) -> str:
        """The connector of the same name, which has other random values."""
        options = self.pace_options
        for spec in self.columns:
            field = f"fields.{spec.name}"
            if spec.kind == "sequence":
                options |= {f"{field}.kind": "sequence", f"{field}.start": f"{self._first(spec)}"}
                options |= {f"{field}.end": f"{self._last(spec)}"}
                continue
            options |= {
                f"{field}.{name}": f"{value:g}" for name in ("min", "max") if (value := getattr(spec, name)) is not None
            }
            if column_of(spec.name, spec.type, node, "columns").type == STRING:
                options[f"{field}.length"] = str(spec.length)
            if spec.null_rate:
                options[f"{field}.null-rate"] = f"{spec.null_rate:g}"
        return create_table(node, schema, self, options)

    def _first(self, column: GeneratedColumn) -> int:
        return int(column.min) if column.min is not None else 1

    def _last(self, column: GeneratedColumn) -> int:
        if column.max is not None:
            return int(column.max)
        return self._first(column) + (_ENDLESS if self.rows is None else self.rows) - 1

    def _value(self, each: GeneratedColumn, column: Column) -> SparkColumn:
        from pyspark.sql import functions as F

        number = F.col("id")
        value = self._made(each, column.type)
        if each.null_rate:
            empty = F.shiftrightunsigned(self._hash(f"{each.name} null", number), 11).cast("double") * 2.0**-53
            value = F.when(empty >= each.null_rate, value)
        return value.cast(str(column.type))

    def _part(self, name: str, type_: Type) -> SparkColumn:
        """A value inside of a column, which no option describes."""
        return self._made(GeneratedColumn(name=name), type_).cast(str(type_))

    def _made(self, each: GeneratedColumn, type_: Type) -> SparkColumn:
        """A value of a type: a ROW of one for each field, as Flink has it three elements or entries of a collection."""
        from pyspark.sql import functions as F

        number = F.col("id")
        share = F.shiftrightunsigned(self._hash(each.name, number), 11).cast("double") * 2.0**-53
        low, high = each.min or 0, each.max if each.max is not None else min(1000, _MOST.get(type_, 1000))
        column: SparkColumn
        if isinstance(type_, Row):
            column = F.struct(*(self._part(f"{each.name}.{name}", field).alias(name) for name, field in type_.fields))
        elif isinstance(type_, Array):
            column = F.array(*(self._part(f"{each.name}.{at}", type_.element) for at in range(_ELEMENTS)))
        elif isinstance(type_, Map):
            names = [f"{each.name}.{at}" for at in range(_ELEMENTS)]
            pairs = ((self._part(f"{name} key", type_.key), self._part(name, type_.value)) for name in names)
            entries = F.array(*(F.struct(*pair) for pair in pairs))
            column = F.map_from_entries(entries)
        elif each.kind == "sequence":
            column = number + F.lit(self._first(each))
        elif type_.is_time or isinstance(type_, Time):
            column = F.timestamp_millis(F.lit(self.start_ms) + F.floor(number * F.lit(1000.0 / self.rate)))
        elif type_ == STRING:
            parts = [
                F.md5(F.concat_ws("/", F.lit(str(self.seed)), F.lit(each.name), number, F.lit(at)))
                for at in range(-(-each.length // _HEX_OF_A_HASH))
            ]
            column = F.substring(F.concat(*parts), 1, each.length)
        elif type_ == BOOLEAN:
            column = share < 0.5
        elif type_ in INTEGERS:
            column = F.floor(share * F.lit(high - low + 1)) + F.lit(int(low))
        else:
            column = share * F.lit(float(high - low)) + F.lit(float(low))
        return column

    def _hash(self, purpose: str, number: SparkColumn) -> SparkColumn:
        from pyspark.sql import functions as F

        return F.xxhash64(F.lit(self.seed).cast("bigint"), F.lit(purpose), number)


SOURCE = Datagen
