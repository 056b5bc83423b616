"""Aggregate the rows of each group, without windows: every record updates its group's result.

Input: any changelog with -U. Output: [I,UB,UA] over an insert-only input, or [I,UA] if no consumer
needs UPDATE_BEFORE; [I,UB,UA,D] over an input that retracts. An unchanged result is not emitted, unless a
state TTL is set; a group without rows is deleted, even between a -U and its +U. In mini-batch there is one
update per group and bundle.
State: one accumulator per group, until its last row is retracted.
Source: Flink GroupAggFunction, MiniBatchGroupAggFunction, MiniBatchGlobalGroupAggFunction.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import model_validator

from engine.aggregates.accumulators import compile_calls
from engine.aggregates.batch import grouped
from engine.aggregates.columnar import AggregateColumns
from engine.aggregates.columnar_calls import in_words, without_columns
from engine.aggregates.derived_columns import derive_columns
from engine.aggregates.equality import comparison
from engine.aggregates.flink_sql import call_sql, group_sql
from engine.aggregates.function import AggregateCall
from engine.aggregates.monotonicity import monotonicity, never_retracts, result_intervals
from engine.aggregates.parameters import Aggregate, GroupBy, described, group_origin, key_expressions
from engine.aggregates.planned_calls import plan_calls
from engine.aggregates.python_function import WithFunctions
from engine.aggregates.state import VALUES_SEEN, accumulator
from engine.columnar.expiring import expiring_columns
from engine.contract.batch_input import BatchInput
from engine.contract.bundling import Bundling, bundling
from engine.contract.columnar_kernel import Columnar
from engine.contract.derived import Derived
from engine.contract.expiry import RECORD_BY_RECORD, Expiry, expiring
from engine.contract.kernel import Entries, Kernel, Key, Output
from engine.contract.meaning import Emission, Meaning, of_result
from engine.contract.operator import Analyzer, InputPlan, StepContext, Strategy
from engine.contract.own_ttl import OwnTtl, ttl_hint
from engine.contract.parameters import parameter
from engine.contract.requirements import Offer
from engine.contract.state_in_words import Description, Names, state_table
from engine.contract.step import Keyed, KeyedInput
from engine.model.changelog import (
    ALL_CHANGES,
    DELETE,
    INSERT,
    INSERT_UPDATE,
    RETRACTIONS,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    ChangelogMode,
    UpdateKind,
)
from engine.model.options import has_state_ttl, state_ttl_ms
from engine.model.origin import Origin
from engine.model.row import Row
from engine.model.schema import Schema
from engine.model.timeline import MAX_WATERMARK
from engine.model.types import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class AggregateKernel(Kernel):
    """One group. The calls' indexes refer to the rows."""

    def __init__(
        self,
        calls: Sequence[AggregateCall],
        *,
        retracting: bool,
        generate_update_before: bool = True,
        emit_unchanged: bool = False,
        ttl_ms: int = 0,
    ) -> None:
        compiled = compile_calls(calls, retracting=retracting, ttl_ms=ttl_ms)
        self._ttl = compiled.ttl
        self._forget = compiled.forget
        self._create = compiled.create
        self._accumulate = compiled.accumulate
        self._retract = compiled.retract
        self._value = compiled.value
        self._present = compiled.present
        # Only read with retractions; then it is always set.
        self._retracting = retracting
        self._rows = compiled.rows or 0
        self._clock = compiled.clock if compiled.uses_clock else None
        self._kept = compiled.kept
        self._update_before = generate_update_before
        self._emit_unchanged = emit_unchanged
        self._differs = comparison(call.function.result_type(call.type) for call in calls)
        self._key: Key = ()
        self._acc: list[Any] | None = None
        self._result: Row = ()

    def _forget_expired(self, out: Output) -> None:
        self._ttl.now_ms = out.now_ms
        if self._acc is not None and self._forget is not None:
            self._forget(self._acc)
            # Flink retracts what is left of the old result, not what it emitted.
            self._result = self._value(self._acc)

    def start(self, key: Key, state: Any | None) -> None:
        self._key = key
        self._acc = state
        if state is not None:
            self._result = self._value(state)

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        if self._clock is not None:
            self._clock[0] = (out.seq, out.step)
        if self._forget is not None:
            self._forget_expired(out)
        acc = self._acc
        is_first = acc is None
        if kind in RETRACTIONS:
            if acc is None:
                # An unknown group has no row to retract.
                return
            self._retract(acc, row)
            if acc[self._rows] == 0:
                self._acc = None
                out.emit(DELETE, self._row(self._result))
                return
        else:
            if acc is None:
                self._acc = acc = self._create()
            self._accumulate(acc, row)
        result = self._value(acc)
        before, self._result = self._result, result
        if is_first:
            out.emit(INSERT, self._row(result))
        elif self._emit_unchanged or self._differs(before, result):
            if self._update_before:
                out.emit(UPDATE_BEFORE, self._row(before))
            out.emit(UPDATE_AFTER, self._row(result))

    def entries(self) -> Entries:
        """The accumulator, and the values that DISTINCT and the like have seen."""
        acc = self._acc
        if acc is None:
            return ()
        values = sum(len(acc[slot.slot]) for slot in self._kept if slot.word is VALUES_SEEN)
        return ((0, MAX_WATERMARK, 1), (1, MAX_WATERMARK, values)) if values else ((0, MAX_WATERMARK, 1),)

    def finish(self) -> Any | None:
        return self._acc

    def describe(self, names: Names) -> Description:
        if self._acc is None:
            return ()
        row = self._row(self._value(self._acc))
        shown = [label.show(value) for label, value in zip(names.output, row, strict=False)]
        result = state_table("Result", [label.name for label in names.output[: len(shown)]], [shown])
        return (*accumulator(self._acc, self._kept, names), result)

    def _row(self, result: Row) -> Row:
        return self._key + (result if self._present is None else self._present(result))


class MiniBatchAggregateKernel(AggregateKernel):
    """One group, one update per bundle. A group that begins and ends within a bundle emits nothing.

    In two phases the retraction of an unknown group counts: Flink's local aggregate does not know which groups exist.
    """

    _before: Row | None = None
    _in_bundle = False

    def __init__(self, *given: Any, two_phases: bool = False, **named: Any) -> None:
        super().__init__(*given, **named)
        self._counts_unknown = two_phases

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        if self._clock is not None:
            self._clock[0] = (out.seq, out.step)
        if self._forget is not None:
            self._forget_expired(out)
        acc = self._acc
        if not self._in_bundle:
            self._in_bundle = True
            self._before = None if acc is None else self._result
        if acc is None:
            if kind in RETRACTIONS and not self._counts_unknown:
                return
            self._acc = acc = self._create()
        if kind in RETRACTIONS:
            self._retract(acc, row)
        else:
            self._accumulate(acc, row)

    def on_bundle(self, out: Output) -> None:
        self._in_bundle = False
        acc, before = self._acc, self._before
        if acc is None:
            return
        if self._retracting and acc[self._rows] == 0:
            self._acc = None
            if before is not None:
                out.emit(DELETE, self._row(before))
            return
        self._result = result = self._value(acc)
        if before is None:
            out.emit(INSERT, self._row(result))
        elif self._emit_unchanged or self._differs(before, result):
            if self._update_before:
                out.emit(UPDATE_BEFORE, self._row(before))
            out.emit(UPDATE_AFTER, self._row(result))


class GroupAggregate(WithFunctions, OwnTtl):
    """GROUP BY without windows."""

    operator: ClassVar[str] = "aggregate"
    title: ClassVar[str] = "Aggregate"
    summary: ClassVar[str] = "Counts, sums and other aggregates per group, updated with every record."
    also_called: ClassVar[tuple[str, ...]] = (
        "group by",
        "keyby",
        "select distinct",
        "count",
        "sum",
        "avg",
        "min",
        "max",
        "reduce",
        "fold",
    )
    group: ClassVar[str] = "aggregates"

    group_by: GroupBy = parameter(description="The columns or expressions to group by; none: all rows are one group.")
    aggregates: tuple[Aggregate, ...] = parameter(
        "Aggregates", "What to compute per group; none: the distinct groups themselves.", default=()
    )

    @model_validator(mode="after")
    def _is_something(self) -> GroupAggregate:
        if not self.group_by and not self.aggregates:
            message = "it needs a group column or an aggregate."
            raise ValueError(message)
        return self

    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The group columns, then the results. Raises UnknownColumn, ExpressionError and PipelineError."""
        (input_,) = inputs
        aggregated = derive_columns(node, self.group_by, self.aggregates, input_, analyzer)
        return Derived(
            Schema(aggregated.groups + aggregated.results),
            INSERT_UPDATE if input_.is_insert_only else ALL_CHANGES,
            frozenset({frozenset(column.name for column in aggregated.groups)}),
            monotonicity(self.group_by, self.aggregates, input_),
            result_intervals(self.group_by, self.aggregates, input_),
        )

    def _steady(self, input_: Derived) -> frozenset[str]:
        """The results that retractions never change, according to Flink."""
        return never_retracts(self.aggregates, monotonicity(self.group_by, self.aggregates, input_))

    def offers(self, node: str, inputs: Sequence[Derived], wanted: UpdateKind) -> Sequence[Offer]:
        """Any update kind; an updating input has to emit -U."""
        if not inputs[0].has_updates:
            return (Offer((UpdateKind.NONE,), ("no row of its input is replaced",)),)
        reason = "the old row must be retracted from its group, which may differ from the group of the new one"
        return (Offer((UpdateKind.BEFORE_AND_AFTER,), (reason,)),)

    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """With retraction if the input retracts."""
        (input_,) = inputs
        retracting = input_.mode.retracts
        steady = self._steady(input_.derived)
        calls = described(self.aggregates, retracting=retracting, steady=steady)
        per_group = f"per group: {calls or 'the distinct groups'}"
        if not retracting:
            reason = f"{input_.node} only inserts, so rows are only added to their group and no group is ever deleted"
            return Strategy("without retraction", reason, per_group)
        reason = (
            f"{input_.node} emits {input_.mode.signs}, so rows are also retracted from their group; a group without "
            "rows is deleted"
        )
        return Strategy("with retraction", reason, f"{per_group}, and the number of its rows")

    def step(self, context: StepContext) -> Keyed:
        """One kernel per group."""
        (input_,) = context.inputs
        values, calls = plan_calls(self.aggregates, input_.schema, context.schema, steady=self._steady(input_.derived))
        bundles = None
        if not self.python_calls:
            # Flink does not fold bundles before a Python function.
            folds = all(call.function.folds_bundles for call in self.aggregates)
            bundles = bundling(context.options, two_phases=folds)
        kernel = partial(
            AggregateKernel if bundles is None else partial(MiniBatchAggregateKernel, two_phases=bundles.two_phases),
            calls,
            retracting=input_.mode.retracts,
            generate_update_before=context.generate_update_before,
            emit_unchanged=self._emits_unchanged(context),
            ttl_ms=state_ttl_ms(context.options),
        )
        expires = expiring(kernel, state_ttl_ms(context.options))
        columnar = self._columnar(context, calls, bundles)
        keyed = KeyedInput(key_expressions(self.group_by), values)
        # Groups of these were kept record by record before.
        layout = 8 if any(column.type.has_floats for column in context.schema.columns[: len(self.group_by)]) else 1
        holds = ("accumulators", "distinct values")
        return Keyed((keyed,), expires, bundling=bundles, columnar=columnar, holds=holds, layout=layout)

    def _columnar(self, context: StepContext, calls: Sequence[AggregateCall], bundles: Bundling | None) -> Columnar:
        retracting = context.inputs[0].mode.retracts
        if bundles is not None:
            return Columnar(None, "record by record: mini-batch folds its bundles group by group")
        ttl_ms = state_ttl_ms(context.options)
        if ttl_ms and without_columns(calls, retracting=retracting):
            return RECORD_BY_RECORD
        if why := without_columns(calls, retracting=retracting, keeps_values=True):
            return Columnar(None, f"record by record: {why}")
        make = partial(
            AggregateColumns,
            calls=calls,
            retracting=retracting,
            generate_update_before=context.generate_update_before,
            emit_unchanged=self._emits_unchanged(context),
        )
        return expiring_columns(Columnar(make, f"columnar: {in_words(calls)}"), ttl_ms)

    def _emits_unchanged(self, context: StepContext) -> bool:
        """Whether unchanged results are emitted again: with a state TTL, as in Flink, except for Python functions."""
        return has_state_ttl(context.options) and not self.python_calls

    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """GROUP BY."""
        self.require_consent(context.node)
        (input_,) = inputs
        (planned,) = context.inputs
        names = context.schema.names
        keys = dict(zip(names, key_expressions(self.group_by), strict=False))
        changes = input_.changelog if planned.mode.retracts else None
        steady = self._steady(planned.derived)
        return grouped(input_.table, changes, keys, self.aggregates, planned.schema, context.schema, steady)

    def origins(self, inputs: Sequence[Sequence[str]], output: Sequence[str]) -> Sequence[Origin]:
        """The rows of its group."""
        return (group_origin(self.group_by, output),)

    def expiry(self, inputs: Sequence[InputPlan]) -> Expiry:
        """The accumulators of a group expire."""
        return Expiry.BY_TTL

    def late_rule(self) -> None:
        """No record is ever too late."""

    def meaning(self, emission: Emission) -> Meaning:
        """The result of its group, and what changes it."""
        return of_result(emission)

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """SELECT ... GROUP BY ..."""
        ((table, schema),) = inputs
        items = group_sql(self.group_by) + [call_sql(call, schema) for call in self.aggregates]
        hint = ttl_hint({table: self.state_ttl_ms})
        grouping = f" GROUP BY {', '.join(key_expressions(self.group_by))}" if self.group_by else ""
        return f"SELECT {hint}{', '.join(items)} FROM {quote(table)}{grouping}"


OPERATOR = GroupAggregate
