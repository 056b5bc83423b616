"""LISTAGG: texts in order of arrival, with a separator between them; NULL without values.

Source: Flink ListAggFunction, ListAggWsWithRetractAggFunction.
"""

from __future__ import annotations

from engine.aggregates.accumulator_parts import Slots, listed
from engine.aggregates.aging_parts import aging_list
from engine.aggregates.batch_sql import BatchCall, values_by_arrival
from engine.aggregates.columnar_parts import Keep as ColumnOf
from engine.aggregates.columnar_parts import Read
from engine.aggregates.function import AggregateCall, AggregateFunction, ColumnarFunction, Keeps, Reader, Values
from engine.model.types import STRING, Type


class _Columns(ColumnarFunction):
    of_any_type = True

    def unable(self, call: AggregateCall, *, retracting: bool) -> str | None:
        return "LISTAGG with retraction has no columnar kernel" if retracting else None

    def keeps(self, call: AggregateCall, *, retracting: bool) -> Keeps | None:
        return Keeps.TEXTS

    def read(self, call: AggregateCall, keep: ColumnOf, beside: frozenset[str]) -> Read:
        raise AssertionError(call)


class ListAgg(AggregateFunction):
    """LISTAGG(v), LISTAGG(v, '|'), LISTAGG(DISTINCT v)."""

    name = "LISTAGG"
    place = 80
    replaces = {"GROUP_CONCAT": "LISTAGG(x)", "STRING_AGG": "LISTAGG(x)"}
    has_separator = True
    goes_by_arrival = True
    columnar = _Columns()

    def check_argument(self, argument: str, type_: Type, *, retracting: bool) -> str | None:
        return None if type_ == STRING else f"needs text, but it is {type_.flink}. Write CAST({argument} AS STRING)."

    def result_type(self, type_: Type) -> Type:
        return STRING

    def keeps(self, values: Values) -> Slots:
        if values.retracting and values.ttl.ms:
            return aging_list(has_floats=values.has_floats, ttl=values.ttl)
        return listed(has_floats=values.has_floats)

    def reader(self, values: Values, slot: int) -> Reader:
        join = values.separator.join
        return Reader(lambda acc: join(acc[slot]) if acc[slot] else None)

    def batch(self, call: BatchCall) -> str:
        values = values_by_arrival(call, call.type)
        separator = call.separator.replace("\\", "\\\\").replace("'", "\\'")
        return f"nullif(array_join({values}, '{separator}'), CASE WHEN size({values}) = 0 THEN '' END)"


FUNCTION = ListAgg()
