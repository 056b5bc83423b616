"""The columns of JSON Lines, from a sample of the lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from engine.errors import PipelineError, SourceError
from engine.model.schema import Column
from engine.reading.columns import check_names, declared_type
from engine.reading.files import InputFile, opened, raw_lines

ENDINGS: Final = (".jsonl", ".ndjson", ".json")


def columns_of(
    files: tuple[InputFile, ...],
    sample_rows: int,
    types: Mapping[str, str],
    node: str,
    rows_of: Callable[[dict[str, Any]], Sequence[Any]],
    infer: Callable[[Iterable[Any]], str],
) -> tuple[Column, ...]:
    """The columns in the sample, in the order in which the keys appear; what `types` names besides is one too.

    rows_of: the rows that an object holds (itself, or those in an envelope). infer: a column's type from its values.
    Raises PipelineError and SourceError.
    """
    by_name = {column.name: column for column in _sampled(files, sample_rows, node, rows_of, infer)}
    by_name |= {name: Column(name, declared_type(text, node, "types")) for name, text in types.items()}
    if by_name:
        check_names(list(by_name), node, "types")
    return tuple(by_name.values())


@lru_cache(maxsize=64)
def _sampled(
    files: tuple[InputFile, ...],
    sample_rows: int,
    node: str,
    rows_of: Callable[[dict[str, Any]], Sequence[Any]],
    infer: Callable[[Iterable[Any]], str],
) -> tuple[Column, ...]:
    """Names and inferred types. A file that has changed is another one to the cache."""
    objects: list[dict[str, Any]] = []
    for file in files:
        with opened(file, node) as stream:
            for line in islice(raw_lines(stream), sample_rows - len(objects)):
                try:
                    value = json.loads(line.decode("utf-8-sig"))
                except (
                    ValueError,
                    RecursionError,
                ):  # no JSON, no UTF-8, too deep: rejected when it is read
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
