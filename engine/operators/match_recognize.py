"""Find sequences of consecutive rows that match a pattern, and emit one row per match: MATCH_RECOGNIZE.

Input: insert-only. Output: insert-only, the columns of the partition and the measures. By event time, rows are
processed in order when the watermark reaches them; by arrival, at once.
State: per partition the buffered rows, and the rows of each partial match until it is complete, a row does not match,
or it takes longer than WITHIN. Time: epoch ms; a match takes less than WITHIN from its first row to its last. A row
that arrives after the watermark has reached its time is kept in the late ledger.
Source: Flink StreamExecMatch, CepOperator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Self, TypeVar

from pydantic import model_validator

from engine.contract.batch_input import BatchInput
from engine.contract.columnar_kernel import Columnar
from engine.contract.derived import Derived
from engine.contract.late_port import RoutesLate
from engine.contract.late_rule import LateRule, OwnTime
from engine.contract.meaning import Emission, Meaning
from engine.contract.operator import Analyzer, InputPlan, StepContext, Strategy
from engine.contract.parameters import Duration, Parameters, Sql, parameter
from engine.contract.partition_by import PartitionBy
from engine.contract.requirements import Offer, require_different_names, require_event_time, require_insert_only
from engine.contract.step import Keyed, KeyedInput
from engine.errors import ExpressionError, PipelineError, unknown_name
from engine.model.changelog import ChangelogMode, UpdateKind
from engine.model.durations import duration, interval
from engine.model.origin import Origin
from engine.model.processing_time import with_processing_time
from engine.model.row_order import RowOrder
from engine.model.schema import Column, Schema, TimeUnit
from engine.model.types import Type, quote
from engine.patterns.after_match import AfterMatch, Skip
from engine.patterns.conditions import MatchCondition
from engine.patterns.kernel import MatchKernel
from engine.patterns.pattern import Variable, variables_of
from engine.patterns.planned import MatchPlan, TypeOf
from engine.patterns.references import ROWTIME, without_variables
from engine.patterns.stays import HOLDS
from engine.patterns.values import MatchTime, Value
from engine.ranking.parameters import OrderColumns, check_order, sort_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Read = TypeVar("Read")
_AT_ONCE = "0L"
"""The time of rows that are processed on arrival."""


class Define(Parameters):
    """The condition of a variable."""

    variable: str = parameter("Variable", "A variable of the pattern.", min_length=1)
    condition: Sql = parameter(
        "Condition", "The condition that its rows must meet: price > 10, price < LAST(A.price, 1), SUM(A.price) < 100."
    )


class Measure(Parameters):
    """A value of a match."""

    name: str = parameter("Name", "The name of the column.", min_length=1)
    expression: Sql = parameter(
        "Value", "A value of the match: LAST(A.price), FIRST(A.price, 1), SUM(A.price), MATCH_ROWTIME()."
    )


class MatchRecognize(RoutesLate):
    """MATCH_RECOGNIZE (PARTITION BY ... ORDER BY ... MEASURES ... PATTERN (...) DEFINE ...)."""

    operator: ClassVar[str] = "match_recognize"
    title: ClassVar[str] = "Match pattern"
    summary: ClassVar[str] = "Finds sequences of rows that match a pattern, such as a price that falls and rises again."
    also_called: ClassVar[tuple[str, ...]] = ("cep", "complex event processing", "sequence")
    group: ClassVar[str] = "patterns"

    partition_by: PartitionBy = parameter(
        description="Rows with equal values in these columns are searched together; none: all rows."
    )
    order: RowOrder = parameter(
        "Order by",
        "event_time: a row waits until the watermark reaches it. arrival: it is processed at once.",
        default=RowOrder.EVENT_TIME,
    )
    then_by: OrderColumns = parameter("Then by", "The order of rows of one time; empty: as they arrive.", default=())
    pattern: str = parameter(
        "Pattern",
        "Variables in the order of their rows, with quantifiers: A B+ C? D{2,3}. Rows follow each other "
        "directly. A reluctant quantifier (B+?) ends as soon as it can.",
        min_length=1,
        start="A B+ C",
    )
    define: tuple[Define, ...] = parameter(
        "Define", "The condition of each variable; a variable without one matches any row.", default=()
    )
    measures: tuple[Measure, ...] = parameter(
        "Measures", "The output of a match, after the partition columns.", min_length=1
    )
    after_match: Skip = parameter(
        "After a match",
        "Where the search goes on: past the last row of the match, at the row after its first one, or at "
        "the first or last row of a variable.",
        default=Skip.PAST_LAST_ROW,
    )
    skip_to: str | None = parameter(
        "Variable to skip to",
        "The variable at whose row the search goes on.",
        default=None,
        only=[Skip.TO_FIRST.value, Skip.TO_LAST.value],
    )
    within_ms: Duration = parameter(
        "Within",
        "A match takes less time than this, from its first row to its last; 0: any time. Without it a "
        "partial match may be kept for ever.",
        default=0,
    )

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        names = [variable.name for variable in self._read_pattern()]
        defined = [definition.variable for definition in self.define]
        for name in defined:
            if name not in names:
                message = f"define: {unknown_name('variable', name, names)}."
                raise ValueError(message)
            if defined.count(name) > 1:
                message = f"define: the variable {name} is defined twice. Join the conditions by AND."
                raise ValueError(message)
        if self.after_match in (Skip.TO_FIRST, Skip.TO_LAST) and self.skip_to not in names:
            message = f"skip_to: {unknown_name('variable', self.skip_to or '', names)}."
            raise ValueError(message)
        if self.order is RowOrder.ARRIVAL and (self.within_ms or self.then_by):
            what = "within_ms" if self.within_ms else "then_by"
            message = (
                f"{what}: in the order of arrival it would depend on the clock of the machine. Order by event_time."
            )
            raise ValueError(message)
        if self.routes_late and not self._by_time:
            message = "late_records: in the order of arrival no row is late. Order by event_time, or use the ledger."
            raise ValueError(message)
        return self

    def _read_pattern(self) -> tuple[Variable, ...]:
        try:
            return variables_of(self.pattern)
        except ValueError as error:
            message = f"pattern: {error}."
            raise ValueError(message) from error

    @property
    def variables(self) -> tuple[str, ...]:
        """The names in the pattern, in order."""
        return tuple(variable.name for variable in variables_of(self.pattern))

    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The partition's columns, then the measures. Raises UnknownColumn, ExpressionError, PlanRejected."""
        (input_,) = inputs
        schema = input_.schema
        require_insert_only(
            node, "a pattern", input_, "Put it before the step that updates, or use what that step reads."
        )
        if self._by_time:
            require_event_time(node, "order", input_, field="order", advice="Or order by arrival.")
        keys = [schema.column(name, node, "partition_by").without_time() for name in self.partition_by]
        check_order(self.then_by, schema, node, "then_by")
        types: dict[str, Type] = {}
        field = ""

        def type_of(expression: str) -> Type:
            types[expression] = analyzer.type_of(expression, schema, node, field)
            return types[expression]

        planned = self._planned(schema, type_of)
        measures: list[Column] = []
        times: dict[str, TimeUnit | None] = {}
        for at, measured in enumerate(self.measures):
            field = f"measures.{at}.expression"
            value, column = _checked(planned.measure, measured.expression, node, field)
            if isinstance(value, MatchTime) and not self._by_time:
                message = f"{field}: MATCH_ROWTIME() needs the order of event time."
                raise PipelineError(message, node, field)
            if isinstance(value, MatchTime):
                times[measured.name] = TimeUnit.TIMESTAMP
            elif planned.is_time(measured.expression) and self._by_time and not self._has_match_time:
                # For Flink the time of a row is an event time, too.
                times[measured.name] = schema.event_time.time if schema.event_time is not None else None
            measures.append(Column(measured.name, column.type, time=times.get(measured.name)))
        for at, condition in enumerate(self.define):
            field = f"define.{at}.condition"
            place = self.variables.index(condition.variable)
            _checked(partial(planned.condition, variable=place), condition.condition, node, field)
        require_different_names(node, "measures", [*keys, *measures])
        return Derived(Schema((*keys, *measures)), expression_types=types)

    def offers(self, node: str, inputs: Sequence[Derived], wanted: UpdateKind) -> Sequence[Offer]:
        """Its input never updates a row."""
        return (Offer((UpdateKind.NONE,), ("its input only inserts",)),)

    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """There is only one strategy."""
        when = "when the watermark reaches them" if self._by_time else "as they arrive"
        limit = f", for less than {duration(self.within_ms)}" if self.within_ms else ""
        waiting = "the rows that wait for the watermark, and " if self._by_time else ""
        return Strategy(
            f"Match[{' '.join(map(str, variables_of(self.pattern)))}]",
            f"rows are processed in order, {when}; a match is emitted once and never retracted",
            f"per partition: {waiting}the rows of partial matches{limit}",
        )

    def step(self, context: StepContext) -> Keyed:
        """By partition; each row with its time in ms and the values that the pattern uses."""
        schema, types = context.inputs[0].schema, context.derived.expression_types
        planned = self._planned(schema, types.__getitem__)
        kernel, why = self._kernel(planned, schema)
        keyed = KeyedInput(tuple(map(quote, self.partition_by)), tuple(planned.values))
        return Keyed(
            (keyed,),
            None,
            uses_time=self._by_time,
            by_event_time=self._by_time,
            columnar=Columnar(kernel, why),
            holds=HOLDS,
        )

    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """The automaton over the whole sorted rows of each partition, without watermarks."""
        from engine.patterns.batch import matched

        (input_,) = inputs
        schema, types = context.inputs[0].schema, context.derived.expression_types
        planned = self._planned(schema, types.__getitem__)
        kernel, _ = self._kernel(planned, schema)
        return matched(input_.table, self.partition_by, tuple(planned.values), kernel, context.schema)

    def origins(self, inputs: Sequence[Sequence[str]], output: Sequence[str]) -> Sequence[Origin]:
        """The rows of its partition."""
        return (Origin(tuple((name, name) for name in self.partition_by)),)

    def late_rule(self) -> LateRule | None:
        """By event time: a row at or before the watermark."""
        return LateRule(OwnTime({"in": 0})) if self._by_time else None

    def meaning(self, emission: Emission) -> Meaning:
        """A match is never retracted."""
        return Meaning("rows that match the pattern")

    def without_variables(self, expression: str) -> str:
        """A measure or a condition without variables, so that the analyzer can read it over the input's columns."""
        return without_variables(expression, self.variables)

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """SELECT * FROM t MATCH_RECOGNIZE (...)."""
        ((table, schema),) = inputs
        source = quote(table)
        if self._by_time:
            assert schema.event_time is not None, "derive refuses an input without an event time"
            time = quote(schema.event_time.name)
        else:
            source, time = with_processing_time(table, schema)
        names = [*self.partition_by, *(measure.name for measure in self.measures)]
        keys = [f"PARTITION BY {', '.join(map(quote, self.partition_by))}"] if self.partition_by else []
        measures = ", ".join(f"{measure.expression} AS {quote(measure.name)}" for measure in self.measures)
        skip = f"AFTER MATCH SKIP {self.after_match.value.replace('_', ' ').upper()}"
        if self.after_match in (Skip.TO_FIRST, Skip.TO_LAST):
            skip += f" {quote(self.skip_to or '')}"
        within = f" WITHIN {interval(self.within_ms)}" if self.within_ms else ""
        defined = {definition.variable: definition.condition for definition in self.define}
        # Flink requires at least one condition in DEFINE.
        conditions = defined or {self.variables[0]: "TRUE"}
        clauses = [
            *keys,
            f"ORDER BY {', '.join([time, *(item.sql for item in self.then_by)])}",
            f"MEASURES {measures}",
            "ONE ROW PER MATCH",
            skip,
            f"PATTERN ({self.pattern}){within}",
            f"DEFINE {', '.join(f'{quote(name)} AS {condition}' for name, condition in conditions.items())}",
        ]
        columns = ", ".join(map(quote, names))
        return f"SELECT {columns}\nFROM {source}\nMATCH_RECOGNIZE (\n{chr(10).join(clauses)}\n)"

    @property
    def _has_match_time(self) -> bool:
        return any(ROWTIME in measure.expression.upper() for measure in self.measures)

    @property
    def _by_time(self) -> bool:
        return self.order is RowOrder.EVENT_TIME

    def _planned(self, schema: Schema, type_of: TypeOf) -> MatchPlan:
        time = schema.event_time if self._by_time else None
        return MatchPlan(schema, self.variables, _AT_ONCE if time is None else time.milliseconds, type_of)

    def _kernel(self, planned: MatchPlan, schema: Schema) -> tuple[partial[MatchKernel], str]:
        """The kernel, and how it runs. As a side effect, the plan gets all values that the kernel needs."""
        measures: list[Value] = [planned.measure(measured.expression)[0] for measured in self.measures]
        conditions: dict[int, MatchCondition] = {}
        for definition in self.define:
            place = self.variables.index(definition.variable)
            conditions[place] = planned.condition(definition.condition, place)
        order = sort_columns(
            self.then_by, schema, lambda name: planned.values.setdefault(quote(name), len(planned.values))
        )
        to = self.variables.index(self.skip_to) if self.skip_to in self.variables else -1
        after = AfterMatch(self.after_match, to, self.skip_to or "")
        in_order = tuple(conditions.get(at) for at in range(len(self.variables)))
        kernel = partial(
            MatchKernel,
            variables_of(self.pattern),
            in_order,
            tuple(measures),
            after,
            self.within_ms,
            order,
            not self._by_time,
        )
        for place, condition in conditions.items():
            if isinstance(reason := condition.program(), str):
                return kernel, f"interpreted: in the condition of {self.variables[place]}, {reason}"
        return kernel, "columnar: many partitions at once"


def _checked(read: Callable[[str], Read], text: str, node: str, field: str) -> Read:
    """Apply a reader to a text. Raises ExpressionError for its ValueError."""
    try:
        return read(text)
    except ValueError as error:
        raise ExpressionError(node, field, text, f"{error}.") from error


OPERATOR = MatchRecognize
