"""JSON Lines files: one JSON object per line; a file, a folder or a glob, in name order.

Input: UTF-8, plain or .gz/.bz2. Blank lines are skipped; a missing key is null. A key that only appears
after the sample is left out unless it is in `types`.
Output: insert-only, or with the kinds of `kind_column`, in the order of the lines. An unreadable line is rejected
with file, line and reason. Types are inferred from the first `sample_rows` lines
(`engine.reading.typed.inference`, `engine.reading.documents.shapes`).
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from engine.contract.derived import Derived
from engine.contract.scan import Scan
from engine.errors import SourceError
from engine.model.schema import Column, Schema
from engine.model.types import STRING
from engine.reading.documents.json_sample import ENDINGS, columns_of
from engine.reading.documents.json_scan import JsonReader
from engine.reading.documents.json_source import SampledJson
from engine.reading.files.source import RowFile
from engine.reading.files.storage import is_packed
from engine.reading.files.text_files import parts_of
from engine.reading.typed.typed_rows import RowTypes


class JsonLines(SampledJson, RowFile):
    """JSON Lines files."""

    operator: ClassVar[str] = "jsonl"
    title: ClassVar[str] = "JSON Lines"
    summary: ClassVar[str] = "Files with one JSON object per line."
    endings: ClassVar[tuple[str, ...]] = ENDINGS
    opens = endings
    table_format = "json"

    def derive(self, node: str, folder: Path) -> Derived:
        """Names and types from the sample, in the order in which the keys appear."""
        files = self.files(node, folder)
        columns = self.fixed(columns_of(files, self.sample_rows, self.types, node, self.rows_of, self.infer))
        if not columns:
            message = f"{self.path} has no JSON object in its first lines; write one per line, or set types."
            raise SourceError(message, node, "path")
        return self.described(node, columns)

    def scan(self, node: str, folder: Path) -> Scan:
        """Byte ranges of the files, which workers read."""
        files = self.files(node, folder)
        schema = self.derive(node, folder).schema
        kind = [] if self.kind_column is None else [Column(self.kind_column, STRING)]
        parts = parts_of(files)
        reader = JsonReader(RowTypes((*schema, *kind), self.kind_column))
        return Scan(parts, reader, is_foreign=any(is_packed(file.path) for file in files))

    def flink_sql(self, node: str, schema: Schema) -> str:
        """The filesystem connector. Flink does not keep the order of several files."""
        return self.table_sql(node, schema, {"json.ignore-parse-errors": "true", **self.watching})


SOURCE = JsonLines
