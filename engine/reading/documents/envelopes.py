"""The base of the change data sources: JSON lines, each an envelope around the changed rows.

One line can yield several records, in order: an update is -U and then +U, each a separate event. A line is accepted
or rejected as a whole: if one of its rows does not fit, -U without +U would corrupt every sum downstream.
Lines that contain only `null` are tombstones and are skipped, as Flink skips empty messages.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from engine.contract.derived import Derived
from engine.contract.scan import Scan
from engine.errors import SourceError
from engine.model.schema import Schema
from engine.reading.documents.json_sample import ENDINGS, columns_of
from engine.reading.documents.json_scan import EnvelopeReader
from engine.reading.documents.json_source import SampledJson
from engine.reading.documents.nested import text_of
from engine.reading.files.storage import is_packed
from engine.reading.files.text_files import parts_of
from engine.reading.flink_table import create_table
from engine.reading.typed.columns import derive_source
from engine.reading.typed.typed_rows import RowTypes

_SAID_CHARS: Final = 40

Change = tuple[int, dict[str, Any]]
"""A kind and its row; the values of the row's fields are JSON."""


class EnvelopeFile(SampledJson):
    """A source over files of envelopes, one per line."""

    endings: ClassVar[tuple[str, ...]] = ENDINGS

    @staticmethod
    @abstractmethod
    def rows_of(envelope: dict[str, Any]) -> Sequence[Any]:
        """The rows in an envelope of the sample."""

    @staticmethod
    @abstractmethod
    def changes_of(envelope: dict[str, Any]) -> Sequence[Change]:
        """The records of an envelope. Raises NoChange."""

    def derive(self, node: str, folder: Path) -> Derived:
        """Names and types from the rows in the sample, plus the columns that only `types` names."""
        files = self.files(node, folder)
        columns = self.fixed(columns_of(files, self.sample_rows, self.types, node, self.rows_of, self.infer))
        if not columns:
            message = f"{self.path} has no {self.title} with a row in its first lines; check the format, or set types."
            raise SourceError(message, node, "path")
        return derive_source(self, node, columns, self.primary_key, changelog=True)

    def scan(self, node: str, folder: Path) -> Scan:
        """Byte ranges of the files, for the workers to read."""
        files = self.files(node, folder)
        reader = EnvelopeReader(RowTypes(self.derive(node, folder).schema.columns), self.changes_of)
        return Scan(parts_of(files), reader, is_foreign=any(is_packed(file.path) for file in files))

    def flink_sql(self, node: str, schema: Schema) -> str:
        """The filesystem connector with Flink's format for these envelopes."""
        options = {
            "connector": "filesystem",
            "path": self.path,
            "format": self.table_format,
            f"{self.table_format}.ignore-parse-errors": "true",
            **self.watching,
        }
        return create_table(node, schema, self, options, self.primary_key)


def unknown(field: str, value: Any, known: Sequence[str]) -> str:
    """The reason to reject an envelope whose kind of change is missing or unknown."""
    listed = f"{', '.join(known[:-1])} or {known[-1]}"
    text = text_of(value)
    if text is None:
        return f'the line has no "{field}" ({listed}); is it another format?'
    return f'"{field}" is "{text[:_SAID_CHARS]}", not {listed}'
