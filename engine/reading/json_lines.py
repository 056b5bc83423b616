"""JSON Lines as Spark reads them, and as a sample shows them: one object per line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from engine.errors import PipelineError, SourceError
from engine.frames import PARSED, TEXT
from engine.reading.columns import check_names
from engine.reading.files import InputFile, opened
from engine.reading.lines import read_lines
from engine.schema import Column

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

ENDINGS: Final = (".jsonl", ".ndjson", ".json")


def read_objects(spark: SparkSession, files: Sequence[InputFile], layout: str) -> DataFrame:
    """The numbered lines that are not blank, each with its objects in PARSED. layout: the fields of an object, as DDL.

    Spark's parser stops after the first object; between brackets what follows it is seen.
    """
    from pyspark.sql import functions as F

    parsed = F.from_json(F.concat(F.lit("["), "value", F.lit("]")), f"ARRAY<STRUCT<{layout}>>")
    return read_lines(spark, files, parsed).where(F.trim(TEXT) != "")


def broken_line() -> SparkColumn:
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
def sampled(
    files: tuple[InputFile, ...],
    stamps: tuple[tuple[str, int, int], ...],
    sample_rows: int,
    node: str,
    rows_of: Callable[[dict[str, Any]], Sequence[Any]],
    infer: Callable[[Iterable[Any]], str],
) -> tuple[Column, ...]:
    """Names and inferred types. The stamps are for the cache: a changed file is looked at again.

    rows_of: the rows that an object holds (itself, or those in an envelope). infer: a column's type from its values.
    """
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
    rows = [row for value in objects for row in rows_of(value) if isinstance(row, dict)]
    names = list(dict.fromkeys(name for row in rows for name in row))
    if names:
        try:
            check_names(names, node, f"keys in {files[0].name}")
        except PipelineError as error:
            raise SourceError(error.sentence, node, "path") from error
    return tuple(Column(name, infer(row.get(name) for row in rows)) for name in names)
