"""Turn upserts into a changelog with -U, and a changelog with repetitions into one without.

Input: +I and +U as upserts, -D by key; -U is ignored, since the state has the previous row. Output:
[I,UB,UA,D], or [I,UA,D] if no consumer needs UPDATE_BEFORE. The first row of a key is +I. An unchanged row is
not emitted (unless a state TTL is set). A delete carries the whole deleted row; without a row it emits nothing.
In mini-batch the last record of a key and bundle counts.
With a condition, a row that begins or ceases to meet it is emitted as +I or -D.
State: per key its last row, until it is deleted.
Source: Flink StreamExecChangelogNormalize: ProcTimeDeduplicateKeepLastRowFunction, and its mini-batch form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from engine.columnar.columns import without_equality
from engine.columnar.expiring import expiring_columns
from engine.contract.batch_input import BatchInput
from engine.contract.batch_rows import PUTS, by_key
from engine.contract.bundling import bundling
from engine.contract.columnar_kernel import Columnar
from engine.contract.derived import Derived, constant
from engine.contract.expiry import Expiry, expiring
from engine.contract.frames import KIND
from engine.contract.kernel import Kernel, Key, Output
from engine.contract.meaning import Emission, Meaning, of_result
from engine.contract.operator import Analyzer, InputPlan, Operator, StepContext, Strategy
from engine.contract.parameters import Columns, SqlOrNone, parameter
from engine.contract.requirements import Offer
from engine.contract.state_in_words import Description, Names, kept_row
from engine.contract.step import Keyed, KeyedInput
from engine.deduplication.columnar_normalize import ChangelogNormalizeColumns
from engine.expressions.conditions import require_condition
from engine.model.changelog import (
    ALL_CHANGES,
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    ChangelogMode,
    RowKind,
    UpdateKind,
)
from engine.model.options import has_state_ttl, state_ttl_ms
from engine.model.origin import Origin
from engine.model.row import Row
from engine.model.schema import Schema
from engine.model.types import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class ChangelogNormalizeKernel(Kernel):
    """One key. A row is the output's columns, then whether it meets the condition. State: the last row."""

    def __init__(self, *, update_before: bool, repeat: bool) -> None:
        self.update_before = update_before
        self.repeat = repeat
        self.kept: Row | None = None

    def start(self, key: Key, state: Row | None) -> None:
        """Begin with the last row."""
        self.kept = state

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Replace or delete the row of the key."""
        if kind == UPDATE_BEFORE:
            self.writes = False
            return
        *values, is_wanted = row
        old_row = self.kept
        if kind == DELETE or not is_wanted:
            if old_row is not None:
                out.emit(DELETE, old_row)
                self.kept = None
            return
        self.kept = new_row = tuple(values)
        if old_row is None:
            out.emit(INSERT, new_row)
        elif old_row != new_row or self.repeat:
            if self.update_before:
                out.emit(UPDATE_BEFORE, old_row)
            out.emit(UPDATE_AFTER, new_row)

    def finish(self) -> Row | None:
        """The last row."""
        return self.kept

    def describe(self, names: Names) -> Description:
        """The last row."""
        return kept_row("Row of this key", names, self.kept)


class BundledChangelogNormalize(ChangelogNormalizeKernel):
    """The same in mini-batch: the last record of a bundle counts."""

    last: tuple[int, Row] | None = None

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Buffer the record in place of the previous one."""
        self.writes = False
        if kind != UPDATE_BEFORE:
            self.last = kind, row

    def on_bundle(self, out: Output) -> None:
        """Process the last record of the bundle."""
        self.writes = self.last is not None
        if self.last is not None:
            kind, row = self.last
            self.last = None
            super().on_record(kind, row, out)


class ChangelogNormalize(Operator):
    """The stage that turns upserts into a changelog. The planner puts it above sources that need it."""

    operator: ClassVar[str] = "changelog_normalize"
    title: ClassVar[str] = "Normalise changelog"
    summary: ClassVar[str] = "Completes upserts with the rows that they replace, and drops duplicates."
    also_called: ClassVar[tuple[str, ...]] = ("upsert", "materialize")
    group: ClassVar[str] = "keyed"

    keys: Columns = parameter("Key columns", "The primary key: the columns that identify a row.", min_length=1)
    condition: SqlOrNone = parameter(
        "Only where", "A condition on the emitted rows; a row that no longer meets it is deleted."
    )

    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The input's columns, with the key as upsert key."""
        (input_,) = inputs
        keys = frozenset(input_.schema.column(name, node, "keys").name for name in self.keys)
        if self.condition is not None:
            require_condition(self.condition, node, analyzer.type_of(self.condition, input_.schema, node, "condition"))
        return replace(
            input_,
            modify=ALL_CHANGES,
            upsert_keys=frozenset({keys}),
            monotonic=constant(keys, among=input_.schema.names),
            intervals={},
            lone_updates=False,
        )

    def offers(self, node: str, inputs: Sequence[Derived], wanted: UpdateKind) -> Sequence[Offer]:
        """Any update kind, since its state has the rows; the input need not emit -U."""
        (input_,) = inputs
        if not input_.has_updates:
            return (Offer((UpdateKind.NONE,), ("its input never updates a row",)),)
        return (
            Offer((UpdateKind.ONLY_UPDATE_AFTER,), ("it knows the row before, by its key",)),
            Offer((UpdateKind.BEFORE_AND_AFTER,), ("it knows the row before, and ignores the -U of its input",)),
        )

    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """There is only one strategy."""
        (input_,) = inputs
        what = (
            ("a consumer needs the rows that upserts replace")
            if output.has_update_before
            else "deletes need whole rows"
        )
        if input_.mode.has_update_before:
            what = "its input may repeat records"
        only = f", of those where {self.condition}" if self.condition is not None else ""
        return Strategy("normalise", f"{what}, so the last row of each key is kept", f"per key: its last row{only}")

    def step(self, context: StepContext) -> Keyed:
        """All columns by key, and whether the row meets the condition."""
        wanted = "TRUE" if self.condition is None else f"coalesce({self.condition}, FALSE)"
        columns = (*map(quote, context.schema.names), wanted)
        bundles = bundling(context.options)
        kernel = partial(
            ChangelogNormalizeKernel if bundles is None else BundledChangelogNormalize,
            update_before=context.generate_update_before,
            repeat=has_state_ttl(context.options),
        )
        inputs = (KeyedInput(tuple(map(quote, self.keys)), columns),)
        expires = expiring(kernel, state_ttl_ms(context.options))
        return Keyed(inputs, expires, bundling=bundles, columnar=self._columnar(context))

    def _columnar(self, context: StepContext) -> Columnar:
        repeat = has_state_ttl(context.options)
        if bundling(context.options) is not None:
            return Columnar(None, "record by record: mini-batch folds its bundles key by key")
        if refused := without_equality(context.schema.column(key, context.node, "keys").type for key in self.keys):
            return Columnar(None, f"record by record: a key of {refused.flink} has no columnar kernel")
        nested = [column.type for column in context.schema if column.type.is_nested]
        if nested and not repeat:
            return Columnar(None, f"record by record: rows with {nested[0]} are compared one by one")
        make = partial(ChangelogNormalizeColumns, update_before=context.generate_update_before, repeat=repeat)
        return expiring_columns(Columnar(make, "columnar: the last row of each key"), state_ttl_ms(context.options))

    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """The last record of each key, if it is a row and meets the condition."""
        (input_,) = inputs
        rows = by_key(input_.changelog.where(f"{KIND} <> {UPDATE_BEFORE}"), self.keys).where(PUTS)
        return rows if self.condition is None else rows.where(self.condition)

    def origins(self, inputs: Sequence[Sequence[str]], output: Sequence[str]) -> Sequence[Origin]:
        """The row of its key."""
        return (Origin(tuple((name, name) for name in self.keys)),)

    def expiry(self, inputs: Sequence[InputPlan]) -> Expiry:
        """Its row expires."""
        return Expiry.BY_TTL

    def late_rule(self) -> None:
        """No record is ever too late."""

    def meaning(self, emission: Emission) -> Meaning:
        """The row of its key, and what replaces it."""
        return Meaning("the first row of its key") if emission.kind is RowKind.INSERT else of_result(emission)

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """Flink puts this stage above an upsert source by itself; the query only reads the source."""
        ((table, schema),) = inputs
        where = "" if self.condition is None else f" WHERE {self.condition}"
        return f"SELECT {', '.join(map(quote, schema.names))} FROM {quote(table)}{where}"


OPERATOR = ChangelogNormalize
