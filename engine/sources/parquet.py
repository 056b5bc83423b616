"""Parquet files: a file, a folder or a glob, in name order.

Input: any Parquet; a struct becomes a JSON string. All files need the columns of the first file; additional
columns are left out.
Output: insert-only, or with the kinds of `kind_column`, in the order of the rows of each file. A row is
rejected, with its number as the line, if a value does not fit its type in `types`, if the event time is null,
or if the kind is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final
from urllib.parse import unquote, urlsplit

from engine.contract.derived import Derived
from engine.contract.frames import FILE, LINE, ORDINAL, TEXT
from engine.contract.scan import Scan
from engine.contract.source import SourceFrames
from engine.errors import PipelineError, SourceError
from engine.model.schema import Column, Schema
from engine.model.spark_types import type_of_data
from engine.model.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    MOST_DIGITS,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Array,
    Decimal,
    Map,
    Row,
    Type,
    quote,
)
from engine.reading.apart import LOOK_S, Foreign, answer_of, answers_of, known_apart
from engine.reading.files.input_files import InputFile
from engine.reading.files.source import RowFile
from engine.reading.files.storage import is_uri
from engine.reading.typed.columns import check_names
from engine.reading.typed.spark_casts import Field, written
from engine.reading.typed.typed_rows import RowTypes

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

_FILE_BITS: Final = 40


class Parquet(RowFile):
    """Parquet files."""

    operator: ClassVar[str] = "parquet"
    title: ClassVar[str] = "Parquet"
    summary: ClassVar[str] = "Parquet files, row by row."
    endings: ClassVar[tuple[str, ...]] = (".parquet", ".pq")
    opens = endings

    def derive(self, node: str, folder: Path) -> Derived:
        """The columns as the first file declares them."""
        files = self.files(node, folder)
        if not files:
            # The files have not been fetched yet; their columns are declared.
            return self.described(node, self.declared_columns(node))
        schemas = [_arrow_schema(file, node) for file in files]
        try:
            check_names(schemas[0].names, node, f"columns of {files[0].name}")
        except PipelineError as error:
            raise SourceError(error.sentence, node, "path") from error
        columns = [Column(name, _type_of(type_, name, files[0], node)) for name, type_ in _fields(schemas[0])]
        for file, schema in zip(files[1:], schemas[1:], strict=True):
            theirs = dict(_fields(schema))
            for column in columns:
                if column.name not in theirs:
                    message = (
                        f"{file.name} lacks the column {column.name!r}, which {files[0].name} has; "
                        "read it as a source of its own."
                    )
                    raise SourceError(message, node, "path")
                if (other := _type_of(theirs[column.name], column.name, file, node)) != column.type:
                    message = (
                        f"the column {column.name!r} is {other} in {file.name} and {column.type} in {files[0].name}; "
                        "read it as a source of its own."
                    )
                    raise SourceError(message, node, "path")
        return self.described(node, self.fixed(self.overridden(columns, node)))

    def scan(self, node: str, folder: Path) -> Scan | None:
        """Row groups in workers; None if a column is converted or nested, or if there is a kind column."""
        from engine.reading.files.parquet_scan import ADVICE, PART_BYTES, ParquetReader, parts_of

        if self.kind_column is not None or self.types:
            return None
        schema, files = self.derive(node, folder).schema, self.files(node, folder)
        if any(type_.num_fields for _, type_ in _fields(_arrow_schema(files[0], node))):
            return None
        parts = (answer_of(Foreign(file.name, node, ADVICE), parts_of, (file,), PART_BYTES) for file in files)
        return Scan(tuple(chain.from_iterable(parts)), ParquetReader(RowTypes(tuple(schema))), is_foreign=True)

    def read(
        self, spark: SparkSession, node: str, folder: Path, places: Mapping[str, str] | None = None
    ) -> SourceFrames:
        """The typed rows and the rejected ones."""
        from pyspark.sql import functions as F

        schema = self.derive(node, folder).schema
        files = self.files(node, folder)
        if places is not None:
            files = tuple(replace(file, place=places.get(file.path, file.place)) for file in files)
        rows = _numbered(spark, files)
        natural = {field.name: type_of_data(field.dataType) for field in rows.select("__row.*").schema}
        columns = [*schema, *([] if self.kind_column is None else [Column(self.kind_column, STRING)])]
        fields = {
            column.name: _field(F.col("__row").getField(column.name), natural[column.name], column)
            for column in columns
        }
        return self.typed(rows, schema, fields, F.lit(None).cast("string"))

    def write_head(self, rows: int, node: str, file: InputFile, target: Path) -> None:
        """Copy the first rows of a file. Raises SourceError."""
        from engine.reading.files.parquet_scan import ADVICE

        list(answers_of(Foreign(file.name, node, ADVICE), _write_head, rows, node, file, target, seconds=LOOK_S))

    def flink_sql(self, node: str, schema: Schema) -> str:
        """The filesystem connector. Flink does not keep the order of the rows."""
        return self.table_sql(node, schema, {"format": "parquet"})


def _numbered(spark: SparkSession, files: Sequence[InputFile]) -> DataFrame:
    """All rows as a struct `__row`, with file, row number from 1, ordinal, and the row as JSON.

    Parquet provides the number of a row in its file, so rows are not counted.
    """
    from pyspark.sql import functions as F

    scan = spark.read.option("mergeSchema", "false").parquet(*(file.spark_path for file in files))
    order = {_place(file.place) if is_uri(file.place) else file.place: at for at, file in enumerate(files)}
    uris = {uri.replace("file:///", "file:/"): order[_place(uri)] for uri in scan.inputFiles()}
    row = F.struct(*(F.col(quote(name)) for name in scan.columns))
    rows = scan.select(
        row.alias("__row"),
        F.col("_metadata.file_path").alias("__path"),
        (F.col("_metadata.row_index") + 1).alias(LINE),
        F.to_json(row).alias(TEXT),
    )
    table = spark.createDataFrame(
        [(uri, files[at].name, at << _FILE_BITS) for uri, at in uris.items()],
        f"__path STRING, {FILE} STRING, __base BIGINT",
    )
    return rows.join(F.broadcast(table), "__path").withColumn(ORDINAL, F.col("__base") + F.col(LINE))


def _place(uri: str) -> str:
    """The place of a file from the URI in Spark's `_metadata`: the path in a file system, or the URI itself."""
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme in ("", "file") else uri


def _field(value: SparkColumn, natural: Type, column: Column) -> Field:
    """The value unchanged, or converted to the declared type."""
    from pyspark.sql import functions as F

    if natural.is_held_as(column.type):
        return Field(value.cast("string"), value)
    if natural.is_number and column.type.is_number:
        return Field(value.cast("string"), value.try_cast(str(column.type)))
    text = F.to_json(value) if isinstance(natural, Row) else value.cast("string")
    return written(text, column.type)


def _write_head(rows: int, node: str, file: InputFile, target: Path) -> Iterator[None]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with (
            file.open() as stored,
            pq.ParquetFile(stored) as whole,
            pq.ParquetWriter(target, whole.schema_arrow) as head,
        ):
            left = rows
            for batch in whole.iter_batches(batch_size=rows):
                head.write_batch(batch.slice(0, left))
                left -= min(left, batch.num_rows)
                if not left:
                    break
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        message = f"{file.name} cannot be read: {error}. Choose another file, or write this one again."
        raise SourceError(message, node, "path") from error
    yield


def _arrow_schema(file: InputFile, node: str) -> pa.Schema:
    from engine.reading.files.parquet_scan import ADVICE

    return answer_of(Foreign(file.name, node, ADVICE), _schema_in, file, node)


def _schema_in(file: InputFile, node: str) -> pa.Schema:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with file.open() as stored:
            return pq.read_schema(stored)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        message = f"{file.name} is not a Parquet file; choose another, or the source for its format."
        raise SourceError(message, node, "path") from error


def _fields(schema: pa.Schema) -> list[tuple[str, pa.DataType]]:
    return list(zip(schema.names, schema.types, strict=True))


def _type_of(type_: pa.DataType, name: str, file: InputFile, node: str) -> Type:
    """The type for a Parquet column. Raises SourceError for an unsupported type."""
    import pyarrow.types as t

    plain: dict[str, Type] = {
        "bool": BOOLEAN,
        "int8": TINYINT,
        "int16": SMALLINT,
        "int32": INT,
        "int64": BIGINT,
        "uint8": SMALLINT,
        "uint16": INT,
        "uint32": BIGINT,
        "uint64": Decimal(20, 0),
        "float": FLOAT,
        "double": DOUBLE,
        "string": STRING,
        "large_string": STRING,
        "date32[day]": DATE,
        "null": STRING,
        "binary": BINARY,
        "large_binary": BINARY,
    }
    if str(type_) in plain:
        return plain[str(type_)]
    if t.is_dictionary(type_):
        return _type_of(type_.value_type, name, file, node)
    if t.is_decimal(type_) and type_.precision <= MOST_DIGITS:
        return Decimal(type_.precision, type_.scale)
    if t.is_timestamp(type_) and type_.unit != "ns":
        return TIMESTAMP if type_.tz else TIMESTAMP_NTZ
    if t.is_fixed_size_binary(type_):
        return BINARY
    if t.is_map(type_):
        key, value = (_type_of(part, name, file, node) for part in (type_.key_type, type_.item_type))
        return Map(key, value)
    if t.is_list(type_) or t.is_large_list(type_):
        return Array(_type_of(type_.value_type, name, file, node))
    if t.is_struct(type_):
        return STRING
    other = f"a decimal of at most {MOST_DIGITS} digits" if t.is_decimal(type_) else "microseconds"
    message = f"the column {name!r} of {file.name} is {type_}, which cannot be read; write it as {other} or text."
    raise SourceError(message, node, "path")


SOURCE = Parquet

known_apart(__name__)
