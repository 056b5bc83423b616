"""The one connection to the DuckDB file: cursors per call, transactions, errors as sentences.

One process owns the file. In the process every statement runs on a cursor of its own (0.3 ms), since a shared
connection is not safe between threads; DuckDB's snapshots keep readers and writers apart.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakSet, WeakValueDictionary

import duckdb

from engine.reading.files.known_files import KnownFiles
from engine.reading.files.storage import is_uri
from storage.database import memory
from storage.database.sentences import failure_in, first_sentence
from storage.database.sql import identifier
from storage.errors import (
    StayingRecordsAway,
    StoreDamaged,
    StoreError,
    StoreLocked,
    StoreReadFailed,
    StoreUnreadable,
    StoreWriteFailed,
    TextRefused,
)

if TYPE_CHECKING:
    import pyarrow as pa

Row = tuple[Any, ...]
Parameters = Mapping[str, object] | Sequence[object] | None
Cursor = duckdb.DuckDBPyConnection
Answer = TypeVar("Answer")

NOW: Final = "CAST(now() AS TIMESTAMP)"
_LOCKED: Final = re.compile(r"\block\b", re.IGNORECASE)
_LOCK_HOLDER: Final = re.compile(r"\(PID (\d+)\)")
_DAMAGED: Final = re.compile(
    r"could not read enough bytes|corrupt|checksum|deserializ|failed to load metadata|INTERNAL Error", re.IGNORECASE
)
_OWN_FOLDER: Final = 0o700
_OWN_FILE: Final = 0o600
SETTINGS: Final = (
    # Instants are stored as plain UTC timestamps; casts must not depend on where the studio runs.
    "SET GLOBAL TimeZone = 'UTC'",
    # DuckDB 2.0.0: a filter on rowid with LIMIT and OFFSET ends in an internal error in this optimizer.
    "SET GLOBAL disabled_optimizers = 'late_materialization'",
)
# Without these DuckDB does not note how far a query is.
_FOLLOWED: Final = ("SET enable_progress_bar = true", "SET enable_progress_bar_print = false")
# The sizes of the log that trigger a checkpoint: DuckDB's default, and while another process reads the file.
_LOG_SIZES: Final = ("16MiB", "256MiB")
# The time to wait for running queries when the file is closed.
_PATIENCE_S: Final = 5.0
_AGAIN_S: Final = 0.01
# DuckDB's words for a text that has half of a character.
_HALF: Final = "cannot encode str as UTF-8"
_DISK_FULL: Final = ("no space left", "disk full", "file too large", "disk quota", "not enough space")


class Database:
    """A DuckDB file that this process owns.

    is_new: it was created on opening, readable for this user only. Raises: StoreLocked, StoreUnreadable on opening;
    StoreWriteFailed from a transaction; StoreDamaged from all.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._writing = threading.RLock()
        self._large = threading.RLock()
        self._latest: WeakValueDictionary[int, Cursor] = WeakValueDictionary()
        self._cursors: WeakSet[Cursor] = WeakSet()
        self._asked: WeakSet[Cursor] = WeakSet()
        self._followed: set[int] = set()
        self._beside = 0
        self._limits_mib = [memory.MEMORY_MIB]
        self._limit_mib = memory.MEMORY_MIB
        self._served: KnownFiles | None = None
        self._staying: set[str] = set()
        self._connection: Cursor | None = self._connect()

    def _connect(self) -> Cursor:
        try:
            self.is_new = not self.path.exists()
            self.path.parent.mkdir(_OWN_FOLDER, parents=True, exist_ok=True)
            connection = duckdb.connect(
                str(self.path),
                config={
                    "memory_limit": _mib(memory.MEMORY_MIB),
                    "temp_directory": f"{self.path}.tmp",
                    # Neither the store nor a query accesses the network.
                    "autoinstall_known_extensions": False,
                    "autoload_known_extensions": False,
                },
            )
            # Nothing has been spilled yet: existing files were left by a process that was killed.
            shutil.rmtree(f"{self.path}.tmp", ignore_errors=True)
            self._limit_mib = memory.MEMORY_MIB
            for setting in SETTINGS:
                connection.execute(setting)
            if self._served is not None:
                connection.register_filesystem(self._served)
            if self.is_new:
                self.path.chmod(_OWN_FILE)
        except (duckdb.Error, OSError) as error:
            text = str(error)
            if _DAMAGED.search(text):
                raise StoreDamaged(self.path, first_sentence(text)) from error
            if _LOCKED.search(text):
                holder = _LOCK_HOLDER.search(text)
                raise StoreLocked(self.path, int(holder[1]) if holder else 0) from error
            reason = f"{error.strerror}." if isinstance(error, OSError) and error.strerror else first_sentence(text)
            raise StoreUnreadable(self.path, reason) from error
        return connection

    @property
    def version(self) -> str:
        """The version of DuckDB."""
        return duckdb.__version__

    def cursor(self) -> Cursor:
        """A separate cursor for this thread. Reopens the file if a fatal error had closed it."""
        with self._lock:
            if self._connection is None:
                self._connection = self._connect()
            self._set_limit()
            cursor = self._connection.cursor()
            self._latest[threading.get_ident()] = cursor
            if threading.get_ident() in self._followed:
                for setting in _FOLLOWED:
                    cursor.execute(setting)
            self._cursors.add(cursor)
            return cursor

    def serve(self, files: Mapping[str, int]) -> None:
        """Let queries read these files in workspaces, which do not change. files: their sizes by path or URI."""
        with self._lock:
            self._staying.update(files)
            if self._served is None and any(map(is_uri, files)):
                self._served = KnownFiles({})
                if self._connection is not None:
                    self._connection.register_filesystem(self._served)
            if self._served is not None:
                self._served.sizes.update(files)

    def interrupt(self, thread: int | None) -> None:
        """Interrupt the query of this thread, which gets an error."""
        cursor = self._latest.get(thread) if thread is not None else None
        if cursor is not None:
            with contextlib.suppress(duckdb.Error):
                cursor.interrupt()

    def progress(self, thread: int | None) -> float | None:
        """The part of the query of a followed thread that is done, from 0 to 1; None while this is not known."""
        cursor = self._latest.get(thread) if thread is not None else None
        with contextlib.suppress(duckdb.Error):
            if cursor is not None and (percent := cursor.query_progress()) >= 0:
                return min(percent / 100, 1.0)
        return None

    @contextmanager
    def followed(self) -> Iterator[None]:
        """The progress of this thread's queries is known, for 0.1 ms each."""
        thread = threading.get_ident()
        self._followed.add(thread)
        try:
            yield
        finally:
            self._followed.discard(thread)

    def rows(
        self, sql: str, parameters: Parameters = None, *, tables: Mapping[str, pa.Table] | None = None
    ) -> list[Row]:
        """The result of a query as tuples. tables: additional tables that it reads, by name."""
        return self._read(lambda cursor: cursor.execute(sql, parameters).fetchall(), tables)

    def row(self, sql: str, parameters: Parameters = None) -> Row | None:
        """The first row of a query, or None."""
        return self._read(lambda cursor: cursor.execute(sql, parameters).fetchone())

    def integer(self, sql: str, parameters: Parameters = None) -> int | None:
        """The integer that a query returns; None for NULL, and without a row."""
        row = self.row(sql, parameters)
        return None if row is None or row[0] is None else int(row[0])

    def count(self, rows: str, parameters: Parameters = None) -> int:
        """The number of rows of a query, given from its FROM on."""
        return self.integer(f"SELECT count(*) {rows}", parameters) or 0

    def has_table(self, schema: str, table: str) -> bool:
        """Whether a schema has a table. Runs of older versions lack some."""
        # Not from duckdb_tables(): it describes the tables of all runs first.
        with self.cursor() as cursor:
            try:
                cursor.execute(f"SELECT 1 FROM {identifier(schema, table)} LIMIT 0")
            except duckdb.CatalogException:
                return False
        return True

    def arrow(
        self, sql: str, parameters: Mapping[str, object] | None = None, *, tables: Mapping[str, pa.Table] | None = None
    ) -> pa.Table:
        """The result of a query as an Arrow table. tables: as of `rows`."""
        return self._read(lambda cursor: cursor.sql(sql, params=dict(parameters or {})).to_arrow_table(), tables)

    def _read(self, ask: Callable[[Cursor], Answer], tables: Mapping[str, pa.Table] | None = None) -> Answer:
        def answer() -> Answer:
            with self.cursor() as cursor:
                try:
                    self._asked.add(cursor)
                    for name, table in (tables or {}).items():
                        cursor.register(name, table)
                    return ask(cursor)
                except duckdb.Error as error:
                    raise self._told(error) or StoreReadFailed(self.path, first_sentence(str(error))) from error
                finally:
                    self._asked.discard(cursor)

        return self.with_room(answer)

    def with_room(self, work: Callable[[], Answer], room: memory.Room | None = None) -> Answer:
        """The answer of work that is repeated if MEMORY_MIB was too little: with MORE_MIB, and then with ever more.

        More is for what cannot be spilled, such as an epoch of rows with hundreds of columns. room: of work like this
        before, which is noted there for the next one.
        """
        room = room or memory.Room()
        while True:
            try:
                with self.limited(room.mib):
                    answer = work()
            except StoreError as error:
                if not isinstance(error.__cause__, duckdb.OutOfMemoryException) or not room.widen():
                    raise
            else:
                room.narrow()
                return answer

    @contextmanager
    def alone(self, *, is_large: bool) -> Iterator[None]:
        """Meanwhile no other thread loads or follows many records: together they lack memory, and each is repeated."""
        with self._large if is_large else contextlib.nullcontext():
            yield

    @contextmanager
    def limited(self, limit_mib: int) -> Iterator[None]:
        """Meanwhile DuckDB may take so much; of several limits at a time, the largest counts."""
        with self._lock:
            self._limits_mib.append(limit_mib)
            self._set_limit()
        try:
            yield
        finally:
            with self._lock:
                self._limits_mib.remove(limit_mib)
                self._set_limit()

    def _set_limit(self) -> None:
        limit_mib = max(self._limits_mib)
        if self._connection is not None and limit_mib != self._limit_mib:
            # What another query uses cannot be taken back at once: the next cursor tries again.
            with contextlib.suppress(duckdb.Error):
                self._connection.execute(f"SET GLOBAL memory_limit = '{_mib(limit_mib)}'")
                self._limit_mib = limit_mib

    def _told(self, error: duckdb.Error) -> StoreError | None:
        """What an error says of the file, of those in a workspace or of a text, read or written; None if nothing."""
        if _DAMAGED.search(str(error)):
            return StoreDamaged(self.path, first_sentence(str(error)))
        if (reason := failure_in(str(error), self._staying)) is not None:
            return StayingRecordsAway(reason)
        return TextRefused() if _HALF in str(error) else None

    @contextmanager
    def transaction(self) -> Iterator[Cursor]:
        """A transaction: all of its statements or none. Raises StoreWriteFailed when DuckDB cannot write."""
        with self.cursor() as cursor:
            try:
                cursor.execute("BEGIN")
                yield cursor
                cursor.execute("COMMIT")
                self._keep_private()
            except duckdb.Error as error:
                self._roll_back(cursor)
                self._reopen_after(error)
                full = any(sign in str(error).lower() for sign in _DISK_FULL)
                failed = StoreWriteFailed(self.path, first_sentence(str(error)), full=full)
                raise self._told(error) or failed from error
            except BaseException:
                self._roll_back(cursor)
                raise

    @contextmanager
    def catalog_transaction(self) -> Iterator[Cursor]:
        """A short transaction on the catalog. One at a time, so that two threads never conflict."""
        with self._writing, self.transaction() as cursor:
            yield cursor

    @contextmanager
    def no_checkpoints(self) -> Iterator[None]:
        """While another process reads the file, its blocks stay in place, unless very much is written."""
        self._read_beside(1)
        try:
            yield
        finally:
            self._read_beside(-1)

    def _read_beside(self, more: int) -> None:
        with self._lock:
            self._beside += more
            if self._connection is None:
                return
            # Best effort: a process that reads the file notices a checkpoint.
            with contextlib.suppress(duckdb.Error):
                self._connection.execute(f"SET GLOBAL checkpoint_threshold = '{_LOG_SIZES[self._beside > 0]}'")

    def checkpoint(self) -> None:
        """Write the log into the file, unless another transaction is writing: freed space can then be reused."""
        with self.cursor() as cursor, contextlib.suppress(duckdb.Error):
            cursor.execute("CHECKPOINT")

    def bytes_on_disk(self) -> int:
        """The size of the file with its log."""
        places = (self.path, self.path.with_name(f"{self.path.name}.wal"))
        return sum(place.stat().st_size for place in places if place.exists())

    def bytes_free(self) -> int:
        """The free space of the disk that the file is on."""
        return shutil.disk_usage(self.path.parent).free

    def close(self) -> None:
        """Close the file after all queries have ended; long ones are interrupted. A later query reopens it."""
        with self._lock:
            until = time.monotonic() + _PATIENCE_S
            for connection in (*self._cursors, self._connection):
                if connection is not None:
                    # Between a query and its result DuckDB would let the connection be closed.
                    while connection in self._asked and time.monotonic() < until:
                        time.sleep(_AGAIN_S)
                    _close(connection, until)
            self._connection = None

    def _keep_private(self) -> None:
        """Users without access to the file must not read its log either, which DuckDB recreates from time to time."""
        with contextlib.suppress(OSError):
            mode = self.path.stat().st_mode & 0o777
            log = self.path.with_name(f"{self.path.name}.wal")
            if log.stat().st_mode & 0o777 != mode:
                log.chmod(mode)

    @staticmethod
    def _roll_back(cursor: Cursor) -> None:
        try:
            cursor.execute("ROLLBACK")
        except duckdb.Error:
            # DuckDB has already aborted the transaction by itself, or closed the file: nothing is left to undo.
            return

    def _reopen_after(self, error: duckdb.Error) -> None:
        """After a failed write of its log, DuckDB refuses every statement until the file is opened again."""
        if isinstance(error, duckdb.FatalException) or "invalidated" in str(error):
            self.close()


def _close(connection: Cursor, until: float) -> None:
    """Close a connection that another thread may be using: DuckDB refuses to until the query has ended."""
    while True:
        try:
            connection.close()
        except duckdb.ResourceInUseException:
            if time.monotonic() > until:
                connection.interrupt()
            time.sleep(_AGAIN_S)
        else:
            return


def _mib(size: int) -> str:
    return f"{size}MiB"
