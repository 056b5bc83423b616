"""Findings about the columns of JSON Lines, and about the times in them, as of CSV; also about times inside of ROWs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from engine.contract.source import ComputedColumn
from engine.model.free_names import free_id
from engine.model.schema import Column
from engine.model.types import Row, Type, quote
from engine.reading.documents.json_sample import Infer, objects_of, sampled_columns
from engine.reading.files.input_files import InputFile
from engine.reading.typed.profile import ROWS, ColumnProfile, TimeProposal, profile_columns


@lru_cache(maxsize=32)
def json_profile(
    files: tuple[InputFile, ...],
    sample_rows: int,
    node: str,
    rows_of: Callable[[dict[str, Any]], Sequence[Any]],
    infer: Infer,
) -> tuple[tuple[ColumnProfile, ...], tuple[TimeProposal, ...]]:
    """The columns of JSON Lines, and proposals for the event time. Raises SourceError."""
    columns = sampled_columns(files, sample_rows, node, rows_of, infer)
    rows = [row for value in objects_of(files, ROWS, node) for row in rows_of(value) if isinstance(row, dict)]
    texts = [[_text(row.get(column.name)) for row in rows] for column in columns]
    taken = [column.name for column in columns]
    inside, computed = [], {}
    for column in columns:
        for place, type_ in _fields(column.type, (column.name,)):
            path = ".".join(place)
            inside.append(Column(path, type_))
            texts.append([_text(_at(row, place)) for row in rows])
            name = free_id(place[-1] if place[-1] not in taken else "_".join(place), taken)
            computed[path] = ComputedColumn(name=name, expression=".".join(map(quote, place)))
    return profile_columns((*columns, *inside), texts, {}, computed)


def _fields(type_: Type, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Type]]:
    """The fields inside of a ROW, at any depth, that have no parts."""
    for name, field_type in type_.fields if isinstance(type_, Row) else ():
        if not field_type.is_nested:
            yield (*place, name), field_type
        yield from _fields(field_type, (*place, name))


def _at(row: dict[str, Any], place: Sequence[str]) -> Any:
    value: Any = row
    for name in place:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _text(value: Any) -> str | None:
    return value if isinstance(value, str | None) else json.dumps(value, ensure_ascii=False)
