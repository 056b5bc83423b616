"""Conditions on a pair of rows, or on values of several rows, for kernels: a subset of Spark SQL as Python functions.

A join tests its extra condition per pair, and a pattern tests the values of a match. Both happen within a kernel, which
cannot call Spark. Supported are columns, literals, arithmetic, comparisons, AND OR NOT, IS NULL, IS DISTINCT FROM,
BETWEEN, IN, LIKE, CASE, CAST between numbers, COALESCE, ABS, LOWER, UPPER, LENGTH, and intervals added to timestamps.
NULL follows SQL: three-valued logic, NULL in, NULL out. Timestamps are epoch microseconds.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final

from sqlglot import exp
from sqlglot.errors import SqlglotError

from engine.errors import ExpressionError, unknown_name
from engine.expressions.division import quotient, remainder, whole_quotient
from engine.expressions.like import like
from engine.expressions.parsing import called, tree_of
from engine.model import types
from engine.model.row import Row
from engine.model.schema import Schema
from engine.model.type_texts import spark_type

Function = Callable[[Row], Any]

_COMPARISONS: Final[dict[type[exp.Expr], Callable[[Any, Any], Any]]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}
_NO_CONDITION: Final = "it is of type {}, but a condition must be true or false."
_NUMBERS: Final = ("integer", "decimal", "float")
_INTERVALS: Final = {"DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000}
_AMOUNT: Final = re.compile(r"\s*[+-]?\d{1,18}(\.\d*)?\s*", re.ASCII)
_OF_TEXTS: Final[dict[str, tuple[Callable[[Any], Any], str]]] = {
    **dict.fromkeys(("lower", "lcase"), (str.lower, "text")),
    **dict.fromkeys(("upper", "ucase"), (str.upper, "text")),
    **dict.fromkeys(("length", "len", "char_length", "character_length"), (len, "integer")),
}
_KINDS: Final[dict[types.Type, str]] = {
    **dict.fromkeys(types.INTEGERS, "integer"),
    **dict.fromkeys(types.FLOATS, "float"),
    types.STRING: "text",
}


@dataclass(frozen=True)
class _Part:
    """A compiled part: the function from a row to its value, and the kind of this value."""

    value: Function
    kind: str


class _Unsupported(ValueError):
    """A part that is not supported."""


def compile_condition(condition: str, schema: Schema, node: str, field: str) -> Function:
    """The function from a row of these columns to True, False or None. Raises ExpressionError."""
    try:
        part = _Compiler(schema).part(tree_of(condition))
    except (_Unsupported, SqlglotError) as error:
        reason = (
            f"{str(error).splitlines()[0]}. A join condition consists of columns, literals, comparisons, AND, OR, NOT."
        )
        raise ExpressionError(node, field, condition, reason) from error
    if part.kind not in ("boolean", "null"):
        raise ExpressionError(node, field, condition, _NO_CONDITION.format(part.kind))
    return part.value


def condition_of(text: str, schema: Schema) -> Function:
    """The function of a condition on values of a match. Raises ValueError and SqlglotError."""
    part = _Compiler(schema).part(tree_of(text))
    if part.kind not in ("boolean", "null"):
        raise _Unsupported(_NO_CONDITION.format(part.kind))
    return part.value


def can_compute(tree: exp.Expr, schema: Schema) -> bool:
    """Whether a kernel can compute a part of an expression over these columns."""
    try:
        _Compiler(schema).part(tree)
    except _Unsupported:
        return False
    return True


def require_condition(condition: str, node: str, type_: types.Type) -> None:
    """Raise ExpressionError if the parameter `condition` of a node is not a BOOLEAN."""
    if type_ != types.BOOLEAN:
        raise ExpressionError(node, "condition", condition, _NO_CONDITION.format(type_.flink))


class _Compiler:
    """Compiles parts of an expression over the columns of a schema."""

    def __init__(self, schema: Schema) -> None:
        self.places = {column.name.lower(): (at, column.type) for at, column in enumerate(schema)}

    def part(self, node: exp.Expr) -> _Part:
        match node:
            case exp.Paren():
                return self.part(node.this)
            case exp.Column():
                return self._column(node)
            case exp.Literal() | exp.Boolean() | exp.Null():
                return _literal(node)
            case exp.And() | exp.Or():
                return self._logic(node)
            case exp.Not():
                inner = self._of_kind(node.this, "boolean").value
                return _Part(lambda row: None if (v := inner(row)) is None else not v, "boolean")
            case exp.Is():
                return self._is(node)
            case exp.NullSafeEQ() | exp.NullSafeNEQ():
                a, b, _ = self._pair(node.this, node.expression)
                same = isinstance(node, exp.NullSafeEQ)
                return _Part(lambda row: (a(row) == b(row)) is same, "boolean")
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                return self._compare(_COMPARISONS[type(node)], node.this, node.expression)
            case exp.Between():
                low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
                return self.part(
                    exp.And(this=low, expression=exp.LTE(this=node.this.copy(), expression=node.args["high"].copy()))
                )
            case exp.In():
                return self._in(node)
            case exp.Like():
                return self._like(node)
            case exp.Add() | exp.Sub() | exp.Mul() | exp.Div() | exp.IntDiv() | exp.Mod() | exp.Neg():
                return self._arithmetic(node)
            case exp.Interval():
                return _interval(node)
            case exp.Cast():
                return self._cast(node)
            case exp.Case() | exp.If():
                return self._case(node)
        match called(node), node.expressions:
            case "coalesce" | "ifnull" | "nvl", [_, *_] as values:
                return self._coalesce(values)
            case "mod", [dividend, divisor]:
                return self._arithmetic(exp.Mod(this=dividend.copy(), expression=divisor.copy()))
            case "abs", [value]:
                number = self._of_kind(value, *_NUMBERS)
                return _Part(_with(abs, number.value), number.kind)
            case name, [text] if name in _OF_TEXTS:
                change, kind = _OF_TEXTS[name]
                return _Part(_with(change, self._of_kind(text, "text").value), kind)
        message = f"{node.sql(dialect='spark')} is not supported"
        raise _Unsupported(message)

    def _column(self, node: exp.Column) -> _Part:
        name = node.name
        if node.table or name.lower() not in self.places:
            message = unknown_name("column", node.sql(dialect="spark"), self.places)
            raise _Unsupported(message)
        place, type_ = self.places[name.lower()]
        return _Part(operator.itemgetter(place), _kind(type_))

    def _of_kind(self, node: exp.Expr, *kinds: str) -> _Part:
        part = self.part(node)
        if part.kind not in (*kinds, "null"):
            message = f"{node.sql(dialect='spark')} is of type {part.kind} where {' or '.join(kinds)} is needed"
            raise _Unsupported(message)
        return part

    def _pair(self, left: exp.Expr, right: exp.Expr) -> tuple[Function, Function, str]:
        """Two parts as values that Python compares as SQL does, and their common kind."""
        a, b = self.part(left), self.part(right)
        if a.kind == b.kind or "null" in (a.kind, b.kind):
            return a.value, b.value, b.kind if a.kind == "null" else a.kind
        if a.kind in _NUMBERS and b.kind in _NUMBERS:
            kind = max(a.kind, b.kind, key=_NUMBERS.index)
            return _as(kind, a), _as(kind, b), kind
        left_sql, other = left.sql(dialect="spark"), right.sql(dialect="spark")
        message = f"{left_sql} is of type {a.kind} and {other} of type {b.kind}; cast one of them"
        raise _Unsupported(message)

    def _compare(self, compare: Callable[[Any, Any], Any], left: exp.Expr, right: exp.Expr) -> _Part:
        return _Part(_both(compare, *self._pair(left, right)[:2]), "boolean")

    def _logic(self, node: exp.And | exp.Or) -> _Part:
        a = self._of_kind(node.this, "boolean").value
        b = self._of_kind(node.expression, "boolean").value
        decides = isinstance(node, exp.Or)

        def value(row: Row) -> Any:
            first = a(row)
            if first is decides:
                return decides
            second = b(row)
            if second is decides:
                return decides
            return None if first is None or second is None else not decides

        return _Part(value, "boolean")

    def _is(self, node: exp.Is) -> _Part:
        inner = self.part(node.this).value
        if isinstance(node.expression, exp.Null):
            return _Part(lambda row: inner(row) is None, "boolean")
        if isinstance(node.expression, exp.Boolean):
            wanted = bool(node.expression.this)
            return _Part(lambda row: inner(row) is wanted, "boolean")
        message = f"{node.sql(dialect='spark')} is not supported"
        raise _Unsupported(message)

    def _in(self, node: exp.In) -> _Part:
        if not node.expressions:
            message = "IN needs a list of values"
            raise _Unsupported(message)
        either: exp.Expr = exp.EQ(this=node.this.copy(), expression=node.expressions[0].copy())
        for item in node.expressions[1:]:
            either = exp.Or(this=either, expression=exp.EQ(this=node.this.copy(), expression=item.copy()))
        return self.part(either)

    def _like(self, node: exp.Like) -> _Part:
        text = self._of_kind(node.this, "text").value
        if not (isinstance(node.expression, exp.Literal) and node.expression.is_string):
            message = "LIKE needs a literal as its pattern"
            raise _Unsupported(message)
        matches, is_match = like(node.expression.this), not node.args.get("negate")
        return _Part(_with(lambda v: matches(v) is is_match, text), "boolean")

    def _arithmetic(self, node: exp.Expr) -> _Part:
        if isinstance(node, exp.Neg):
            number = self._of_kind(node.this, *_NUMBERS)
            return _Part(_with(operator.neg, number.value), number.kind)
        left, right = node.this, node.expression
        shift = self._shifted(node, left, right)
        if shift is not None:
            return shift
        self._of_kind(left, *_NUMBERS)
        self._of_kind(right, *_NUMBERS)
        a, b, kind = self._pair(left, right)
        match node:
            case exp.Add():
                return _Part(_both(operator.add, a, b), kind)
            case exp.Sub():
                return _Part(_both(operator.sub, a, b), kind)
            case exp.Mul():
                return _Part(_both(operator.mul, a, b), kind)
            case exp.Mod():
                return _Part(_both(remainder, a, b), kind)
            case exp.IntDiv():
                return _Part(_both(whole_quotient, a, b), "integer")
            case _:
                return _Part(_both(quotient, a, b), "decimal" if kind == "decimal" else "float")

    def _shifted(self, node: exp.Expr, left: exp.Expr, right: exp.Expr) -> _Part | None:
        """A timestamp plus or minus an interval, or None for anything else."""
        if not (isinstance(node, exp.Add | exp.Sub) and isinstance(right, exp.Interval)):
            return None
        time, by = self._of_kind(left, "timestamp").value, _interval(right).value
        return _Part(_both(operator.add if isinstance(node, exp.Add) else operator.sub, time, by), "timestamp")

    def _cast(self, node: exp.Cast) -> _Part:
        to = spark_type(node.to.sql(dialect="spark").lower())
        if isinstance(node.this, exp.Literal) and node.this.is_string and to.is_time:
            return _moment(node.this.this, to)
        kind = "decimal" if node.to.this is exp.DType.DECIMAL else _kind(to)
        number = self._of_kind(node.this, *_NUMBERS)
        if kind == "integer":
            return _Part(_with(int, number.value), kind)
        if kind in ("float", "decimal"):
            return _Part(_as(kind, number), kind)
        message = f"{node.sql(dialect='spark')} is not supported; cast in a projection before the join"
        raise _Unsupported(message)

    def _coalesce(self, values: Sequence[exp.Expr]) -> _Part:
        parts = self._alike(values)
        return _Part(
            lambda row: next((v for part in parts if (v := part.value(row)) is not None), None), _common(parts)
        )

    def _case(self, node: exp.Case | exp.If) -> _Part:
        if node.this is not None and isinstance(node, exp.Case):
            message = "CASE needs conditions: CASE WHEN a = 1 THEN ..."
            raise _Unsupported(message)
        branches = [node] if isinstance(node, exp.If) else node.args["ifs"]
        tests = [self._of_kind(branch.this, "boolean").value for branch in branches]
        otherwise = node.args.get("false" if isinstance(node, exp.If) else "default") or exp.Null()
        *results, rest = self._alike([*(branch.args["true"] for branch in branches), otherwise])

        def value(row: Row) -> Any:
            for test, result in zip(tests, results, strict=True):
                if test(row) is True:
                    return result.value(row)
            return rest.value(row)

        return _Part(value, _common([*results, rest]))

    def _alike(self, nodes: Sequence[exp.Expr]) -> list[_Part]:
        """Parts of one kind, numbers widened."""
        parts = [self.part(node) for node in nodes]
        kinds = {part.kind for part in parts} - {"null"}
        if len(kinds) > 1 and kinds <= set(_NUMBERS):
            kind = max(kinds, key=_NUMBERS.index)
            return [_Part(_as(kind, part), kind) for part in parts]
        if len(kinds) > 1:
            message = f"{', '.join(node.sql(dialect='spark') for node in nodes)} are of different types; cast them"
            raise _Unsupported(message)
        return parts


def _common(parts: Sequence[_Part]) -> str:
    return next((part.kind for part in parts if part.kind != "null"), "null")


def _kind(type_: types.Type) -> str:
    match type_:
        case types.Decimal():
            return "decimal"
        case types.Timestamp():
            return "timestamp"
        case _:
            return _KINDS.get(type_, str(type_))


def _literal(node: exp.Expr) -> _Part:
    if isinstance(node, exp.Null):
        return _Part(lambda row: None, "null")
    if isinstance(node, exp.Boolean):
        truth = bool(node.this)
        return _Part(lambda row: truth, "boolean")
    text = str(node.this)
    if node.is_string:
        return _Part(lambda row: text, "text")
    if re.fullmatch(r"\d+", text):
        whole = int(text)
        return _Part(lambda row: whole, "integer")
    number: Any = float(text) if "e" in text.lower() else Decimal(text)
    return _Part(lambda row: number, "float" if isinstance(number, float) else "decimal")


def _interval(node: exp.Interval) -> _Part:
    unit = str(node.unit or "").upper().removesuffix("S")
    if unit not in _INTERVALS or not isinstance(node.this, exp.Literal) or not _AMOUNT.fullmatch(node.name):
        message = f"{node.sql(dialect='spark')} is not supported; use DAY, HOUR, MINUTE or SECOND"
        raise _Unsupported(message)
    micros = int(Decimal(node.this.this) * _INTERVALS[unit])
    return _Part(lambda row: micros, "interval")


def _moment(text: str, to: types.Type) -> _Part:
    try:
        if to == types.DATE:
            day = date.fromisoformat(text)
            return _Part(lambda row: day, "date")
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        message = f"{text!r} is not a {to}"
        raise _Unsupported(message) from error
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    micros = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    return _Part(lambda row: micros, "timestamp")


def _as(kind: str, part: _Part) -> Function:
    """A number as the wider kind: an integer becomes a decimal or a float, a decimal becomes a float."""
    if part.kind == kind or part.kind == "null":
        return part.value
    return _with(float if kind == "float" else Decimal, part.value)


def _with(function: Callable[[Any], Any], inner: Function) -> Function:
    return lambda row: None if (v := inner(row)) is None else function(v)


def _both(function: Callable[[Any, Any], Any], a: Function, b: Function) -> Function:
    return lambda row: None if (x := a(row)) is None or (y := b(row)) is None else function(x, y)
