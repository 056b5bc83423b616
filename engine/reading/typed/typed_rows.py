"""Columns of texts as records: every value in its column's type, and the reasons for rejected rows.

The kind is checked first, then the columns in order; the first reason counts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.contract.frames import KIND
from engine.contract.scan import milliseconds
from engine.model.schema import Column
from engine.reading.documents.document_values import MAX_EVENT_TIME_MS, MIN_EVENT_TIME_MS, OUT_OF_RANGE, with_article
from engine.reading.typed.casts import cast_texts, cut_of, unfit_inside
from engine.reading.typed.kinds import kinds_of, unknown_kind

_VALUE_CHARS: Final = 100


@dataclass(frozen=True)
class RowTypes:
    """The columns of a row, with their types; kind_column: the column with the row's kind."""

    columns: tuple[Column, ...]
    kind_column: str | None = None

    @property
    def payload(self) -> tuple[Column, ...]:
        """The columns of a record."""
        return tuple(column for column in self.columns if column.name != self.kind_column)

    def batch(self, columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
        """Records of these columns, including KIND if records have one."""
        fields = [pa.field(KIND, pa.int8())] if KIND in columns else []
        fields += [pa.field(column.name, column.type.arrow) for column in self.payload]
        arrays = [columns[item.name].cast(item.type) for item in fields]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))

    def judged(self, texts: Sequence[pa.Array]) -> tuple[dict[str, pa.Array], dict[int, str]]:
        """The columns in their types, and the rejection reasons by row index. texts: by column."""
        pairs = zip(self.columns, texts, strict=True)
        return self.checked([(cast_texts(held, column.type), held) for column, held in pairs], {})

    def checked(
        self, held: Sequence[tuple[pa.Array, pa.Array]], reasons: dict[int, str]
    ) -> tuple[dict[str, pa.Array], dict[int, str]]:
        """The columns, and the rejection reasons. held: by column, the values in its type, and before they had it.

        reasons: known ones, which count before those of the columns.
        """
        reasons = dict(reasons)
        typed_columns: dict[str, pa.Array] = {}
        for column, (values, before) in sorted(
            zip(self.columns, held, strict=True), key=lambda pair: pair[0].name != self.kind_column
        ):
            if column.name == self.kind_column:
                typed_columns[KIND] = kinds = kinds_of(before)
                for at in _places(pc.is_null(kinds)):
                    reasons.setdefault(at, unknown_kind(column.name, before[at].as_py()))
                continue
            typed_columns[column.name] = values
            if all_fit(values, before, column):
                continue
            for at in _places(_misfits(values, before, column)):
                if at not in reasons:
                    reasons[at] = _misfit(column, before[at].as_py(), values[at].is_valid)
        return typed_columns, reasons

    def cut(self, texts: Sequence[pa.Array], lost: Collection[int] = ()) -> dict[str, int]:
        """By column, how many values lose digits beyond microseconds. lost: the indexes of rows that are no records."""
        masks = ((column.name, cut_of(held, column.type)) for column, held in zip(self.columns, texts, strict=True))
        counts = {name: sum(at not in lost for at in _places(mask)) for name, mask in masks if mask is not None}
        return {name: count for name, count in counts.items() if count}

    def misfits(self, columns: Mapping[str, pa.Array]) -> dict[int, str]:
        """The rejection reasons by row index, for columns already in their types."""
        values = [columns[column.name] for column in self.columns]
        return self.checked(list(zip(values, values, strict=True)), {})[1]


def all_fit(values: pa.Array, texts: pa.Array, column: Column) -> bool:
    """Whether a column causes no rejection."""
    if values.null_count != texts.null_count:
        return False
    return column.time is None or not pc.any(_misfits(values, texts, column)).as_py()


def records_of(batch: pa.RecordBatch, lines: Sequence[int], lost: set[int]) -> tuple[pa.RecordBatch, list[int]]:
    """The rows that are records, and their lines. lost: the indexes of the other rows."""
    if not lost:
        return batch, list(lines)
    is_record = [at not in lost for at in range(len(lines))]
    return batch.filter(pa.array(is_record, pa.bool_())), list(compress(lines, is_record))


def _misfits(values: pa.Array, texts: pa.Array, column: Column) -> pa.Array:
    """The rows that a column rejects."""
    unfit = pc.and_(pc.is_valid(texts), pc.is_null(values))
    if column.time is None:
        return unfit
    try:
        ms = milliseconds(values, column)
    except pa.ArrowInvalid:
        factor = 1000
        scaled = [None if value is None else value * factor for value in values.to_pylist()]
        ms = pa.array([None if at is None or abs(at) >= 1 << 63 else at for at in scaled], pa.int64())
    inside = pc.and_(pc.greater_equal(ms, MIN_EVENT_TIME_MS), pc.less_equal(ms, MAX_EVENT_TIME_MS))
    return pc.invert(pc.fill_null(inside, False))


def _places(mask: pa.Array) -> list[int]:
    places: list[int] = np.flatnonzero(pc.fill_null(mask, False).to_numpy(zero_copy_only=False)).tolist()
    return places


def _misfit(column: Column, value: Any, fits: bool) -> str:
    if value is None:
        return f"column {column.name!r}: the event time is null"
    inside = None if fits or not column.type.is_nested else unfit_inside(str(value), column.type)
    if inside is not None:
        return f'column {column.name!r}, {inside.place}: "{str(inside.value)[:_VALUE_CHARS]}" {inside}'
    what = OUT_OF_RANGE if fits else f"is not {with_article(column.type)}"
    return f'column {column.name!r}: "{str(value)[:_VALUE_CHARS]}" {what}'
