"""JSON Lines files: one JSON object per line; a file, a folder or a glob, in name order.

Input: UTF-8, plain or .gz/.bz2. Blank lines are skipped; a missing key is null. A key that only appears
after the sample is left out unless `types` names it.
Output: insert-only, or what `kind_column` says, in the order of the lines. A line that cannot be read
is rejected with file, line and reason. Types are inferred from the first `sample_rows` lines
(`engine.reading.inference`).
"""

from __future__ import annotations

import json
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pydantic import Field

from engine.errors import PipelineError, SourceError
from engine.operator import Derived, SourceFrames
from engine.reading.columns import check_names, declared_type
from engine.reading.file_source import RowFile
from engine.reading.files import InputFile, find_files, opened
from engine.reading.inference import infer_json
from engine.reading.lines import PARSED, TEXT, read_lines
from engine.reading.texts import written
from engine.schema import Column, Schema, quote

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import SparkSession

_ENDINGS: Final = (".jsonl", ".ndjson", ".json")


class JsonLines(RowFile):
    """JSON Lines files."""

    operator: ClassVar[str] = "jsonl"
    title: ClassVar[str] = "JSON Lines"
    summary: ClassVar[str] = "Files with one JSON object per line."

    sample_rows: int = Field(
        1000, ge=1, le=100_000, title="Rows for types", description="So many rows are looked at to infer the types."
    )

    def derive(self, node: str, folder: Path) -> Derived:
        """Names and types from the sample, in the order in which the keys appear."""
        files = find_files(self.path, folder, node, _ENDINGS)
        stamps = tuple(file.stamp for file in files)
        found = {column.name: column for column in _sampled(files, stamps, self.sample_rows, node)}
        for name, text in self.types.items():
            found[name] = Column(name, declared_type(text, node, "types"))
        if not found:
            message = f"{files[0].name} has no JSON object in its first lines; write one per line, or set types."
            raise SourceError(message, node, "path")
        check_names(list(found), node, "types")
        return self.described(node, tuple(found.values()))

    def read(self, spark: SparkSession, node: str, folder: Path) -> SourceFrames:
        """The lines as typed records, and those that cannot be read."""
        from pyspark.sql import functions as F

        schema = self.derive(node, folder).schema
        files = find_files(self.path, folder, node, _ENDINGS)
        columns = [*schema, *([] if self.kind_column is None else [Column(self.kind_column, "string")])]
        layout = ", ".join(f"{quote(column.name)}: STRING" for column in columns)
        # Spark's parser stops after the first object; between brackets what follows it is seen.
        parsed = F.from_json(F.concat(F.lit("["), "value", F.lit("]")), f"ARRAY<STRUCT<{layout}>>")
        rows = read_lines(spark, files, parsed).where(F.trim(TEXT) != "")
        first = F.get(PARSED, 0)
        fields = {column.name: written(first.getField(column.name), column.type) for column in columns}
        return self.typed(rows, schema, fields, _broken())

    def flink_sql(self, node: str, schema: Schema) -> str:
        """The filesystem connector. Flink does not keep the order of several files."""
        return self.table(node, schema, {"format": "json", "json.ignore-parse-errors": "true"})


def _broken() -> SparkColumn:
    """Why a line as a whole cannot be read."""
    from pyspark.sql import functions as F

    text, parsed = F.col(TEXT), F.col(PARSED)
    return F.coalesce(
        F.when(~F.is_valid_utf8(text), F.lit("the line is not UTF-8; save the file as UTF-8")),
        F.when(~F.ltrim(text).startswith("{"), F.lit("the line is not a JSON object")),
        F.when(parsed.isNull() | F.get(parsed, F.lit(0)).isNull(), F.lit("the line is broken JSON")),
        F.when(F.size(parsed) > 1, F.lit("the line has more than one JSON object")),
    )


@lru_cache(maxsize=64)
def _sampled(
    files: tuple[InputFile, ...], stamps: tuple[tuple[str, int, int], ...], sample_rows: int, node: str
) -> tuple[Column, ...]:
    """Names and inferred types. The stamps are for the cache: a changed file is looked at again."""
    objects: list[dict[str, Any]] = []
    for file in files:
        with opened(file, node) as stream:
            for line in islice(stream, sample_rows - len(objects)):
                try:
                    value = json.loads(line.decode("utf-8-sig"))
                except ValueError:  # broken JSON or no UTF-8: rejected when it is read
                    continue
                if isinstance(value, dict):
                    objects.append(value)
    names = list(dict.fromkeys(name for each in objects for name in each))
    if names:
        try:
            check_names(names, node, f"keys in {files[0].name}")
        except PipelineError as error:
            raise SourceError(error.sentence, node, "path") from error
    return tuple(Column(name, infer_json(each.get(name) for each in objects)) for name in names)


SOURCE = JsonLines
