"""Avro files: a file, a folder or a glob, in name order.

Input: object container files; each is read with its own schema, by the names of its fields. Output: insert-only, or
with the kinds of `kind_column`, in the order of the records of each file. A record is rejected, with its number as the
line, if a value does not fit its column as Flink reads it, if the event time is null, or if the kind is unknown.
Source: Flink AvroFileFormatFactory.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from engine.contract.derived import Derived
from engine.contract.parameters import Columns, parameter
from engine.contract.scan import Scan
from engine.errors import PipelineError, SourceError
from engine.model.schema import Column, Schema
from engine.model.types import STRING
from engine.reading.apart import LOOK_S, Foreign, answer_of, answers_of, known_apart
from engine.reading.avro.container import ADVICE, ContainerPart, ContainerReader, head_of, record_bytes_in, schema_in
from engine.reading.avro.declared import avro_options, avro_parameters
from engine.reading.avro.schemas import AvroField, schema_of
from engine.reading.avro.types import NoAvro, record_of, type_of
from engine.reading.declared_options import DeclaredOptions
from engine.reading.files.input_files import InputFile
from engine.reading.files.source import ManyFiles, RowFile
from engine.reading.typed.columns import check_names
from engine.reading.typed.typed_rows import RowTypes


class AvroFiles(ManyFiles, RowFile):
    """Avro files."""

    operator: ClassVar[str] = "avro"
    title: ClassVar[str] = "Avro"
    summary: ClassVar[str] = "Avro files, record by record."
    endings: ClassVar[tuple[str, ...]] = (".avro",)
    opens = endings
    table_format = "avro"

    not_null: Columns = parameter(
        "Never NULL", "The columns that are NOT NULL in Flink. Records with a null there are rejected.", default=()
    )
    legacy_timestamps: bool = parameter(
        "TIMESTAMP is Avro's timestamp",
        "As in Flink, unless 'avro.timestamp_mapping.legacy' is false. Otherwise TIMESTAMP is local-timestamp, and "
        "TIMESTAMP_LTZ is timestamp.",
        default=False,
        last=True,
    )

    @property
    def required(self) -> Sequence[str]:
        """Those that are never NULL."""
        return self.not_null

    def derive(self, node: str, folder: Path) -> Derived:
        """The columns of the first file's schema, unless they are declared."""
        files = self.files(node, folder)
        if self.fixed_columns or not files:
            columns = list(self.declared_columns(node))
            for file in files:
                self._schema(file, node)
        else:
            columns = list(self.overridden(self._columns(files[0], node), node))
        check_names([column.name for column in columns], node, "path")
        for name in self.not_null:
            Schema(tuple(columns)).column(name, node, "not_null")
        try:
            record_of(columns, self.not_null, legacy=self.legacy_timestamps)
        except NoAvro as error:
            message = f"types: {error}"
            raise PipelineError(message, node, "types") from error
        return self.described(node, columns)

    def scan(self, node: str, folder: Path) -> Scan:
        """The files, read in workers."""
        parts = tuple(ContainerPart(file.path, file.name) for file in self.files(node, folder))
        columns = list(self.derive(node, folder).schema)
        if self.kind_column is not None:
            columns.append(Column(self.kind_column, STRING))
        schema = record_of(columns, self.not_null, legacy=self.legacy_timestamps)
        return Scan(parts, ContainerReader(RowTypes(tuple(columns), self.kind_column), schema), is_foreign=True)

    def row_bytes(self, node: str, file: InputFile) -> float | None:
        """From its first blocks."""
        return answer_of(Foreign(file.name, node, ADVICE), record_bytes_in, file)

    def write_head(self, rows: int, node: str, file: InputFile, target: Path) -> None:
        """Copy the first records of a file. Raises SourceError."""
        list(answers_of(Foreign(file.name, node, ADVICE), head_of, rows, node, file, str(target), seconds=LOOK_S))

    @classmethod
    def format_parameters(cls, options: DeclaredOptions) -> dict[str, Any]:
        """The columns are the declared ones: Avro has NULL where a file has no such field."""
        return {"legacy_timestamps": True, "fixed_columns": True} | avro_parameters(options, [("avro.", "avro")])

    def flink_sql(self, node: str, schema: Schema) -> str:
        """The filesystem connector. Flink does not keep the order of the records."""
        return self.table_sql(node, schema, avro_options("avro", "", {}, legacy=self.legacy_timestamps))

    def _schema(self, file: InputFile, node: str) -> str:
        return answer_of(Foreign(file.name, node, ADVICE), schema_in, file, node)

    def _columns(self, file: InputFile, node: str) -> list[Column]:
        schema = schema_of((self._schema(file, node),))
        if schema.kind != "record":
            message = f"path: {file.name} has values of {schema.title}, and no records. Choose another file."
            raise SourceError(message, node, "path")
        return [self._column(field, file, node) for field in schema.parts]

    def _column(self, field: AvroField, file: InputFile, node: str) -> Column:
        type_ = type_of(field.type, legacy=self.legacy_timestamps)
        if type_ is None:
            branches = " or ".join(branch.title for branch in field.type.branches)
            message = (
                f"the column {field.name!r} of {file.name} is {branches}, for which Flink has no type. List the other "
                "columns under Types, and choose that they are all."
            )
            raise SourceError(message, node, "path")
        return Column(field.name, type_)


SOURCE = AvroFiles

known_apart(__name__)
