"""Gathers the values of rows in Avro into typed columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from engine.contract.frames import KIND
from engine.reading.avro.resolution import Unreadable
from engine.reading.avro.types import value_of
from engine.reading.typed.typed_rows import RowTypes

Changes = Sequence[tuple[int, dict[str, Any]]]
"""Kinds and their rows."""


class Read(NamedTuple):
    """What some values are: their records, by record the index of its value, and the reasons of rejected values."""

    records: pa.RecordBatch
    owners: list[int]
    reasons: dict[int, str]


@dataclass
class Gathering:
    """Rows of these columns. has_kinds: whether each comes with its kind. reasons: by value, why it is rejected."""

    rows: RowTypes
    has_kinds: bool = False
    reasons: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._made = [(column.name, value_of(column.type)) for column in self.rows.columns]
        self._columns: list[list[Any]] = [[] for _ in self._made]
        self._kinds: list[int] = []
        self._owners: list[int] = []

    def add(self, at: int, changes: Changes) -> None:
        """The rows of a value: all of them, or none. Raises Unreadable."""
        rows = [self._row(row) for _, row in changes]
        for (kind, _), row in zip(changes, rows, strict=True):
            self._kinds.append(kind)
            self._owners.append(at)
            for held, item in zip(self._columns, row, strict=True):
                held.append(item)

    def _row(self, row: dict[str, Any]) -> list[Any]:
        values = []
        for name, make in self._made:
            try:
                values.append(make(row[name]))
            except Unreadable as error:
                message = f"column {name!r}: {error}"
                raise Unreadable(message) from error
        return values

    def read(self) -> Read:
        """The records."""
        columns = self.rows.columns
        arrays = [pa.array(held, column.type.arrow) for column, held in zip(columns, self._columns, strict=True)]
        typed, misfits = self.rows.checked(list(zip(arrays, arrays, strict=True)), {})
        for place, why in misfits.items():
            self.reasons.setdefault(self._owners[place], why)
        batch = self.rows.batch({**({KIND: pa.array(self._kinds, pa.int8())} if self.has_kinds else {}), **typed})
        owners = self._owners
        if self.reasons and not self.reasons.keys().isdisjoint(owners):
            batch = batch.filter(pa.array([at not in self.reasons for at in owners], pa.bool_()))
            owners = [at for at in owners if at not in self.reasons]
        return Read(batch, owners, self.reasons)
