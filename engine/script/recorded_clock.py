"""The recorded clock of a script: PROCTIME(), CURRENT_TIMESTAMP and the like as values that a run can repeat.

A table's rows have the time at which its generator makes them, at which their messages were written, or their event
time. Where nothing tells when rows arrived, the clock stands still at what the script says:

    SET 'studio.clock' = '2024-01-01 00:00:00';

A processing time stays the order of arrival, without a value, where no query needs one. What a query reads of the clock
is told by `engine.sql.rules.clock_readings`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final

from sqlglot import exp

from engine.contract.declared_table import Watermark
from engine.contract.source import Source
from engine.model.free_names import free_name
from engine.registry import connectors
from engine.script.tables import Computed, TableDdl
from engine.sql.algebra import Expr
from engine.sql.dialect import Flink
from engine.sql.nodes.processing_time import is_proctime
from engine.sql.rejected import SqlRejected
from engine.sql.rules.clock_readings import NOW

OPTION: Final = "studio.clock"
ROWTIME: Final = "$rowtime"
"""A column that Confluent's tables have without declaring it: when a row arrived. `*` does not have it."""
START_MS: Final = 1_704_067_200_000
"""2024-01-01, as that of the generators."""
_INSTANT: Final = ("CURRENT_TIMESTAMP", "NOW", "CURRENT_ROW_TIMESTAMP")
_LOCAL: Final = {
    "LOCALTIMESTAMP": "TIMESTAMP(3)",
    "CURRENT_DATE": "DATE",
    **dict.fromkeys(("CURRENT_TIME", "LOCALTIME"), "TIME(0)"),
}
_NAMES: Final = (*_INSTANT, *_LOCAL)
_LATE_BY_MS: Final = 1


def clock_ms(text: str) -> int:
    """The time that a script sets its clock to, in epoch ms. Raises SqlRejected."""
    try:
        told = datetime.fromisoformat(text.strip())
    except ValueError as error:
        message = f"{OPTION!r} is a time such as '2024-01-31 12:00:00', not {text!r}."
        raise SqlRejected(message) from error
    told = told.replace(tzinfo=UTC) if told.tzinfo is None else told
    return int(told.timestamp() * 1000)


def asks_for_clock(tree: Expr, *, proctime: bool = False) -> bool:
    """Whether an expression or a query reads the clock. proctime: also by PROCTIME()."""
    return any(_reads(node, proctime) for node in tree.walk())


def told(tree: Expr, now: Expr, *, proctime: bool = False, local: datetime | None = None) -> Expr:
    """The tree with the readings of the clock in place of its functions.

    now: a TIMESTAMP_LTZ(3). local: what clocks of the pipeline show then, if that is known.
    """

    def swap(node: Expr) -> Expr:
        if not _reads(node, proctime):
            return node
        name = node.name.upper()
        if name == "UNIX_TIMESTAMP":
            return exp.Anonymous(this=name, expressions=[_cast(now, "STRING")])
        if name not in _LOCAL:
            return now.copy()
        return _cast(now if local is None else _literal(local, name), _LOCAL[name])

    return tree.copy().transform(swap, copy=False)


def _literal(local: datetime, name: str) -> Expr:
    """What CURRENT_DATE and the like are, as the text of a literal."""
    match name:
        case "CURRENT_DATE":
            text = local.date().isoformat()
        case "LOCALTIMESTAMP":
            text = local.isoformat(" ", "milliseconds")
        case _:
            text = local.time().isoformat("seconds")
    return exp.Literal.string(text)


def instant(ms: int | Expr) -> Expr:
    """A moment as an expression."""
    time = ms if isinstance(ms, exp.Expr) else exp.Literal.number(ms)
    return exp.Anonymous(this="TO_TIMESTAMP_LTZ", expressions=[time, exp.Literal.number(3)])


def in_words(ms: int) -> str:
    """A moment as a text."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def proctimes_of(table: TableDdl) -> tuple[str, ...]:
    """The columns that are PROCTIME()."""
    return tuple(column.name for column in table.computed if is_proctime(column.value))


def with_rowtime(table: TableDdl, name: str = ROWTIME) -> TableDdl:
    """The table with the column of arrival that a script names without declaring it."""
    arrived = Computed(name, exp.Anonymous(this="PROCTIME", expressions=[]))
    return replace(table, computed=(*table.computed, arrived), order=(*table.order, name))


def has_own_rowtime(table: TableDdl) -> bool:
    """Whether a table declares the column itself."""
    tokens = table.statement.tokens
    return any(token.text == ROWTIME and before.text in ("(", ",") for before, token in pairwise(tokens))


def with_clock(
    table: TableDdl, arrival: Arrival | None, ms: int, *, for_windows: bool, keeps_up: bool = False
) -> TableDdl:
    """The table with values of its processing times, and of CURRENT_TIMESTAMP in its computed columns.

    arrival: of its rows. ms: where nothing tells it. for_windows: the processing time takes the place of an event time,
    even of a declared one, and a table that has none gets one, as its queries have PROCTIME() themselves. keeps_up: the
    clock goes on with each row, whatever delay is declared.
    """
    times = proctimes_of(table)
    if for_windows and not times:
        times = (free_name("clock", table.order),)
        table = replace(with_rowtime(table, times[0]), hidden=(*table.hidden, *times))
    name = times[0] if times else free_name("clock", table.order)
    mark, now = table.watermark, instant(ms)
    why = f"{in_words(ms)}, as nothing tells when they arrived; SET '{OPTION}' takes another time"
    if arrival is not None:
        table, now, why = arrival.named(table, name, ms)
    is_column = isinstance(now, exp.Column)
    computed = [
        replace(column, value=now if column.name in times else told(column.value, now))
        for column in table.computed
        if not (is_column and column.name == name)
    ]
    if times and (mark is None or for_windows):
        delay_ms = _LATE_BY_MS if mark is None or keeps_up else mark.delay_ms
        table = replace(table, watermark=Watermark(name, delay_ms))
    clocked = (*table.clocked, *times)
    return _noted(replace(table, computed=tuple(computed), clocked=clocked), why)


def with_now(table: TableDdl, arrival: Arrival, ms: int) -> TableDdl:
    """The table with the column of its rows' times of arrival that queries read. ms: where a generator starts."""
    timed, now, why = arrival.named(table, NOW, ms)
    is_made = isinstance(now, exp.Column) and now.name == NOW
    computed = timed.computed if is_made else (*timed.computed, Computed(NOW, now))
    return _noted(replace(timed, computed=computed, order=(*timed.order, NOW), hidden=(*timed.hidden, NOW)), why)


def _noted(table: TableDdl, why: str) -> TableDdl:
    note = f"{table.name}: the clock of its rows is the time {why}."
    return table if note in table.warnings else replace(table, warnings=(*table.warnings, note))


@dataclass(frozen=True)
class Arrival:
    """What tells when the rows of a table arrived. now: an expression over its columns; None: its source makes one."""

    why: str
    now: Expr | None = None
    made_by: type[Source] | None = None

    @classmethod
    def of(cls, table: TableDdl, *, has_rows: bool, arrives_by: str | None = None) -> Arrival | None:
        """That of a table; None if nothing tells. has_rows: its rows are those of the script.

        arrives_by: the column by which the clock of the pipeline goes, if it goes by times of arrival.
        """
        types = {column.name: column.type for column in table.columns}
        if arrives_by in types:
            given = exp.column(arrives_by, quoted=True)
            now = instant(given) if types[arrives_by].is_number else _cast(given, "TIMESTAMP_LTZ(3)")
            return cls(f"in their arrival column {arrives_by}", now)
        source = next(iter(connectors().get(table.connector, ())), None)
        if not has_rows and source is not None and source.arrival_told:
            return cls(source.arrival_told, made_by=source)
        mark = table.watermark
        if mark is None:
            return None
        timeless = (column for column in table.computed if not asks_for_clock(column.value, proctime=True))
        computed = {column.name: column.value for column in timeless}
        if mark.column not in types and mark.column not in computed:
            return None
        # A computed column cannot name another one.
        time = computed.get(mark.column, exp.column(mark.column, quoted=True))
        if time.find(exp.Column) is None:
            # A processing time that stands still.
            return None
        return cls(f"in their event time {mark.column}", _cast(time, "TIMESTAMP_LTZ(3)"))

    def named(self, table: TableDdl, name: str, ms: int) -> tuple[TableDdl, Expr, str]:
        """The table with a column of this name if one is to be made, the time as an expression, and why it is that."""
        if self.now is not None:
            return table, self.now, self.why
        assert self.made_by is not None, "without a time its source makes one"
        table = replace(self.made_by.with_arrival(table, name), start_ms=ms)
        return table, exp.column(name, quoted=True), self.why


def _reads(node: Expr, proctime: bool) -> bool:
    if isinstance(node, exp.Column):
        return not node.table and not node.this.args.get("quoted") and node.name.upper() in _NAMES
    if not isinstance(node, exp.Anonymous):
        return False
    name = node.name.upper()
    return name in _NAMES or (name in ("UNIX_TIMESTAMP", "PROCTIME")[: 2 if proctime else 1] and not node.expressions)


def _cast(value: Expr, type_: str) -> Expr:
    return exp.cast(value.copy(), exp.DataType.build(type_, dialect=Flink))
