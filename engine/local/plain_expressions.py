"""Spark SQL that means the same without Spark: columns, whole numbers, texts, truths, instants in microseconds.

What could differ is left to Spark: floats, decimals, dates, functions, and what does not fit its type, which Spark
has a sentence for. NULL follows SQL. A window's bounds and nearly all keys, values and conditions are of this kind.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from engine.references import plain_column
from engine.schema import Schema, arrow_type

if TYPE_CHECKING:
    import pyarrow as pa

Row = tuple[Any, ...]
Function = Callable[[Row], Any]

_BITS: Final = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_WIDER: Final = {(one, other): max(one, other, key=lambda each: _BITS[each]) for one in _BITS for other in _BITS}
_INSTANTS: Final = ("timestamp", "timestamp_ntz")
_COMPARED: Final = ("whole", "string", "boolean", "timestamp", "timestamp_ntz")
_CASTS: Final = {
    exp.DType.TINYINT: "tinyint",
    exp.DType.SMALLINT: "smallint",
    exp.DType.INT: "int",
    exp.DType.BIGINT: "bigint",
    exp.DType.TIMESTAMPTZ: "timestamp",
}
_ARITHMETIC: Final[dict[type[exp.Expr], Callable[[int, int], int]]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
}
_COMPARISONS: Final[dict[type[exp.Expr], Callable[[Any, Any], bool]]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}


class _ForSpark(Exception):
    """Spark is to be asked: this is not understood here, or it does not fit."""


class _Part(NamedTuple):
    """The function from a row to a value, and its type in Spark."""

    value: Function
    type: str

    @property
    def kind(self) -> str:
        """What it can be compared with."""
        return "whole" if self.type in _BITS else self.type


class _Compiled(NamedTuple):
    part: _Part
    columns: tuple[str, ...]


def without_spark(expression: str, schema: Schema, records: pa.Table) -> Any:
    """The column that an expression makes of these records; None where Spark has to be asked."""
    import pyarrow as pa

    if (column := plain_column(expression, schema)) is not None:
        return records.column(column.name)
    compiled = _compiled(expression, schema)
    if compiled is None:
        return None
    columns = [plain_values(records.column(name)) for name in compiled.columns]
    rows: Sequence[Row] = list(zip(*columns, strict=True)) if columns else [()] * len(records)
    try:
        values = list(map(compiled.part.value, rows))
    except _ForSpark:
        return None
    type_ = arrow_type(compiled.part.type)
    made = pa.array(values, pa.int64()).cast(type_) if pa.types.is_timestamp(type_) else pa.array(values, type_)
    return pa.chunked_array([made], type_)


def plain_values(column: Any) -> list[Any]:
    """Values as kernels know them: instants are BIGINT microseconds."""
    import pyarrow as pa

    found: list[Any] = (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
    return found


@lru_cache(maxsize=2048)
def _compiled(expression: str, schema: Schema) -> _Compiled | None:
    compiler = _Compiler(schema)
    try:
        part = compiler.part(parse_one(expression, dialect="spark"))
    except (_ForSpark, SqlglotError):
        return None
    return _Compiled(part, tuple(compiler.columns))


class _Compiler:
    """Compiles an expression over the columns of a schema; `columns` are those that it asks for, in order."""

    def __init__(self, schema: Schema) -> None:
        self._types = {column.name.lower(): (column.name, column.type) for column in schema}
        self.columns: list[str] = []

    def part(self, node: exp.Expr) -> _Part:
        match node:
            case exp.Paren():
                return self.part(node.this)
            case exp.Column():
                return self._column(node)
            case exp.Boolean():
                truth = bool(node.this)
                return _Part(lambda row: truth, "boolean")
            case exp.Literal():
                return _literal(node)
            case exp.Neg():
                number = self._of_kind(node.this, "whole")
                return _Part(_fitting(number.type, _some(operator.neg, number.value)), number.type)
            case exp.Add() | exp.Sub() | exp.Mul():
                return self._arithmetic(_ARITHMETIC[type(node)], node.this, node.expression)
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                one, other = self._alike([node.this, node.expression])
                return _Part(_both(_COMPARISONS[type(node)], one.value, other.value), "boolean")
            case exp.Between():
                low, high = (
                    exp.GTE(this=node.this, expression=node.args["low"]),
                    exp.LTE(this=node.this, expression=node.args["high"]),
                )
                return self._logic(low, high, decides=False)
            case exp.In() if node.expressions:
                value, *items = self._alike([node.this, *node.expressions])
                return _Part(_one_of(value.value, [item.value for item in items]), "boolean")
            case exp.And() | exp.Or():
                return self._logic(node.this, node.expression, decides=isinstance(node, exp.Or))
            case exp.Not():
                inner = self._of_kind(node.this, "boolean").value
                return _Part(_some(operator.not_, inner), "boolean")
            case exp.Is():
                return self._is(node)
            case exp.Coalesce():
                return self._coalesce([node.this, *node.expressions])
            case exp.Cast():
                return self._cast(node)
            case exp.UnixMillis():
                # Down, not towards zero: before 1970 as well.
                return _Part(_some(lambda at: at // 1000, self._of_kind(node.this, "timestamp").value), "bigint")
            case exp.GenerateSeries():
                return self._sequence(node)
            case exp.Anonymous() if str(node.this).lower() == "pmod" and len(node.expressions) == 2:
                return self._modulo(*node.expressions)
            case exp.Anonymous() if str(node.this).lower() == "timestamp_millis" and len(node.expressions) == 1:
                time = self._of_kind(node.expressions[0], "whole").value
                return _Part(_fitting("bigint", _some(lambda ms: ms * 1000, time)), "timestamp")
        raise _ForSpark

    def _column(self, node: exp.Column) -> _Part:
        found = self._types.get(node.name.lower())
        if node.table or found is None:
            raise _ForSpark
        name, type_ = found
        if name not in self.columns:
            self.columns.append(name)
        return _Part(operator.itemgetter(self.columns.index(name)), type_)

    def _of_kind(self, node: exp.Expr, kind: str) -> _Part:
        part = self.part(node)
        if part.kind != kind:
            raise _ForSpark
        return part

    def _alike(self, nodes: Sequence[exp.Expr]) -> list[_Part]:
        """Parts that can be compared with each other."""
        parts = [self.part(node) for node in nodes]
        if len({part.kind for part in parts}) > 1 or parts[0].kind not in _COMPARED:
            raise _ForSpark
        return parts

    def _arithmetic(self, function: Callable[[int, int], int], left: exp.Expr, right: exp.Expr) -> _Part:
        one, other = self._of_kind(left, "whole"), self._of_kind(right, "whole")
        type_ = _WIDER[one.type, other.type]
        return _Part(_fitting(type_, _both(function, one.value, other.value)), type_)

    def _modulo(self, left: exp.Expr, right: exp.Expr) -> _Part:
        one, other = self._of_kind(left, "whole"), self._of_kind(right, "whole")
        if not isinstance(right, exp.Literal) or other.value(()) <= 0:
            raise _ForSpark
        return _Part(_both(operator.mod, one.value, other.value), _WIDER[one.type, other.type])

    def _logic(self, left: exp.Expr, right: exp.Expr, *, decides: bool) -> _Part:
        one, other = (self._of_kind(side, "boolean").value for side in (left, right))

        def value(row: Row) -> Any:
            first = one(row)
            if first is decides:
                return decides
            second = other(row)
            if second is decides:
                return decides
            return None if first is None or second is None else not decides

        return _Part(value, "boolean")

    def _is(self, node: exp.Is) -> _Part:
        inner = self.part(node.this).value
        match node.expression:
            case exp.Null():
                return _Part(lambda row: inner(row) is None, "boolean")
            case exp.Boolean():
                wanted = bool(node.expression.this)
                return _Part(lambda row: inner(row) is wanted, "boolean")
        raise _ForSpark

    def _coalesce(self, nodes: Sequence[exp.Expr]) -> _Part:
        parts = self._alike(nodes)
        types = {part.type for part in parts}
        values = [part.value for part in parts]
        if len(types) > 1:
            raise _ForSpark
        return _Part(
            lambda row: next((found for value in values if (found := value(row)) is not None), None), parts[0].type
        )

    def _cast(self, node: exp.Cast) -> _Part:
        to, part = _CASTS.get(node.to.this), self.part(node.this)
        if to in _BITS and part.type in _BITS:
            return _Part(_fitting(str(to), part.value), str(to))
        # The session's time zone is UTC.
        if to == "timestamp" and part.type in _INSTANTS:
            return _Part(part.value, to)
        raise _ForSpark

    def _sequence(self, node: exp.GenerateSeries) -> _Part:
        ends = [self._of_kind(node.args[name], "whole") for name in ("start", "end", "step")]
        first, last, step = (end.value for end in ends)

        def value(row: Row) -> list[int] | None:
            begin, end, by = first(row), last(row), step(row)
            if begin is None or end is None or by is None:
                return None
            if not by or (end - begin) * by < 0:
                raise _ForSpark
            return list(range(begin, end + (1 if by > 0 else -1), by))

        if len({end.type for end in ends[:2]}) > 1:
            raise _ForSpark
        return _Part(value, f"array<{ends[0].type}>")


def _literal(node: exp.Literal) -> _Part:
    if node.is_string:
        text = str(node.this)
        # A backslash means something in Spark that depends on its settings.
        if "\\" in text:
            raise _ForSpark
        return _Part(lambda row: text, "string")
    if not str(node.this).isdecimal():
        raise _ForSpark
    whole = int(node.this)
    type_ = next((name for name in ("int", "bigint") if whole < 1 << _BITS[name] - 1), None)
    if type_ is None:
        raise _ForSpark
    return _Part(lambda row: whole, type_)


def _some(function: Callable[[Any], Any], value: Function) -> Function:
    """NULL for NULL."""
    return lambda row: None if (found := value(row)) is None else function(found)


def _both(function: Callable[[Any, Any], Any], one: Function, other: Function) -> Function:
    """NULL where one of them is."""
    return lambda row: None if (a := one(row)) is None or (b := other(row)) is None else function(a, b)


def _one_of(value: Function, items: Sequence[Function]) -> Function:
    def found(row: Row) -> bool | None:
        wanted = value(row)
        if wanted is None:
            return None
        among = [item(row) for item in items]
        return True if wanted in among else None if None in among else False

    return found


def _fitting(type_: str, value: Function) -> Function:
    """Spark refuses a number that does not fit; it shall say so itself."""
    high = 1 << _BITS[type_] - 1

    def fitting(row: Row) -> Any:
        found = value(row)
        if found is not None and not -high <= found < high:
            raise _ForSpark
        return found

    return fitting
