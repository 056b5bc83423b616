"""Keep one row per key: the first or the last, by event time or by arrival.

Input: insert-only; the last row by arrival also takes a changelog, deletes by key included. Output:
insert-only for the first row by arrival and for the first by event time once it is certain; else [I,UB,UA],
or [I,UA] if no consumer needs UPDATE_BEFORE; over a changelog also D.
State: one row per key (only its time, a mark, or nothing, if that is enough), until it is retracted or expires.
Time: epoch ms. Equal times: the later arrival is the last row, the earlier one the first.
Mini-batch: by arrival one change per key and bundle; by event time every change, unless they are compacted.
Source: Flink RowTimeDeduplicateFunction, RowTimeDeduplicateKeepFirstRowFunction,
ProcTimeDeduplicateKeepFirstRowFunction, ProcTimeDeduplicateKeepLastRowFunction, DeduplicateFunctionHelper.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Self, assert_never

from pydantic import model_validator

from engine.columnar.expiring import expiring_columns
from engine.contract.batch_input import BatchInput
from engine.contract.batch_rows import PUTS, first_of
from engine.contract.bundling import bundling
from engine.contract.columnar_kernel import Columnar
from engine.contract.derived import Derived, constant
from engine.contract.expiry import RECORD_BY_RECORD, Expiry, expiring
from engine.contract.frames import PLACED
from engine.contract.late_port import RoutesLate
from engine.contract.late_rule import LateRule, OwnTime
from engine.contract.meaning import Emission, Meaning
from engine.contract.operator import Alternative, Analyzer, InputPlan, StepContext, Strategy
from engine.contract.own_ttl import OwnTtl
from engine.contract.parameters import Columns, parameter
from engine.contract.requirements import Offer, require_event_time, require_insert_only
from engine.contract.step import Keyed, KeyedInput, Step
from engine.deduplication.columnar import KeepFirstColumns, KeepLastColumns, RowTimeColumns, layout_of
from engine.deduplication.columnar_first_row import RowTimeKeepFirstColumns
from engine.deduplication.kernels import RowTimeKeepFirstKernel
from engine.mini_batch.kernels import ByTime, Fold, bundled_columns, every, first, last
from engine.model.changelog import ALL_CHANGES, INSERT_ONLY, INSERT_UPDATE, ChangelogMode, RowKind, UpdateKind
from engine.model.column_intervals import above_calc
from engine.model.free_names import free_name
from engine.model.guesses import time_column
from engine.model.options import COMPACT, SENSITIVE, has_state_ttl, is_on, state_ttl_ms
from engine.model.origin import Origin
from engine.model.processing_time import with_processing_time
from engine.model.row_order import RowOrder
from engine.model.schema import Column, Schema, TimeUnit
from engine.model.types import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Keep(Enum):
    """The row of a key that is kept."""

    FIRST = "first"
    LAST = "last"


class FirstRow(Enum):
    """The time at which the first row by event time is emitted."""

    WHEN_COMPLETE = "when_complete"
    AT_ONCE = "at_once"


class Function(Enum):
    """Flink's functions; the parameters and the input determine one of them."""

    ROWTIME_LAST = "RowTimeDeduplicateFunction, keep last"
    ROWTIME_FIRST = "RowTimeDeduplicateFunction, keep first"
    ROWTIME_FIRST_COMPLETE = "RowTimeDeduplicateKeepFirstRowFunction"
    PROCTIME_FIRST = "ProcTimeDeduplicateKeepFirstRowFunction"
    PROCTIME_LAST = "ProcTimeDeduplicateKeepLastRowFunction"
    CHANGELOG_LAST = "ProcTimeDeduplicateKeepLastRowFunction, on a changelog"


class Deduplicate(RoutesLate, OwnTtl):
    """One row per key."""

    operator: ClassVar[str] = "deduplicate"
    title: ClassVar[str] = "Deduplicate"
    summary: ClassVar[str] = "Keeps one row per key: the first or the last, by event time or by arrival."
    also_called: ClassVar[tuple[str, ...]] = (
        *("dedupe", "dedup", "distinct", "unique", "first row", "last row", "row_number"),
    )
    group: ClassVar[str] = "keyed"
    passes_rows: ClassVar[bool] = True

    keys: Columns = parameter(
        "Key columns",
        "Rows with equal values in these columns are duplicates of each other; NULL equals NULL. None: "
        "all rows are duplicates.",
    )
    order: RowOrder = parameter(
        "Order by",
        "event_time: by the event time of the rows. arrival: by the order in which they arrive.",
        default=RowOrder.EVENT_TIME,
    )
    keep: Keep = parameter("Keep", "Which row of a key is kept.", default=Keep.LAST)
    first_row: FirstRow = parameter(
        "Emit the first row",
        "For the first row by event time. when_complete: emitted once, when the watermark has reached the "
        "row. at_once: emitted on arrival, and replaced if an earlier row arrives later.",
        default=FirstRow.WHEN_COMPLETE,
        only=("first",),
    )

    @model_validator(mode="after")
    def _may_be_late(self) -> Self:
        if self.routes_late and not self._waits:
            message = "late_records: rows can be late only if the first row by event_time is emitted when_complete."
            raise ValueError(message)
        return self

    @property
    def caution(self) -> str:
        """Rows are late here earlier than in a window below."""
        late = "a row that the watermark has passed is dropped here, even if its window, in a node below, is still open"
        return f"{late}. A larger watermark delay, or the order by arrival, keeps it." if self._waits else ""

    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The input's columns; the key columns become the upsert key.

        Raises UnknownColumn, PlanRejected without an event time, or for an updating input.
        """
        (input_,) = inputs
        keys = frozenset(input_.schema.column(name, node, "keys").name for name in self.keys)
        advice = "Deduplicate before the aggregate, or use TopN with N = 1."
        function = self._function(input_)
        if self.order is RowOrder.EVENT_TIME:
            require_insert_only(node, "rowtime deduplication", input_, advice)
            require_event_time(node, "order", input_, field="order", advice="Or order by arrival.")
        elif self.keep is Keep.FIRST:
            require_insert_only(node, "keeping the first row", input_, advice)
        modify = {
            Function.ROWTIME_FIRST_COMPLETE: INSERT_ONLY,
            Function.PROCTIME_FIRST: INSERT_ONLY,
            Function.CHANGELOG_LAST: ALL_CHANGES,
        }.get(function, INSERT_UPDATE)
        steady = input_.schema.names if function is Function.PROCTIME_FIRST else keys
        return Derived(
            schema=input_.schema,
            modify=modify,
            upsert_keys=frozenset({keys}),
            monotonic=constant(steady, among=input_.schema.names) if input_.never_moves else {},
            intervals=above_calc(input_.intervals),
        )

    def offers(self, node: str, inputs: Sequence[Derived], wanted: UpdateKind) -> Sequence[Offer]:
        """Any update kind, since its state has the row; +U alone is enough if it replaces the row of its key."""
        (input_,) = inputs
        if not input_.has_updates:
            return (Offer((UpdateKind.NONE,), ("its input never updates a row",)),)
        both = Offer((UpdateKind.BEFORE_AND_AFTER,), ("an update may move a row to another key",))
        if any(key >= set(self.keys) for key in input_.upsert_keys):
            return (Offer((UpdateKind.ONLY_UPDATE_AFTER,), ("a +U replaces the stored row of its key",)), both)
        return (both,)

    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """The corresponding function of Flink."""
        input_ = inputs[0].derived
        function = self._function(input_)
        row = "per key: the kept row"
        match function:
            case Function.ROWTIME_LAST | Function.ROWTIME_FIRST:
                word, tie = ("later", "replaces it too") if self.keep is Keep.LAST else ("earlier", "changes nothing")
                reason = f"by event time, at once: a {word} row replaces the kept one, one of the same time {tie}"
                state = row if output.has_update_before else "per key: the time of the kept row"
            case Function.ROWTIME_FIRST_COMPLETE:
                reason = "by event time, once: the first row is emitted when the watermark reaches it"
                state = "per key: the earliest row so far, then only a mark that it was emitted"
            case Function.PROCTIME_FIRST:
                reason = "by arrival: the first row is emitted at once, all others are ignored"
                state = "per key: a mark that it was seen"
            case Function.PROCTIME_LAST:
                reason = "by arrival, and its input is insert-only: each row replaces the one before"
                state = row
            case Function.CHANGELOG_LAST:
                reason = "by arrival, and its input has retractions: they delete the stored row of the key"
                if frozenset(self.keys) not in input_.upsert_keys:
                    reason += ", whichever row it was (the key is not the input's upsert key)"
                state = f"{row}, until it is retracted"
            case _:
                assert_never(function)
        return Strategy(function.value, reason, state)

    def step(self, context: StepContext) -> Step:
        """One kernel per key; rows get their time in ms unless the event time column is in ms."""
        schema = context.inputs[0].schema
        values = tuple(map(quote, schema.names))
        time_at = -1
        if self.order is RowOrder.EVENT_TIME:
            time = _event_time(schema)
            if time.time is TimeUnit.EPOCH_MS:
                time_at = schema.index(time.name)
            else:
                time_at = len(values)
                values = (*values, time.milliseconds)
        function = self._function(context.inputs[0].derived)
        waits = function is Function.ROWTIME_FIRST_COMPLETE
        bundles = None if waits else bundling(context.options)
        first_row = partial(RowTimeKeepFirstKernel, time_at, len(schema))
        return Keyed(
            inputs=(KeyedInput(tuple(map(quote, self.keys)), values),),
            kernel=expiring(first_row, state_ttl_ms(context.options)) if waits else None,
            uses_time=waits,
            by_event_time=self.order is RowOrder.EVENT_TIME,
            # Its output waits for the watermark anyway.
            bundling=bundles,
            columnar=self._columnar(function, context, time_at, len(schema)),
            layout=1 if waits else layout_of(schema, self.keys, is_bundled=bundles is not None),
        )

    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """The first or last row of each key, by time and then by position; for a changelog the last record."""
        from pyspark.sql import functions as f

        (input_,) = inputs
        keys = [quote(name) for name in self.keys]
        last = self.keep is Keep.LAST
        order = [f.desc(name) if last else f.asc(name) for name in PLACED]
        if self.order is RowOrder.EVENT_TIME:
            time = f.expr(_event_time(context.inputs[0].schema).milliseconds)
            return first_of(input_.table, keys, [time.desc() if last else time.asc(), *order])
        return first_of(input_.changelog, keys, order).where(PUTS)

    def alternatives(self, inputs: Sequence[Derived]) -> Sequence[Alternative]:
        """A Top 1 per key, for inputs that retract."""
        schema = inputs[0].schema
        time = schema.event_time.name if schema.event_time is not None else time_column(schema)
        if time is None:
            return ()
        order = [{"column": time, "descending": self.keep is Keep.LAST}]
        parameters = {"partition_by": list(self.keys), "order_by": order, "rank_end": 1}
        return (Alternative("Use Top N with N = 1", "topn", parameters),)

    def origins(self, inputs: Sequence[Sequence[str]], output: Sequence[str]) -> Sequence[Origin]:
        """The rows of its key."""
        return (Origin(tuple((name, name) for name in self.keys)),)

    def late_rule(self) -> LateRule | None:
        """For the complete first row by event time: a row before the watermark. A row at the watermark is not late."""
        return LateRule(OwnTime({"in": 1})) if self._waits else None

    def expiry(self, inputs: Sequence[InputPlan]) -> Expiry:
        """What is kept of a key expires."""
        return Expiry.BY_TTL

    def meaning(self, emission: Emission) -> Meaning:
        """The row of its key that is kept now."""
        by = "by arrival" if self.order is RowOrder.ARRIVAL else "by event time"
        match emission.kind:
            case RowKind.INSERT:
                return Meaning("the first row of its key" + (f" {by}" if self.keep is Keep.FIRST else ""))
            case RowKind.UPDATE_BEFORE:
                return Meaning(f"no longer the {self.keep.value} row of its key {by}: it is retracted")
            case RowKind.UPDATE_AFTER:
                return Meaning(f"the {self.keep.value} row of its key {by} now")
            case _:
                return Meaning("the kept row of its key was deleted")

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """The ROW_NUMBER pattern that Flink recognises as a deduplication."""
        ((table, schema),) = inputs
        columns = ", ".join(map(quote, schema.names))
        source = quote(table)
        note = ""
        if self.order is RowOrder.EVENT_TIME:
            order = quote(_event_time(schema).name)
            if self.keep is Keep.FIRST and self.first_row is FirstRow.AT_ONCE:
                note = "/* at once: with 'table.exec.mini-batch.enabled' = 'true' */ "
        else:
            source, order = with_processing_time(table, schema)
        direction = "ASC" if self.keep is Keep.FIRST else "DESC"
        number = quote(free_name("rownum", schema.names))
        keys = f"PARTITION BY {', '.join(map(quote, self.keys))} " if self.keys else ""
        return (
            f"SELECT {note}{columns} FROM (\n"
            f"  SELECT *, ROW_NUMBER() OVER ({keys}ORDER BY {order} {direction}) AS {number}\n"
            f"  FROM {source}\n"
            f") WHERE {number} = 1"
        )

    @property
    def _waits(self) -> bool:
        """Whether a row is emitted when the watermark has reached it."""
        by_time = self.order is RowOrder.EVENT_TIME and self.keep is Keep.FIRST
        return by_time and self.first_row is FirstRow.WHEN_COMPLETE

    def _function(self, input_: Derived) -> Function:
        match (self.order, self.keep):
            case (RowOrder.EVENT_TIME, Keep.LAST):
                return Function.ROWTIME_LAST
            case (RowOrder.EVENT_TIME, _):
                at_once = self.first_row is FirstRow.AT_ONCE
                return Function.ROWTIME_FIRST if at_once else Function.ROWTIME_FIRST_COMPLETE
            case (_, Keep.FIRST):
                return Function.PROCTIME_FIRST
            case _:
                return Function.PROCTIME_LAST if input_.is_insert_only else Function.CHANGELOG_LAST

    def _columnar(self, function: Function, context: StepContext, time_at: int, width: int) -> Columnar:
        before, repeat = context.generate_update_before, has_state_ttl(context.options)
        tell_insert, ttl_ms = _tells_insert(context), state_ttl_ms(context.options)
        by_time = ByTime(time_at, keep_last=self.keep is Keep.LAST) if is_on(context.options, COMPACT) else every
        fold: Fold = last
        match function:
            case Function.ROWTIME_LAST | Function.ROWTIME_FIRST:
                make = partial(RowTimeColumns, time_at=time_at, width=width, keep_last=self.keep is Keep.LAST)
                make = partial(make, update_before=before, tell_insert=tell_insert)
                rule, fold = Columnar(make, f"columnar: the {self.keep.value} row by event time"), by_time
            case Function.ROWTIME_FIRST_COMPLETE:
                waits = partial(RowTimeKeepFirstColumns, time_at=time_at, width=width)
                # A candidate does not expire, and what a timer writes does.
                why = "columnar: the first row by event time, when complete"
                return RECORD_BY_RECORD if ttl_ms else Columnar(waits, why)
            case Function.PROCTIME_FIRST:
                rule, fold = Columnar(KeepFirstColumns, "columnar: the first row by arrival"), first
            case Function.PROCTIME_LAST | Function.CHANGELOG_LAST:
                on_changelog = function is Function.CHANGELOG_LAST
                by_arrival = partial(
                    KeepLastColumns,
                    update_before=before,
                    tell_insert=tell_insert or on_changelog,
                    repeat=repeat,
                    on_changelog=on_changelog,
                )
                what = "of a changelog" if on_changelog else "by arrival"
                rule = Columnar(by_arrival, f"columnar: the last row {what}")
            case _:
                assert_never(function)
        return bundled_columns(expiring_columns(rule, ttl_ms), bundling(context.options), fold)


def _tells_insert(context: StepContext) -> bool:
    """Whether the first row of a key is +I and not +U, as in Flink: if -U is emitted, or if the option asks for it."""
    return context.generate_update_before or is_on(context.options, SENSITIVE)


def _event_time(schema: Schema) -> Column:
    time = schema.event_time
    assert time is not None, "derive refuses an input without an event time"
    return time


OPERATOR = Deduplicate
