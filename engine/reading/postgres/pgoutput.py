"""The messages of PostgreSQL's plugin pgoutput, protocol version 1, as changes of rows.

    Begin  Relation  (Insert | Update | Delete | Truncate)*  Commit

Source: PostgreSQL, Logical Replication Message Formats.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

Values = Mapping[str, str | None]
"""By column, as text. A large value that an update left unchanged is not sent: its column is then missing."""
# Seconds from 1970 to 2000, the epoch of PostgreSQL's times.
_EPOCH_US: Final = 946_684_800_000_000


@dataclass(frozen=True)
class Relation:
    """A table in the form of the changes that follow. oid: its number on the server."""

    oid: int
    schema: str
    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class RowChange:
    """A change. old: the row before, or its key (`is_key`), or None. new: the row after, or None.

    is_insert: there was no row before; an update can also lack it.
    """

    relation: Relation
    old: Values | None
    new: Values | None
    is_key: bool = False
    is_insert: bool = False


@dataclass(frozen=True)
class Truncated:
    """Tables were truncated."""

    relations: tuple[Relation, ...]


@dataclass(frozen=True)
class Begin:
    """A transaction. xid: 32 bits; at_ms: the time of its commit."""

    xid: int
    at_ms: int


@dataclass(frozen=True)
class Commit:
    """The end of a transaction. lsn: the position after it."""

    lsn: int


Message = Relation | RowChange | Truncated | Begin | Commit


class Decoder:
    """Decodes messages in order: a table is described before its first change."""

    def __init__(self) -> None:
        self._relations: dict[int, Relation] = {}

    def decode(self, data: bytes) -> Message | None:
        """A message; None for one that does not concern rows."""
        reading = _Reading(data)
        match reading.char():
            case "B":
                _, at, xid = reading.unpack(">QQI")
                return Begin(xid, (at + _EPOCH_US) // 1000)
            case "C":
                _, _, lsn, _ = reading.unpack(">BQQQ")
                return Commit(lsn)
            case "R":
                (oid,) = reading.unpack(">I")
                schema, name = reading.text(), reading.text()
                _, count = reading.unpack(">BH")
                relation = Relation(oid, schema or "pg_catalog", name, tuple(reading.column() for _ in range(count)))
                self._relations[oid] = relation
                return relation
            case "I":
                relation = self._relation(reading)
                reading.char()
                return RowChange(relation, None, reading.row(relation), is_insert=True)
            case "U":
                relation = self._relation(reading)
                old, kind = None, reading.char()
                if kind in "KO":
                    old = reading.row(relation)
                    reading.char()
                return RowChange(relation, old, reading.row(relation), is_key=kind == "K")
            case "D":
                relation = self._relation(reading)
                kind = reading.char()
                return RowChange(relation, reading.row(relation), None, is_key=kind == "K")
            case "T":
                count, _ = reading.unpack(">IB")
                return Truncated(tuple(self._relation(reading) for _ in range(count)))
        return None

    def _relation(self, reading: _Reading) -> Relation:
        (oid,) = reading.unpack(">I")
        return self._relations[oid]


class _Reading:
    """Reads a message from its start."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def unpack(self, form: str) -> tuple[int, ...]:
        """Some numbers."""
        values = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return values

    def char(self) -> str:
        """One letter."""
        self._at += 1
        return chr(self._data[self._at - 1])

    def text(self) -> str:
        """A text up to its terminating zero."""
        end = self._data.index(0, self._at)
        text, self._at = self._data[self._at : end].decode(), end + 1
        return text

    def column(self) -> str:
        """The name of a column; its type is taken from the table here."""
        self.unpack(">B")
        name = self.text()
        self.unpack(">Ii")
        return name

    def row(self, relation: Relation) -> dict[str, str | None]:
        """A row, without the columns that were not sent."""
        (count,) = self.unpack(">H")
        row: dict[str, str | None] = {}
        for name in relation.columns[:count]:
            match self.char():
                case "n":
                    row[name] = None
                case "t":
                    (size,) = self.unpack(">I")
                    row[name] = self._data[self._at : self._at + size].decode(errors="replace")
                    self._at += size
        return row
