"""A PostgreSQL table in a live run: its rows when the run begins, then their changes, exactly once.

    slot created  ->  snapshot of the rows  ->  changes of transactions that the snapshot does not see

The slot is created first, so that no transaction is missed. A snapshot lists the transactions that it sees; their
changes are skipped, and those of other tables in the same publication. The next poll acknowledges the changes that the
run has stored. A run that is killed before that receives them again, and skips those up to its position.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from engine.contract.scan import Scan
from engine.contract.stream import Json, Limit, Stopping, Taken, never
from engine.errors import SourceError
from engine.reading.postgres.changes import ChangeReader, Rows
from engine.reading.postgres.client import Database, Snapshot, text_of_lsn
from engine.reading.postgres.pgoutput import Begin, Commit, Decoder, Relation, RowChange, Truncated
from engine.reading.servers.address import Address
from engine.reading.servers.database_server import Gone
from engine.reading.servers.kept_messages import Keeping, pieces_of, place_of

# The interval of reconnecting, and of acknowledging the log if the table has no changes.
_AGAIN_S: Final = 2.0
_IDLE_S: Final = 10.0
_MOST: Final = 1 << 30
# Changes are stored in pieces of about this size.
_KEPT_ROWS: Final = 20_000
SNAPSHOT: Final = "snapshot"


@dataclass
class PostgresStream:
    """The changes of a table.

    position   {"kept": folder, "marks": publications that the run created, "lsn": up to where changes were taken,
               "seen": the transactions of the snapshot, "until": the LSN of the snapshot, "left": pieces of it}
    what       pieces that hold records
    """

    address: Address
    slot: str
    node: str
    folder: Path
    run: str
    rows: Rows
    reader: ChangeReader
    with_snapshot: bool
    needs_whole_rows: bool
    _database: Database | None = None
    _keeping: Keeping | None = None
    # The relations that were part of the table when the log was last read to its end, or since.
    _members: frozenset[int] = frozenset()
    # By number: whether a relation is part of the table, during one poll, and its columns if it is.
    _belongs: dict[int, bool] = field(default_factory=dict)
    _columns: dict[int, tuple[str, ...]] = field(default_factory=dict)
    _asked_s: float = 0.0
    _idle_s: float = field(default_factory=time.monotonic)
    _trouble: str = ""

    def poll(
        self, position: Json, limit: Limit, now_ms: int, *, ending: bool = False, is_stopping: Stopping = never
    ) -> Taken:
        """The rows of the snapshot, piece by piece, then the changes since the last poll. Raises SourceError."""
        if self._database is None and self._trouble and not ending and time.monotonic() - self._asked_s < _AGAIN_S:
            return Taken(None, position, notes=(self._trouble,))
        self._asked_s = time.monotonic()
        try:
            taken = self._polled(position, limit, ending=ending, is_stopping=is_stopping)
        except Gone as error:
            self.close()
            if position is None:
                message = f"{error}. Check the address and the user, and whether the server is running."
                raise SourceError(message, self.node, "host") from error
            if ending:
                # A finished run must not lack available changes.
                message = f"{error}. The source cannot end before it answers; resume the run then."
                raise SourceError(message, self.node) from error
            self._trouble = f"{error}. The run waits, and continues once it answers."
            return Taken(None, position, notes=(self._trouble,))
        self._trouble = ""
        return taken

    def read(self, what: Json) -> Scan:
        """The records of these pieces."""
        return Scan(pieces_of(what, self.folder, self.address.table_name), self.reader)

    def close(self) -> None:
        """Disconnect. The slot stays, for the run that continues."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _polled(self, position: Json, limit: Limit, *, ending: bool, is_stopping: Callable[[], bool]) -> Taken:
        database = self._connected(position)
        if position is None:
            return self._begun(database, limit, ending=ending, is_stopping=is_stopping)
        self._keeping = self._keeping or Keeping(self.folder, position["kept"])
        if position["left"]:
            return _of_snapshot(position, limit, ending=ending)
        # All changes up to this position are in the store.
        if database.owner(self.slot) == position["kept"]:
            database.acknowledge(self.slot, position["lsn"])
        else:
            message = (
                f"slot: another run has taken over the replication slot {self.slot}, and with it the changes after "
                f"{text_of_lsn(position['lsn'])}. This run cannot go on; start a new one with its own slot."
            )
            raise SourceError(message, self.node, "slot")
        return self._changed(database, position, None if ending else min(limit.records, _MOST))

    def _connected(self, position: Json) -> Database:
        if self._database is None:
            database = self._database = Database(self.address, self.node)
            database.check_level()
            names = database.columns()
            if missing := [column.name for column in self.rows.columns if column.name not in names]:
                message = f"columns: {self.address.table} has no {missing[0]!r}. It has {', '.join(names)}."
                raise SourceError(message, self.node, "columns")
            if self.needs_whole_rows and not database.has_whole_rows():
                table = self.address.table_name
                message = (
                    f"PostgreSQL does not send the rows before changes of {table}. ALTER TABLE {table} REPLICA "
                    "IDENTITY FULL, or let changes go by the key: changelog-mode upsert."
                )
                raise SourceError(message, self.node, "changelog_mode")
            if position is not None and not database.is_there(self.slot):
                message = (
                    f"slot: the replication slot {self.slot} is gone, or the server has dropped the log that it needs; "
                    f"the changes after {text_of_lsn(position['lsn'])} are lost. Start a new run."
                )
                raise SourceError(message, self.node, "slot")
        return self._database

    def _begun(self, database: Database, limit: Limit, *, ending: bool, is_stopping: Callable[[], bool]) -> Taken:
        """The whole snapshot is stored, since it ends with its transaction; the first of its rows are taken."""
        self.rows.clear()
        place = place_of(self.address.table_name, self.node, self.run)
        self._keeping = Keeping(self.folder, place)
        was_others = database.prepare(self.slot, place)
        self._members = database.members()
        left: list[Json] = []
        seen, number = Snapshot(0, (), 0), 0
        for snapshot, rows in database.rows([column.name for column in self.rows.columns], is_followed=True):
            seen = snapshot
            if not self.with_snapshot:
                break
            number = self.rows.insert(SNAPSHOT, number, rows)
            if rows:
                left.append([*self._keeping.keep(self.rows.taken()), len(rows)])
            if is_stopping():
                return Taken(None, None)
        position = {
            "kept": place,
            "marks": database.owned(self.slot),
            "lsn": 0,
            "seen": [seen.limit, seen.open],
            "until": seen.until,
            "left": left,
        }
        taken = _of_snapshot(position, limit, ending=ending)
        note = (
            (f"The replication slot {self.slot} belonged to another run, which can no longer be resumed.",)
            if was_others
            else ()
        )
        return Taken(taken.what, taken.position, behind=taken.behind, notes=note)

    def _changed(self, database: Database, position: Json, most: int | None) -> Taken:
        # A poll whose connection broke leaves records that come again.
        self.rows.clear()
        end = database.end_of_log()
        limit, opened = position["seen"]
        # Positions of earlier versions lack `until`: whatever the log commits from now on is after their snapshot.
        until = position.get("until", end)
        seen = Snapshot(limit, tuple(opened), until)
        members = database.members()
        self._belongs = dict.fromkeys(self._members | members, True)
        decoder, said = Decoder(), self._unpublished(database, members)
        what: list[Json] = []
        # Of the transaction that is being read. A large one is stored before it is known whether the run needs it: that
        # depends on its end, and it may not fit into memory.
        stored: list[Json] = []
        lsn, number, xid, count, got = position["lsn"], 0, 0, 0, 0
        batch: list[tuple[RowChange, str, int]] = []
        for place, data in database.changes(self.slot, most):
            got += 1
            match decoder.decode(data):
                case Begin(begun):
                    number, xid, batch, stored = 0, begun, [], []
                case RowChange() as change if self._is_ours(change.relation):
                    number += 1
                    batch.append((change, place, number))
                    if len(batch) >= _KEPT_ROWS:
                        what += self._kept()
                        self._add(batch)
                        stored += self._kept()
                        batch = []
                case Truncated(relations) if any(map(self._is_ours, relations)):
                    said.append(
                        f"{self.address.table} was truncated at {place}. That is no change of rows: those that "
                        "were there stay in the results."
                    )
                case Relation() as relation:
                    said += self._noticed(database, relation)
                case Commit(after):
                    if after > lsn and not seen.sees(xid, after):
                        what += stored
                        self._add(batch)
                    batch, stored = [], []
                    if len(self.rows) >= _KEPT_ROWS:
                        what += self._kept()
                    lsn = max(lsn, after)
                    count += 1
        what += self._kept()
        # A member that was detached or dropped counts until its changes before that have been read.
        is_read = most is None or got < most
        self._members = members if is_read else self._members | members
        if count:
            self._idle_s = time.monotonic()
        elif time.monotonic() - self._idle_s > _IDLE_S:
            # The log also has changes of other tables, which are not needed here.
            self._idle_s, lsn = time.monotonic(), max(lsn, end)
        behind = f"{max(0, end - lsn):,} bytes of log" if count and end > lsn and most is not None else ""
        return Taken(what or None, {**position, "lsn": lsn, "until": until}, behind=behind, notes=said)

    def _add(self, changes: Sequence[tuple[RowChange, str, int]]) -> None:
        for change, place, number in changes:
            self.rows.add(change, place, number)

    def _kept(self) -> list[Json]:
        """Store the buffered records: their piece, or none if there are none."""
        assert self._keeping is not None
        return [self._keeping.keep(self.rows.taken())] if len(self.rows) else []

    def _unpublished(self, database: Database, members: frozenset[int]) -> list[str]:
        """A note if changes of a new member of the table are not published."""
        if members <= self._members or database.is_published(self.slot):
            return []
        table = self.address.table_name
        return [
            f"The publication {self.slot} lacks {table}, or a part of it, which was created or attached meanwhile: its "
            "changes are not read. Add it to the publication, or start a new run."
        ]

    def _is_ours(self, relation: Relation) -> bool:
        """Whether a relation is part of the table: a publication of the user may have others."""
        return self._belongs[relation.oid]

    def _noticed(self, database: Database, relation: Relation) -> list[str]:
        """Notes about differences in the columns of a relation that is part of the table."""
        if relation.oid not in self._belongs:
            self._belongs[relation.oid] = database.belongs(relation.oid, self.slot)
        if not self._is_ours(relation):
            return []
        before = self._columns.get(relation.oid, relation.columns)
        self._columns[relation.oid] = relation.columns
        if before == relation.columns:
            return []
        return [f"{relation.name} has other columns now: {', '.join(relation.columns)}. Those declared here are read."]


def _of_snapshot(position: Json, limit: Limit, *, ending: bool) -> Taken:
    """The next rows of the snapshot."""
    taken: list[Json] = []
    left = list(position["left"])
    count = 0
    while left and (not taken or ending or count + left[0][3] <= limit.records):
        *piece, size = left.pop(0)
        taken.append(piece)
        count += size
    rows = sum(size for *_, size in left)
    behind = f"{rows:,} rows of the snapshot" if rows else ""
    return Taken(taken or None, {**position, "left": left}, behind=behind)
