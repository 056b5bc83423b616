"""Parquet files: a file, a folder or a glob, in name order.

Input: any Parquet; a struct becomes a JSON string. All files need the columns of the first file; additional
columns are left out.
Output: insert-only, or with the kinds of `kind_column`, in the order of the rows of each file. A row is
rejected, with its number as the line, if a value does not fit its type in `types`, if the event time is null,
or if the kind is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from engine.contract.declared_table import DeclaredTable
from engine.contract.derived import Derived
from engine.contract.scan import Scan
from engine.errors import PipelineError, SourceError
from engine.model.schema import Column, Schema
from engine.model.types import (
    STRING,
    Type,
)
from engine.reading.apart import LOOK_S, Foreign, answer_of, answers_of, known_apart
from engine.reading.files.input_files import InputFile
from engine.reading.files.source import ManyFiles, RowFile
from engine.reading.files.together import in_groups, of_each
from engine.reading.recorded import is_recorded
from engine.reading.typed.columns import check_names
from engine.reading.typed.typed_rows import RowTypes

if TYPE_CHECKING:
    import pyarrow as pa

# Objects of a bucket whose footers one process reads.
_FOOTERS: Final = 128


class Parquet(ManyFiles, RowFile):
    """Parquet files."""

    operator: ClassVar[str] = "parquet"
    title: ClassVar[str] = "Parquet"
    summary: ClassVar[str] = "Parquet files, row by row."
    endings: ClassVar[tuple[str, ...]] = (".parquet", ".pq")
    opens = endings
    table_format = "parquet"

    @classmethod
    def takes(cls, table: DeclaredTable, folder: Path) -> bool:
        """All files but recordings."""
        return not is_recorded(table, folder)

    def derive(self, node: str, folder: Path) -> Derived:
        """The columns as the first file declares them."""
        files = self.files(node, folder)
        if not files:
            # The files have not been fetched yet; their columns are declared.
            return self.described(node, self.declared_columns(node))
        schemas = [schema for group in in_groups(files, _FOOTERS) for schema in _arrow_schemas(group, node)]
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
                        f"the column {column.name!r} is {other.flink} in {file.name} and {column.type.flink} in "
                        f"{files[0].name}; read it as a source of its own."
                    )
                    raise SourceError(message, node, "path")
        return self.described(node, self.fixed(self.overridden(columns, node)))

    def scan(self, node: str, folder: Path) -> Scan:
        """Row groups, read in workers."""
        from engine.reading.files.parquet_scan import ADVICE, PART_BYTES, ParquetReader, parts_of

        groups = in_groups(self.files(node, folder), _FOOTERS)
        parts = (
            answer_of(Foreign(group[0].name, node, ADVICE), parts_of, tuple(group), PART_BYTES) for group in groups
        )
        columns = list(self.derive(node, folder).schema)
        if self.kind_column is not None:
            columns.append(Column(self.kind_column, STRING))
        rows = RowTypes(tuple(columns), self.kind_column)
        return Scan(tuple(chain.from_iterable(parts)), ParquetReader(rows), is_foreign=True)

    def row_bytes(self, node: str, file: InputFile) -> float:
        """From its footer."""
        from engine.reading.files.parquet_scan import ADVICE, rows_in

        return file.size / max(1, answer_of(Foreign(file.name, node, ADVICE), rows_in, file))

    def write_head(self, rows: int, node: str, file: InputFile, target: Path) -> None:
        """Copy the first rows of a file. Raises SourceError."""
        from engine.reading.files.parquet_scan import ADVICE

        list(answers_of(Foreign(file.name, node, ADVICE), _write_head, rows, node, file, target, seconds=LOOK_S))

    def flink_sql(self, node: str, schema: Schema) -> str:
        """The filesystem connector. Flink does not keep the order of the rows."""
        return self.table_sql(node, schema, {})


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


def _arrow_schemas(files: Sequence[InputFile], node: str) -> list[pa.Schema]:
    from engine.reading.files.parquet_scan import ADVICE

    return answer_of(Foreign(files[0].name, node, ADVICE), _schemas_in, tuple(files), node)


def _schemas_in(files: Sequence[InputFile], node: str) -> list[pa.Schema]:
    return of_each(partial(_schema_in, node=node), files)


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


def _type_of(stored: pa.DataType, name: str, file: InputFile, node: str) -> Type:
    """The type for a Parquet column. Raises SourceError for an unsupported type."""
    from engine.reading.files.parquet_values import type_of

    if (type_ := type_of(stored)) is not None:
        return type_
    message = f"the column {name!r} of {file.name} is {stored}, which cannot be read; write it as text."
    raise SourceError(message, node, "path")


SOURCE = Parquet

known_apart(__name__)
