"""Changes of PostgreSQL rows as records: the stored form, and how workers read it.

    kept      (change, place, number, kind, reason, the columns as texts)
    insert    +I                      update    -U and +U, or +U alone where changes are applied by key
    delete    -D                      update of a key, by key    -D of the old one, then +U

A change is accepted or rejected as a whole. Of a rejected one, the file is the table with the position in the server's
log (LSN), and the line is the number of the change in its transaction.
Source: Flink CDC, PostgresSource and RowDataDebeziumDeserializeSchema.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from engine.contract.frames import KIND
from engine.contract.scan import RAW_CHARS, ReadPart, Rejected
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from engine.model.schema import Column
from engine.reading.postgres.pgoutput import RowChange, Values
from engine.reading.postgres.types import in_utc
from engine.reading.servers.kept_messages import Piece, messages_in
from engine.reading.typed.typed_rows import RowTypes

if TYPE_CHECKING:
    import pyarrow as pa

_CHANGE, _PLACE, _NUMBER, _KIND, _REASON, _RAW = "change", "place", "number", "kind", "reason", "raw"
_VALUE: Final = "c{}"


class Unreadable(ValueError):
    """A change that cannot become records, with the reason."""


@dataclass
class Rows:
    """Buffered records. columns: of the table here; keys: the columns by which changes are applied, if any."""

    columns: Sequence[Column]
    keys: tuple[str, ...] = ()
    _rows: list[tuple[int, str, int, int, str | None, str | None, tuple[str | None, ...]]] = field(default_factory=list)
    _changes: int = 0

    def __len__(self) -> int:
        return len(self._rows)

    def clear(self) -> None:
        """Forget the buffered records."""
        self._rows, self._changes = [], 0

    def insert(self, place: str, before: int, rows: Sequence[tuple[str | None, ...]]) -> int:
        """Add rows of a snapshot; before: the rows already added. Returns their new number."""
        for number, values in enumerate(rows, before + 1):
            self._add(place, number, [(INSERT, values)])
        return before + len(rows)

    def add(self, change: RowChange, place: str, number: int) -> None:
        """Add a change."""
        try:
            self._add(place, number, self._records(change))
        except Unreadable as error:
            row = {**(change.old or {}), **(change.new or {})}
            raw = json.dumps(row, ensure_ascii=False)[:RAW_CHARS]
            self._rows.append((self._changes, place, number, INSERT, str(error), raw, (None,) * len(self.columns)))
            self._changes += 1

    def taken(self) -> pa.RecordBatch:
        """Return the buffered records, and start a new buffer."""
        import pyarrow as pa

        heads = list(zip(*(row[:6] for row in self._rows), strict=True)) or [()] * 6
        values = list(zip(*(row[6] for row in self._rows), strict=True)) or [()] * len(self.columns)
        types = [pa.int64(), pa.string(), pa.int64(), pa.int8(), pa.string(), pa.string()]
        arrays = [pa.array(head, type_) for head, type_ in zip(heads, types, strict=True)]
        arrays += [
            pa.array([in_utc(text, column.type.is_instant) for text in texts], pa.string())
            for texts, column in zip(values, self.columns, strict=True)
        ]
        names = [_CHANGE, _PLACE, _NUMBER, _KIND, _REASON, _RAW, *(_VALUE.format(at) for at in range(len(values)))]
        self.clear()
        return pa.RecordBatch.from_arrays(arrays, names=names)

    def _add(self, place: str, number: int, records: Sequence[tuple[int, tuple[str | None, ...]]]) -> None:
        self._rows += [(self._changes, place, number, kind, None, None, values) for kind, values in records]
        self._changes += 1

    def _records(self, change: RowChange) -> list[tuple[int, tuple[str | None, ...]]]:
        old, new = change.old, change.new
        if new is not None and old is None and not self.keys and not change.is_insert:
            raise Unreadable(_NO_ROW_BEFORE.format("update", change.relation.name))
        if old is None:
            assert new is not None, "a change has a row"
            return [(INSERT if change.is_insert else UPDATE_AFTER, self._values(new))]
        if change.is_key and not self.keys:
            raise Unreadable(_NO_ROW_BEFORE.format("delete" if new is None else "update", change.relation.name))
        if new is None:
            return [(DELETE, self._key(old) if self.keys else self._values(old))]
        whole = new if change.is_key else {**old, **new}
        if not self.keys:
            return [(UPDATE_BEFORE, self._values(old)), (UPDATE_AFTER, self._values(whole))]
        moved = any(old.get(name) != whole.get(name) for name in self.keys)
        return [*([(DELETE, self._key(old))] if moved else []), (UPDATE_AFTER, self._values(whole))]

    def _values(self, row: Values) -> tuple[str | None, ...]:
        for column in self.columns:
            if column.name not in row:
                message = (
                    f"column {column.name!r}: the update left it as it is, so that PostgreSQL does not send it, or the "
                    "table has no such column any more; ALTER TABLE ... REPLICA IDENTITY FULL makes it send all"
                )
                raise Unreadable(message)
        return tuple(row[column.name] for column in self.columns)

    def _key(self, row: Values) -> tuple[str | None, ...]:
        """The key of a deleted row, which is always known; the other columns are null."""
        if missing := [name for name in self.keys if name not in row]:
            message = f"the change has no {missing[0]!r}, a column of the primary key"
            raise Unreadable(message)
        return tuple(row.get(column.name) for column in self.columns)


_NO_ROW_BEFORE: Final = (
    "the {} has no row before it; ALTER TABLE {} REPLICA IDENTITY FULL, so that PostgreSQL sends it, or let changes go "
    "by the key"
)


@dataclass(frozen=True)
class ChangeReader:
    """Reads a piece. rows: the columns, with their types."""

    rows: RowTypes

    def __call__(self, piece: Piece) -> Iterator[ReadPart]:
        """Its records and rejected changes."""
        import pyarrow as pa

        messages = messages_in(piece)
        heads = {name: messages.column(name).to_pylist() for name in (_CHANGE, _PLACE, _NUMBER, _REASON, _RAW)}
        texts = [messages.column(_VALUE.format(at)) for at in range(len(self.rows.columns))]
        columns, reasons = self.rows.judged(texts)
        lost: dict[int, tuple[int, str, str]] = {}
        for at, why in enumerate(heads[_REASON]):
            if why is not None:
                lost.setdefault(heads[_CHANGE][at], (at, why, heads[_RAW][at]))
        for at in sorted(reasons):
            raw = json.dumps({c.name: text[at].as_py() for c, text in zip(self.rows.columns, texts, strict=True)})
            lost.setdefault(heads[_CHANGE][at], (at, reasons[at], raw))
        batch = self.rows.batch({KIND: messages.column(_KIND), **columns})
        is_record = np.array([change not in lost for change in heads[_CHANGE]], np.bool_)
        files = [f"{piece.name}, {place}" for place in heads[_PLACE]]
        rejected = [
            Rejected(files[at], heads[_NUMBER][at], raw[:RAW_CHARS], why) for at, why, raw in sorted(lost.values())
        ]
        places = np.flatnonzero(is_record).tolist()
        yield ReadPart(
            batch.filter(pa.array(is_record, pa.bool_())),
            piece.name,
            [heads[_NUMBER][at] for at in places],
            rejected,
            files=[files[at] for at in places],
        )
