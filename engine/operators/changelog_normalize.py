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

from engine.columnar.expiring import expiring_columns
from engine.contract.batch_input import BatchInput
from engine.contract.batch_rows import PUTS, by_key
from engine.contract.bundling import bundling
from engine.contract.columnar_kernel import Columnar
from engine.contract.derived import Derived, constant
from engine.contract.expiry import Expiry
from engine.contract.frames import KIND
from engine.contract.meaning import Emission, Meaning, of_result
from engine.contract.operator import Analyzer, InputPlan, Operator, StepContext, Strategy
from engine.contract.parameters import Columns, SqlOrNone, parameter
from engine.contract.requirements import Offer
from engine.contract.step import Keyed, KeyedInput
from engine.deduplication.columnar import layout_of
from engine.deduplication.columnar_normalize import ChangelogNormalizeColumns
from engine.expressions.conditions import require_condition
from engine.mini_batch.kernels import bundled_columns, last_but_update_before
from engine.model.changelog import ALL_CHANGES, UPDATE_BEFORE, ChangelogMode, RowKind, UpdateKind
from engine.model.options import has_state_ttl, state_ttl_ms
from engine.model.origin import Origin
from engine.model.schema import Schema
from engine.model.types import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class ChangelogNormalize(Operator):
    """The stage that turns upserts into a changelog. The planner puts it above sources that need it."""

    operator: ClassVar[str] = "changelog_normalize"
    title: ClassVar[str] = "Normalise changelog"
    summary: ClassVar[str] = "Completes upserts with the rows that they replace, and drops duplicates."
    also_called: ClassVar[tuple[str, ...]] = ("upsert", "materialize")
    group: ClassVar[str] = "keyed"
    passes_rows: ClassVar[bool] = True

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
        make = partial(
            ChangelogNormalizeColumns,
            update_before=context.generate_update_before,
            repeat=has_state_ttl(context.options),
        )
        bundles, ttl_ms = bundling(context.options), state_ttl_ms(context.options)
        columnar = expiring_columns(Columnar(make, "columnar: the last row of each key"), ttl_ms)
        columnar = bundled_columns(columnar, bundles, last_but_update_before)
        inputs = (KeyedInput(tuple(map(quote, self.keys)), columns),)
        layout = layout_of(context.schema, self.keys, is_bundled=bundles is not None)
        return Keyed(inputs, None, bundling=bundles, columnar=columnar, layout=layout)

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
