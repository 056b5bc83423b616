"""The expressions with the same meaning on Arrow columns as on Spark, compiled once; None for all others.

Spark 4 is strict: an overflow or a value that does not fit stops the run, also here. Spark skips operands that it
does not need, such as the right side of FALSE AND or NULL +; if such an operand could fail, it gets NULLs here.
Not compiled: floating point and decimals (except to pass them on), functions of strings, and expressions that
sqlglot and Spark group differently (a comparison of comparisons, without brackets).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Final

from sqlglot import exp

from engine.expressions.parsing import called
from engine.expressions.part_types import Unknown, declared_type
from engine.expressions.parts import (
    CompiledPart,
    OnlySpark,
    alike,
    as_boolean,
    common,
    compared,
    constant,
    converted,
    failing,
    fits,
    fitting,
    is_ordered,
    moment,
    number,
    only_where,
    risks,
    where_not_null,
    whole,
)
from engine.expressions.vectors import (
    ArrowFunction,
    Call,
    Constant,
    Converted,
    FloorDivided,
    InputColumn,
    InZone,
    OneOf,
    Remainder,
    Vector,
)
from engine.model.schema import Column, Schema
from engine.model.types import (
    BIGINT,
    BOOLEAN,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    Type,
)
from engine.model.zones import zone_named

_COMPARISONS: Final[dict[type[exp.Expr], str]] = {
    exp.EQ: "equal",
    exp.NEQ: "not_equal",
    exp.LT: "less",
    exp.LTE: "less_equal",
    exp.GT: "greater",
    exp.GTE: "greater_equal",
}
_ARITHMETIC: Final[dict[type[exp.Expr], tuple[str, Callable[[int, int], int]]]] = {
    exp.Add: ("add_checked", lambda a, b: a + b),
    exp.Sub: ("subtract_checked", lambda a, b: a - b),
    exp.Mul: ("multiply_checked", lambda a, b: a * b),
}
_TRUE: Final = Constant(True, BOOLEAN)
_FALSE: Final = Constant(False, BOOLEAN)


def compiled(sql: str, tree: exp.Expr, schema: Schema) -> ArrowFunction | None:
    """An expression over these columns as a function of their Arrow columns, or None."""
    try:
        part = _Compiler(sql, schema).part(tree)
    except (OnlySpark, RecursionError):
        return None
    return ArrowFunction(sql, part.type, part.value)


def cast_to(function: ArrowFunction, type_: Type) -> ArrowFunction | None:
    """A compiled expression cast to a type, or None."""
    try:
        part = converted(CompiledPart(function.value, function.type), type_)
    except (OnlySpark, ValueError):
        return None
    return ArrowFunction(function.sql, part.type, part.value)


class _Compiler:
    """Compiles parts of one expression over the columns of a schema."""

    def __init__(self, sql: str, schema: Schema) -> None:
        self.columns = {column.name.lower(): column for column in schema}
        # The meaning of a backslash within quotes depends on the parser.
        self.has_escapes = "\\" in sql

    def part(self, node: exp.Expr) -> CompiledPart:
        match node:
            case exp.Paren():
                return self.part(node.this)
            case exp.Column() if not node.table:
                return self._column(node.name)
            case exp.Literal():
                return self._literal(node)
            case exp.Boolean():
                return constant(bool(node.this), BOOLEAN)
            case exp.Null():
                return constant(None, VOID)
            case exp.Neg():
                return self._negated(node)
            case exp.Add() | exp.Sub() | exp.Mul():
                return self._arithmetic(node)
            case exp.Mod():
                return self._remainder(node.this, node.expression, is_positive=False)
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                operand, other = self._operand(node.this), self._operand(node.expression)
                return compared(_COMPARISONS[type(node)], operand, other)
            case exp.NullSafeEQ() | exp.NullSafeNEQ():
                return self._same(node)
            case exp.And() | exp.Or():
                return self._logic(node)
            case exp.Not():
                inner = as_boolean(self.part(node.this))
                return replace(inner, value=Call("invert", (inner.value,)))
            case exp.Is():
                return self._is(node)
            case exp.Between() if not node.args.get("symmetric"):
                return self._between(node)
            case exp.In() if node.expressions:
                return self._in(node)
            case exp.Case() | exp.If():
                return self._case(node)
            case exp.Cast() if not node.args.get("safe") and not node.args.get("format"):
                return self._cast(node)
        return self._called(called(node), node.expressions)

    def _column(self, name: str) -> CompiledPart:
        column = self.columns.get(name.lower())
        if column is None:
            raise OnlySpark
        return CompiledPart(InputColumn(column.name, _read_as(column)), column.type, needs=frozenset({column.name}))

    def _literal(self, node: exp.Literal) -> CompiledPart:
        text = str(node.this)
        if node.is_string:
            if self.has_escapes:
                raise OnlySpark
            return constant(text, STRING)
        if not (text.isascii() and text.isdigit()):
            raise OnlySpark
        return whole(int(text))

    def _operand(self, node: exp.Expr) -> CompiledPart:
        """A side of a comparison. Raises OnlySpark for predicates, AND, OR and NOT, which bind less tightly."""
        if isinstance(node, exp.Predicate | exp.Connector | exp.Not):
            raise OnlySpark
        return self.part(node)

    def _negated(self, node: exp.Neg) -> CompiledPart:
        if isinstance(node.this, exp.Literal) and not node.this.is_string and str(node.this.this).isdigit():
            # -2147483648 is an INT, but 2147483648 is not.
            return whole(-int(str(node.this.this)))
        positive = number(self.part(node.this))
        if positive.constant is not None:
            return fitting(-positive.constant.value, positive.type)
        return failing(replace(positive, value=Call("negate_checked", (positive.value,))))

    def _arithmetic(self, node: exp.Expr) -> CompiledPart:
        function, of_constants = _ARITHMETIC[type(node)]
        operand, other, type_ = alike(number(self._operand(node.this)), number(self._operand(node.expression)))
        if operand.constant is not None and other.constant is not None:
            return fitting(of_constants(operand.constant.value, other.constant.value), type_)
        needs = None if operand.needs is None or other.needs is None else operand.needs | other.needs
        other = where_not_null(operand, other)
        return failing(CompiledPart(Call(function, (operand.value, other.value)), type_, *risks(operand, other), needs))

    def _remainder(self, dividend: exp.Expr, divisor: exp.Expr, *, is_positive: bool) -> CompiledPart:
        operand, other, type_ = alike(number(self._operand(dividend)), number(self._operand(divisor)))
        by = 0 if other.constant is None else int(other.constant.value)
        # The sign of the divisor only matters for PMOD.
        if by == 0 or (is_positive and by < 0) or not fits(abs(by), type_):
            raise OnlySpark
        return replace(operand, value=Remainder(operand.value, abs(by), is_positive), type=type_)

    def _same(self, node: exp.Expr) -> CompiledPart:
        """IS NOT DISTINCT FROM, or IS DISTINCT FROM: NULL is equal to NULL."""
        operand, other, type_ = alike(self._operand(node.this), self._operand(node.expression))
        if not is_ordered(type_) and type_ != BOOLEAN:
            raise OnlySpark
        both_null = Call("and", (Call("is_null", (operand.value,)), Call("is_null", (other.value,))))
        same: Vector = Call("coalesce", (Call("equal", (operand.value, other.value)), both_null))
        if isinstance(node, exp.NullSafeNEQ):
            same = Call("invert", (same,))
        return CompiledPart(same, BOOLEAN, *risks(operand, other))

    def _logic(self, node: exp.Expr) -> CompiledPart:
        parts = [as_boolean(self.part(part)) for part in node.flatten()]
        return reduce(_both if isinstance(node, exp.And) else _either, parts)

    def _is(self, node: exp.Is) -> CompiledPart:
        inner = self._operand(node.this)
        match node.expression:
            case exp.Null():
                return CompiledPart(Call("is_null", (inner.value,)), BOOLEAN, *risks(inner))
            case exp.Boolean():
                truth = as_boolean(inner)
                wanted = truth.value if node.expression.this else Call("invert", (truth.value,))
                return CompiledPart(Call("coalesce", (wanted, _FALSE)), BOOLEAN, *risks(inner))
        raise OnlySpark

    def _between(self, node: exp.Between) -> CompiledPart:
        value = self._operand(node.this)
        above = compared("greater_equal", value, self._operand(node.args["low"]))
        high = self._operand(node.args["high"])
        below = compared("less_equal", value, high)
        # The tested value was already computed for the lower bound.
        return _both(above, replace(below, can_fail=high.can_fail, fails_on_null=high.fails_on_null))

    def _in(self, node: exp.In) -> CompiledPart:
        value, *items = (self._operand(part) for part in (node.this, *node.expressions))
        if any(item.constant is None for item in items) or value.type == VOID:
            raise OnlySpark
        type_ = common([value, *items])
        if not is_ordered(type_):
            raise OnlySpark
        values = [item.constant.value for item in items if item.constant is not None]
        non_null = tuple(literal for literal in values if literal is not None)
        one_of = OneOf(converted(value, type_).value, non_null, type_, len(non_null) < len(values))
        return CompiledPart(one_of, BOOLEAN, *risks(value))

    def _coalesce(self, nodes: Sequence[exp.Expr]) -> CompiledPart:
        parts = [self.part(node) for node in nodes]
        type_ = common(parts)
        if type_ == VOID:
            raise OnlySpark

        def first(one: CompiledPart, other: CompiledPart) -> CompiledPart:
            other = only_where(other, Call("is_null", (one.value,)))
            return CompiledPart(Call("coalesce", (one.value, other.value)), type_, *risks(one, other))

        return reduce(first, (converted(part, type_) for part in parts))

    def _case(self, node: exp.Case | exp.If) -> CompiledPart:
        if isinstance(node, exp.Case) and node.this is not None:
            raise OnlySpark
        branches = [node] if isinstance(node, exp.If) else node.args["ifs"]
        otherwise = node.args.get("false" if isinstance(node, exp.If) else "default") or exp.Null()
        tests = [as_boolean(self.part(branch.this)) for branch in branches]
        *results, rest = (self.part(value) for value in (*(branch.args["true"] for branch in branches), otherwise))
        type_ = common([*results, rest])
        if type_ == VOID:
            raise OnlySpark
        chosen = converted(rest, type_)
        for test, result in zip(reversed(tests), reversed(results), strict=True):
            holds = Call("coalesce", (test.value, _FALSE))
            then = only_where(converted(result, type_), holds)
            chosen = only_where(chosen, Call("invert", (holds,)))
            chosen = CompiledPart(Call("if_else", (holds, then.value, chosen.value)), type_, *risks(test, then, chosen))
        return chosen

    def _cast(self, node: exp.Cast) -> CompiledPart:
        try:
            type_ = declared_type(node.to)
        except Unknown as error:
            raise OnlySpark from error
        if isinstance(node.this, exp.Literal) and type_.is_time:
            return moment(str(node.this.this), type_)
        return converted(self.part(node.this), type_)

    def _in_zone(self, ends: Sequence[exp.Expr], time: exp.Expr) -> CompiledPart:
        """A TIMESTAMP from UTC to a zone, or from a zone to UTC."""
        value = self.part(time)
        if value.type != TIMESTAMP_NTZ or not all(isinstance(end, exp.Literal) for end in ends):
            raise OnlySpark
        try:
            given, wanted = (zone_named(str(end.this)) for end in ends)
        except ValueError as error:
            raise OnlySpark from error
        zone = given or wanted
        if zone is None or (given and wanted):
            raise OnlySpark
        return replace(value, value=InZone(value.value, zone, given is not None))

    def _called(self, function: str, arguments: Sequence[exp.Expr]) -> CompiledPart:
        match function, arguments:
            case "coalesce" | "ifnull" | "nvl", [_, *_]:
                return self._coalesce(arguments)
            case (("mod" | "pmod"), [dividend, divisor]):
                return self._remainder(dividend, divisor, is_positive=function == "pmod")
            case "timestamp_millis", [value]:
                millis = converted(number(self.part(value)), BIGINT)
                micros = Call("multiply_checked", (millis.value, Constant(1000, BIGINT)))
                return failing(replace(millis, value=Converted(micros, TIMESTAMP), type=TIMESTAMP))
            case "unix_millis", [value] if (instant := self.part(value)).type.is_instant:
                return replace(instant, value=FloorDivided(instant.value, 1000), type=BIGINT)
            case "convert_timezone", [given, wanted, time]:
                return self._in_zone((given, wanted), time)
        raise OnlySpark


def _read_as(column: Column) -> Type | None:
    """The type in which a column is read; None (unchanged) for a nested type, which is only passed on."""
    return None if column.type.unsupported or column.type.is_nested else column.type


def _both(one: CompiledPart, other: CompiledPart) -> CompiledPart:
    """AND; its right side is skipped where the left side is FALSE."""
    other = only_where(other, Call("coalesce", (one.value, _TRUE)))
    return CompiledPart(Call("and_kleene", (one.value, other.value)), BOOLEAN, *risks(one, other))


def _either(one: CompiledPart, other: CompiledPart) -> CompiledPart:
    """OR; its right side is skipped where the left side is TRUE."""
    other = only_where(other, Call("invert", (Call("coalesce", (one.value, _FALSE)),)))
    return CompiledPart(Call("or_kleene", (one.value, other.value)), BOOLEAN, *risks(one, other))
