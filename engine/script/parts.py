"""The parts of a script: tables, views, functions, inserted rows, inserts, options and directives."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlglot import exp

from engine.errors import StudioError, unknown_name
from engine.model.options import expires, goes_by_arrival, zone
from engine.model.types import quote
from engine.script.failures import Failure, at_statement, unread
from engine.script.node_ids import node_id_of
from engine.script.python_functions import FunctionDdl
from engine.script.recorded_clock import (
    OPTION,
    START_MS,
    Arrival,
    asks_for_clock,
    in_words,
    instant,
    proctimes_of,
    told,
    with_clock,
    with_now,
)
from engine.script.statements import Statement
from engine.script.tables import TableDdl
from engine.sql.algebra import Expr
from engine.sql.rejected import NoClock, SqlRejected
from engine.sql.rules.clock_readings import marked


@dataclass(frozen=True)
class Session:
    """Options of SET that only concern the INSERTs after it.

    is_batch: in batch mode a sink receives the result alone, and none of the changes on the way to it. drops_nulls:
    records with NULL in a column that the sink declares NOT NULL are dropped.
    """

    is_batch: bool = False
    drops_nulls: bool = False


@dataclass(frozen=True)
class Insert:
    """An INSERT INTO, or a SELECT whose result is shown (target None).

    time: the event time that the table computes, if the query gives it as its last column, which is not written.
    session: what SET had chosen by then.
    """

    target: str | None
    columns: tuple[str, ...]
    query: Expr
    statement: Statement
    time: str = ""
    session: Session = Session()


@dataclass
class Parts:
    """The parts of a script, in the order of its statements. filled: the views that are CREATE TABLE ... AS SELECT.

    dropped: names that may be created again. statements: all of them, to find the one of a place. failures: those that
    could not be read. clock_ms: what the recorded clock tells. is_clock_read: whether PROCTIME() in a query has a
    value. explained: the queries of EXPLAIN. session: what SET has chosen so far.
    """

    tables: dict[str, TableDdl] = field(default_factory=dict)
    views: dict[str, Statement] = field(default_factory=dict)
    functions: dict[str, FunctionDdl] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    rows: dict[str, list[list[Any]]] = field(default_factory=dict)
    inserts: list[Insert] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)
    directives: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    filled: list[str] = field(default_factory=list)
    dropped: set[str] = field(default_factory=set)
    statements: list[Statement] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    clock_ms: int = START_MS
    is_clock_read: bool = False
    session: Session = Session()
    explained: list[Insert] = field(default_factory=list)

    def reading(self, statement: Statement) -> AbstractContextManager[None]:
        """Read a statement, or a part of one. Raises CannotBeRead."""
        return at_statement(self.whole(statement), self.statements, self.failures)

    def whole(self, part: Statement) -> Statement:
        """The statement of which one is a part: its end is the same."""
        return next((statement for statement in self.statements if statement.end == part.end), part)

    def give_clock(self, error: StudioError) -> bool:
        """Give values to the processing times that a query reads. False if they have them, or this is another error."""
        if not isinstance(error, NoClock):
            return False
        if error.for_queries:
            (name,) = (name for name in self.tables if node_id_of(name) == error.table)
            arrival = self.arrival(name)
            assert arrival is not None, "its table tells when rows arrived"
            self.tables[name] = with_now(self.tables[name], arrival, self.clock_ms)
            return True
        if error.table:
            tables = {name: table for name, table in self.tables.items() if node_id_of(name) == error.table}
        else:
            tables = self.tables
        wanted = [name for name, table in tables.items() if proctimes_of(table) or self._needs_clock(table, error)]
        for name in wanted:
            self.set_clock(name, for_windows=error.for_windows, keeps_up=error.keeps_up)
        if not wanted and not self.is_clock_read:
            self.is_clock_read = True
            return True
        return bool(wanted)

    def _needs_clock(self, table: TableDdl, error: NoClock) -> bool:
        """Whether windows are over the PROCTIME() of a query, and its table has no clock yet."""
        return bool(error.for_windows and error.table) and not table.clocked

    def told(self, query: Expr) -> Expr:
        """A query with what the recorded clock tells."""
        if not asks_for_clock(query, proctime=self.is_clock_read):
            return query
        note = (
            "CURRENT_TIMESTAMP and the like are the time at which a row arrived, if its table tells that; behind "
            f"windows, ranks and groups without COUNT(*), and elsewhere, {in_words(self.clock_ms)}; SET '{OPTION}' "
            "takes another time."
        )
        self.warnings.append(note)
        # Rows of a script all come at one time, and have it as a literal.
        local = self._local_now() if isinstance(query, exp.Values) else None
        return told(query, marked(instant(self.clock_ms)), proctime=self.is_clock_read, local=local)

    def _local_now(self) -> datetime:
        """What clocks of the pipeline's zone show when the clock stands still."""
        at, in_zone = datetime.fromtimestamp(self.clock_ms / 1000, UTC), zone(self.options)
        return (at if in_zone is None else in_zone.shown(at)).replace(tzinfo=None)

    def arrival(self, name: str, *, for_windows: bool = False) -> Arrival | None:
        """What tells when the rows of a table arrived. Without a clock only windows of processing time need it."""
        if not for_windows and not expires(self.options):
            return None
        table, has_rows = self.tables[name], name in self.rows or name in self.targets
        arrives_by = table.statement.directives.get("arrived") if goes_by_arrival(self.options) else None
        return Arrival.of(table, has_rows=has_rows, arrives_by=arrives_by)

    def set_clock(self, name: str, *, for_windows: bool, keeps_up: bool = False) -> None:
        """Give values to the processing times of a table, and to CURRENT_TIMESTAMP in its computed columns."""
        arrival = self.arrival(name, for_windows=for_windows)
        self.tables[name] = with_clock(
            self.tables[name], arrival, self.clock_ms, for_windows=for_windows, keeps_up=keeps_up
        )

    def leave_out(self, failure: Failure) -> None:
        """Go on without a statement. Raises its error if that was left out before, so that reading ends."""
        if any(earlier.statement.end == failure.statement.end for earlier in self.failures):
            raise failure.error
        self.failures.append(failure)
        end = failure.statement.end
        self.tables = {name: table for name, table in self.tables.items() if table.statement.end != end}
        self.views = {name: view for name, view in self.views.items() if view.end != end}
        self.inserts = [insert for insert in self.inserts if insert.statement.end != end]
        self.explained = [insert for insert in self.explained if insert.statement.end != end]
        self.functions = {name: function for name, function in self.functions.items() if function.statement.end != end}
        names = self.tables.keys() | self.views.keys()
        self.order = [name for name in self.order if name in names]

    def definition(self, name: str) -> Statement:
        """The statement that creates a table or view."""
        return self.whole(self.views[name] if name in self.views else self.tables[name].statement)

    @property
    def targets(self) -> set[str | None]:
        """The tables that queries fill, or would fill if they could be read."""
        return {insert.target for insert in self.inserts} | {failure.fills for failure in self.failures}

    @property
    def unread(self) -> Mapping[str, Failure]:
        """The tables and views that could not be read."""
        names = self.tables.keys() | self.views.keys()
        return {name: failure for failure in self.failures if (name := failure.defines) and name not in names}

    def require_read(self, name: str) -> None:
        """Raise SqlRejected if a table or view is defined by a statement that could not be read."""
        if name in self.unread:
            raise unread(name, self.unread[name])

    def target(self, name: str, statement: Statement) -> TableDdl:
        """The table into which a statement inserts. Raises SqlRejected."""
        if name not in self.tables:
            self.require_read(name)
            unknown = unknown_name("table", name, self.tables)
            message = f"INSERT INTO: {unknown}. Create it above: CREATE TABLE {quote(name)} (...)."
            raise SqlRejected(message, place=statement.place)
        return self.tables[name]
