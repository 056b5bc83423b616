"""The columns of JSON Lines, inferred from a sample of the lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from engine.errors import PipelineError, SourceError
from engine.model.schema import Column
from engine.model.types import Type
from engine.reading.files.input_files import InputFile, opened, raw_lines
from engine.reading.typed.columns import check_names, column_of

ENDINGS: Final = (".jsonl", ".ndjson", ".json")

Infer = Callable[[Iterable[Any]], Type]
"""A column's type from its values."""


def columns_of(
    files: tuple[InputFile, ...],
    sample_rows: int,
    types: Mapping[str, str],
    node: str,
    rows_of: Callable[[dict[str, Any]], Sequence[Any]],
    infer: Infer,
) -> tuple[Column, ...]:
    """The columns in the sample, in the order in which the keys appear, then the columns that only `types` names.

    rows_of: the rows of an object (the object itself, or those in an envelope). infer: a column's type from its values.
    Raises PipelineError and SourceError.
    """
    by_name = {column.name: column for column in sampled_columns(files, sample_rows, node, rows_of, infer)}
    by_name |= {name: column_of(name, text, node, "types") for name, text in types.items()}
    if by_name:
        check_names(list(by_name), node, "types")
    return tuple(by_name.values())


@lru_cache(maxsize=64)
def sampled_columns(
    files: tuple[InputFile, ...],
    sample_rows: int,
    node: str,
    rows_of: Callable[[dict[str, Any]], Sequence[Any]],
    infer: Infer,
) -> tuple[Column, ...]:
    """The names in the sample and their inferred types. For the cache, a changed file is a different file."""
    columns = columns_in(objects_of(files, sample_rows, node), rows_of, infer)
    if columns:
        try:
            check_names([column.name for column in columns], node, f"keys in {files[0].name}")
        except PipelineError as error:
            raise SourceError(error.sentence, node, "path") from error
    return columns


def objects_of(files: tuple[InputFile, ...], lines: int, node: str) -> list[dict[str, Any]]:
    """The objects in the first lines of the files. Raises SourceError."""
    objects: list[dict[str, Any]] = []
    for file in files:
        if len(objects) == lines:
            break
        with opened(file, node) as stream:
            for line in islice(raw_lines(stream), lines - len(objects)):
                if (value := object_in(line)) is not None:
                    objects.append(value)
    return objects


def object_in(text: bytes) -> dict[str, Any] | None:
    """The object in a line; None for any other line, which is rejected when it is read."""
    try:
        value = json.loads(text.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def columns_in(
    objects: Iterable[dict[str, Any]],
    rows_of: Callable[[dict[str, Any]], Sequence[Any]],
    infer: Infer,
) -> tuple[Column, ...]:
    """The columns of some objects, in the order in which their keys appear."""
    rows = [row for value in objects for row in rows_of(value) if isinstance(row, dict)]
    names = dict.fromkeys(name for row in rows for name in row)
    return tuple(Column(name, infer(row.get(name) for row in rows)) for name in names)
