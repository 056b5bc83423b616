"""The connection to PostgreSQL: queries on a table and on a replication slot; errors as sentences.

The slot is read with SQL: `pg_logical_slot_peek_binary_changes` returns the same changes again until
`pg_replication_slot_advance` acknowledges that they are stored.
"""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from engine.errors import SourceError
from engine.model.schema import Column
from engine.model.types import STRING, Type, literal
from engine.reading.postgres.types import TYPES, in_utc
from engine.reading.servers.address import Address
from engine.reading.servers.database_server import Gone
from engine.reading.servers.secrets import hidden

if TYPE_CHECKING:
    from psycopg import Connection

_ANSWER_S: Final = 10
_ROWS: Final = 20_000
# The comments of publications that a run created begin with this.
OURS: Final = "changelog studio"
# A table with its partitions, or with the tables that inherit from it; by its number, and by its name if that is
# another table by now.
_FAMILY: Final = (
    "WITH RECURSIVE family(oid) AS (SELECT unnest(ARRAY[%s::oid, to_regclass(%s)::oid]) UNION SELECT inhrelid FROM "
    "pg_inherits JOIN family ON inhparent = family.oid) "
)


class Snapshot(NamedTuple):
    """The transactions visible to a reader: those below `limit`, except the open ones.

    until: no transaction that the log commits after this LSN is visible. The numbers of transactions come back.
    """

    limit: int
    open: tuple[int, ...]
    until: int

    def sees(self, xid: int, commit: int) -> bool:
        """Whether a transaction is visible, given the low 32 bits of its number and the LSN of its commit."""
        if commit > self.until:
            return False
        near = (xid - self.limit + (1 << 31)) % (1 << 32) - (1 << 31)
        return near < 0 and self.limit + near not in self.open


class Database:
    """A connection. Raises SourceError for permanent errors, Gone for transient ones."""

    def __init__(self, address: Address, node: str, seconds: float | None = None) -> None:
        import psycopg

        self.address = address
        self._node = node
        self._oid: int | None = None
        # The timeout of an answer, if a user waits for it.
        patience = "" if seconds is None else f" -c statement_timeout={seconds * 1000:.0f}"
        self._password = address.secret(node)
        with self._said():
            self._connection: Connection[Any] = psycopg.connect(
                host=address.host,
                port=address.port,
                dbname=address.database,
                user=address.user,
                password=self._password or None,
                connect_timeout=_ANSWER_S,
                autocommit=True,
                application_name="changelog-studio",
                options="-c TimeZone=UTC -c DateStyle=ISO -c IntervalStyle=postgres -c extra_float_digits=3" + patience,
            )

        # Called explicitly, or when this object is garbage collected.
        self.close = weakref.finalize(self, self._connection.close)

    def columns(self) -> list[str]:
        """The columns of the table. Raises SourceError if there is no such table."""
        rows = self._ask(
            "SELECT attname, attrelid::bigint FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attnum > 0 AND "
            "NOT attisdropped ORDER BY attnum",
            [self._table],
        )
        if not rows:
            message = (
                f"there is no table {self.address.table_name} in {self.address.name}, or "
                f"{self.address.user} may not see it."
            )
            raise SourceError(message, self._node, "table")
        self._oid = int(rows[0][1])
        return [row[0] for row in rows]

    def described(self) -> list[tuple[str, Type, bool]]:
        """The columns of the table: name, type here, whether it is part of the primary key."""
        self.columns()
        rows = self._ask(
            "SELECT attname, format_type(atttypid, atttypmod), EXISTS (SELECT 1 FROM pg_index i WHERE i.indisprimary "
            "AND i.indrelid = attrelid AND attnum = ANY(i.indkey)) FROM pg_attribute WHERE attrelid = to_regclass(%s) "
            "AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
            [self._table],
        )
        return [(str(name), TYPES.type_of(str(type_)), bool(is_key)) for name, type_, is_key in rows]

    def count(self) -> int | None:
        """About how many rows the table or view has, as the server plans with it."""
        [(plan,)] = self._ask(f"EXPLAIN (FORMAT JSON) SELECT * FROM {self._table}")
        return int(plan[0]["Plan"]["Plan Rows"])

    def has_whole_rows(self) -> bool:
        """Whether changes carry the whole row before them (REPLICA IDENTITY FULL)."""
        rows = self._ask("SELECT relreplident FROM pg_class WHERE oid = to_regclass(%s)", [self._table])
        return [_text(row[0]) for row in rows] == ["f"]

    def check_level(self) -> None:
        """Raise SourceError if the server's wal_level is too low."""
        [(level,)] = self._ask("SHOW wal_level")
        if level != "logical":
            message = (
                f"the server {self.address.name} has wal_level = {level}, so that changes cannot be read. Set "
                "wal_level = logical in postgresql.conf and restart the server."
            )
            raise SourceError(message, self._node)

    def prepare(self, slot: str, owner: str) -> bool:
        """Create the slot and its publication if they do not exist. Returns whether another run had the slot.

        The publication is created first: a slot only sees earlier objects, so its owner is known even after a crash.
        """
        slots = self._ask("SELECT plugin, database FROM pg_replication_slots WHERE slot_name = %s", [slot])
        if slots and slots[0] != ("pgoutput", self.address.database):
            message = (
                f"slot: the replication slot {slot} already exists, for {slots[0][1]} with {slots[0][0]}. Choose "
                "another name."
            )
            raise SourceError(message, self._node, "slot")
        said = self._comments(slot)
        before = _owner_in(said, slot)
        with self._said(), self._connection.transaction():
            # A publication without the comment is the user's.
            owned = slot
            if slot not in said:
                self._ask(f"CREATE PUBLICATION {quoted(slot)} FOR TABLE {self._table}")
            elif _is_ours(said[slot]):
                if not self.is_published(slot):
                    self._ask(f"ALTER PUBLICATION {quoted(slot)} SET TABLE {self._table}")
            elif self.is_published(slot):
                owned = _mark_of(slot)
                if owned not in said:
                    self._ask(f"CREATE PUBLICATION {quoted(owned)}")
            else:
                message = (
                    f"slot: the publication {slot} already exists, without {self.address.table_name}. Add the table "
                    "to it, or choose another name."
                )
                raise SourceError(message, self._node, "slot")
            self._ask(f"COMMENT ON PUBLICATION {quoted(owned)} IS {literal(f'{OURS} {owner}')}")
        if not slots:
            self._ask("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [slot])
        return bool(before) and before != owner and bool(slots)

    def owner(self, slot: str) -> str:
        """The run that owns the slot."""
        return _owner_in(self._comments(slot), slot)

    def owned(self, slot: str) -> list[str]:
        """The publications of this slot that a run created: one of its name, or an empty one beside the user's."""
        return _owned_in(self._comments(slot), slot)

    def belongs(self, relation: int, slot: str) -> bool:
        """Whether changes of a relation are changes of the table: of itself, a partition or an inheriting table.

        A relation that was dropped meanwhile belongs if only the table was ever published.
        """
        [(is_member, is_there)] = self._ask(
            f"{_FAMILY} SELECT EXISTS (SELECT 1 FROM family WHERE oid = %s), EXISTS (SELECT 1 FROM pg_class WHERE "
            "oid = %s)",
            [self._relation, self._table, relation, relation],
        )
        return bool(is_member) or not (is_there or slot not in self.owned(slot))

    def members(self) -> frozenset[int]:
        """The numbers of the table, its partitions and the tables that inherit from it, as far as they exist."""
        rows = self._ask(
            f"{_FAMILY} SELECT oid::bigint FROM family JOIN pg_class USING (oid)", [self._relation, self._table]
        )
        return frozenset(int(oid) for (oid,) in rows)

    def is_published(self, publication: str) -> bool:
        """Whether a publication contains the table, itself or with all its partitions."""
        [(is_whole,)] = self._ask(
            f"{_FAMILY}, published AS (SELECT c.oid FROM pg_publication_tables t JOIN pg_namespace n ON "
            "n.nspname = t.schemaname JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = t.tablename WHERE "
            "t.pubname = %s) SELECT to_regclass(%s)::oid IN (SELECT oid FROM published) OR NOT EXISTS (SELECT 1 FROM "
            "family JOIN pg_class USING (oid) WHERE relkind = 'r' AND oid NOT IN (SELECT oid FROM published)) AND "
            "EXISTS (SELECT 1 FROM family JOIN published USING (oid))",
            [self._relation, self._table, publication, self._table],
        )
        return bool(is_whole)

    def is_there(self, slot: str) -> bool:
        """Whether the slot exists, with the log that it needs."""
        rows = self._ask("SELECT wal_status FROM pg_replication_slots WHERE slot_name = %s", [slot])
        return bool(rows) and rows[0][0] != "lost"

    def rows(
        self, columns: Sequence[str], most: int | None = None, *, is_followed: bool = False
    ) -> Iterator[tuple[Snapshot, list[tuple[Any, ...]]]]:
        """The table's rows as texts, from one snapshot, with that snapshot; the first batch is an empty list.

        is_followed: changes follow. Only then the snapshot has its LSN, which a standby refuses to tell.
        """
        limit = "" if most is None else f" LIMIT {most}"
        names = ", ".join(f"{quoted(name)}::text" for name in columns)
        with self._said(), self._connection.transaction():
            self._connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            # The snapshot is taken before the position is read: what it sees has been committed by then.
            lsn = "(pg_current_wal_insert_lsn() - '0/0')::bigint" if is_followed else "0"
            [(text, until)] = self._connection.execute(f"SELECT pg_current_snapshot()::text, {lsn}").fetchall()
            _, limit_xid, opened = text.split(":")
            seen = Snapshot(int(limit_xid), tuple(map(int, filter(None, opened.split(",")))), int(until))
            yield seen, []
            with self._connection.cursor(name="changelog_studio") as cursor:
                cursor.execute(f"SELECT {names} FROM {self._table}{limit}")
                while rows := cursor.fetchmany(_ROWS):
                    yield seen, rows

    def ordered(
        self, columns: Sequence[Column], order: Sequence[Column], most: int | None
    ) -> Iterator[Sequence[tuple[str | None, ...]]]:
        """Rows as texts, an instant in UTC without its zone; all from one snapshot. most: the limit on rows."""
        wanted = ", ".join(f"{quoted(column.name)}::text" for column in columns)
        texts = {True: '::text COLLATE "C"', False: ""}
        by = ", ".join(f"{quoted(key.name)}{texts[key.type == STRING]} NULLS FIRST" for key in order)
        instants = [column.type.is_instant for column in columns]
        with self._said(), self._connection.transaction():
            self._connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            with self._connection.cursor(name="changelog_studio") as cursor:
                limit = "" if most is None else f" LIMIT {most}"
                cursor.execute(f"SELECT {wanted} FROM {self._table} ORDER BY {by}{limit}")
                while rows := cursor.fetchmany(_ROWS):
                    yield [tuple(map(in_utc, row, instants)) for row in rows]

    def changes(self, slot: str, most: int | None) -> Iterator[tuple[str, bytes]]:
        """The unacknowledged messages, each with its LSN; whole transactions, about this many.

        They wait on the server, and come in batches.
        """
        with self._said(), self._connection.transaction(), self._connection.cursor(name="changelog_studio") as cursor:
            cursor.execute(
                "SELECT lsn::text, data FROM pg_logical_slot_peek_binary_changes(%s, NULL, %s, 'proto_version', '1', "
                "'publication_names', %s)",
                [slot, most, slot],
            )
            while rows := cursor.fetchmany(_ROWS):
                for lsn, data in rows:
                    yield str(lsn), bytes(data)

    def acknowledge(self, slot: str, lsn: int) -> None:
        """Acknowledge the changes up to this LSN."""
        self._ask(
            "SELECT pg_replication_slot_advance(slot_name, %s::pg_lsn) FROM pg_replication_slots WHERE slot_name = %s "
            "AND confirmed_flush_lsn < %s::pg_lsn",
            [text_of_lsn(lsn), slot, text_of_lsn(lsn)],
        )

    def end_of_log(self) -> int:
        """The end of the log."""
        [(lsn,)] = self._ask("SELECT (pg_current_wal_flush_lsn() - '0/0')::bigint")
        return int(lsn)

    def drop(self, slot: str) -> None:
        """Remove the slot, and the publications that were created for it."""
        self._ask("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s", [slot])
        for name in self.owned(slot):
            self._ask(f"DROP PUBLICATION IF EXISTS {quoted(name)}")

    def _comments(self, slot: str) -> dict[str, str]:
        """The comments of the slot's publications that exist."""
        rows = self._ask(
            "SELECT pubname, obj_description(oid, 'pg_publication') FROM pg_publication WHERE pubname IN (%s, %s)",
            [slot, _mark_of(slot)],
        )
        return {str(name): str(comment or "") for name, comment in rows}

    @property
    def _relation(self) -> int:
        """The number of the table, which stays when the table is renamed."""
        if self._oid is None:
            self.columns()
        assert self._oid is not None
        return self._oid

    @property
    def _table(self) -> str:
        return f"{quoted(self.address.schema)}.{quoted(self.address.table)}"

    def _ask(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._said():
            cursor = self._connection.execute(sql, values or None)
            return cursor.fetchall() if cursor.description is not None else []

    def _said(self) -> _Sentences:
        return _Sentences(self.address, self._node, self._password)


@dataclass(frozen=True)
class _Sentences:
    """Inside this block, errors of the server become sentences."""

    address: Address
    node: str
    password: str

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        import psycopg

        if not isinstance(error, psycopg.Error):
            return
        text = " ".join(hidden(str(error), [self.password]).split()).rstrip(".")
        message = f"PostgreSQL at {self.address.name}: {text}"
        if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
            raise Gone(message) from error
        full = f"{message}."
        raise SourceError(full, self.node) from error


def _is_ours(comment: str) -> bool:
    return comment.startswith(OURS)


def _owned_in(said: Mapping[str, str], slot: str) -> list[str]:
    return [name for name in (slot, _mark_of(slot)) if _is_ours(said.get(name, ""))]


def _owner_in(said: Mapping[str, str], slot: str) -> str:
    return next((said[name].removeprefix(f"{OURS} ") for name in _owned_in(said, slot)), "")


def _mark_of(slot: str) -> str:
    """The name of the empty publication whose comment names the run, if the publication of the slot is the user's."""
    return f"changelog_studio_{hashlib.sha256(slot.encode()).hexdigest()[:12]}"


def text_of_lsn(lsn: int) -> str:
    """An LSN in PostgreSQL's notation."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def quoted(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'
