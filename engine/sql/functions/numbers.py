"""Arithmetic and rounding with Flink's types.

The quotient of integers is an integer, a division of doubles by zero is infinite, FLOAT stays FLOAT, and an integer
literal next to a DECIMAL is as wide as an INT."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.expressions.calls import SIGNS
from engine.functions.spark_text import as_type, spark_sql, written_number
from engine.model.types import BIGINT, DOUBLE, FLOAT, FLOATS, INT, INTEGERS, Decimal, Type
from engine.sql.algebra import Expr
from engine.sql.functions.times import added

if TYPE_CHECKING:
    from engine.sql.functions.writer import ExpressionWriter

_WHOLE: Final = {
    "floor": "CASE WHEN rint({0}) > {0} THEN rint({0}) - 1 ELSE rint({0}) END",
    "ceil": "CASE WHEN {0} > -1 AND {0} < 0 THEN double('-0.0') WHEN rint({0}) < {0} THEN rint({0}) + 1 "
    "ELSE rint({0}) END",
}
_SOME_DECIMAL: Final = Decimal(38, 0)


def arithmetic(writer: ExpressionWriter, node: Expr) -> str:
    """a + b and the like."""
    sides = [node.this, node.expression]
    left, right = (writer.write(side) for side in sides)
    if isinstance(node, exp.Div):
        return _divided(writer, sides, left, right)
    if isinstance(node, exp.Mod):
        return remainder(writer, sides, left, right)
    if isinstance(node, exp.Add | exp.Sub) and not any(map(_bare_number, sides)):
        shifted = added(writer, node, left, right)
        if shifted is not None:
            return shifted
    left, right = _widened(writer, sides, left, right)
    computed = spark_sql("({} {sign} {})", left, right, sign=SIGNS[type(node)])
    return _as_float(writer, computed, left, right)


def number(literal: exp.Literal) -> str:
    """The literal of a number. Of 0.5 Spark does not count the zero among the digits."""
    decimal = _fraction_literal(literal)
    written = written_number(literal.name)
    return spark_sql("CAST({} AS {type})", written, type=decimal) if decimal else written


def remainder(writer: ExpressionWriter, sides: list[Expr], left: str, right: str) -> str:
    """a % b; for integers with the type of b."""
    left, right = _widened(writer, sides, left, right)
    modulo = spark_sql("({} % {})", left, right)
    types = [writer.type_of(side) for side in (left, right)]
    is_narrowed = all(type_ in INTEGERS for type_ in types) and INTEGERS.index(types[1]) < INTEGERS.index(types[0])
    return as_type(modulo, types[1]) if is_narrowed else modulo


def rounded(writer: ExpressionWriter, call: exp.Floor | exp.Ceil) -> str:
    """FLOOR and CEIL of a number, in its type."""
    value = writer.write(call.this)
    name = "floor" if isinstance(call, exp.Floor) else "ceil"
    whole = spark_sql("{name}({})", value, name=name)
    type_ = writer.type_of(value)
    if type_ in FLOATS:
        # Spark's floor and ceil return BIGINT, which has no -0.0 and a smaller range.
        whole = spark_sql(_WHOLE[name], value)
    if isinstance(type_, Decimal):
        type_ = Decimal(type_.precision, 0)
    return as_type(whole, type_)


def _divided(writer: ExpressionWriter, sides: list[Expr], left: str, right: str) -> str:
    types = [writer.type_of(side) for side in (left, right)]
    if all(type_ in INTEGERS for type_ in types):
        wider = max(types, key=INTEGERS.index)
        return as_type(spark_sql("{} div {}", left, right), wider)
    if any(type_ in FLOATS for type_ in types):
        quotient = spark_sql("({} / {})", left, right)
        if not _is_not_zero(sides[1]):
            quotient = spark_sql("(CASE WHEN {1} = 0 THEN {0} * double('Infinity') ELSE {0} / {1} END)", left, right)
        return _as_float(writer, quotient, left, right)
    left, right = _widened(writer, sides, left, right)
    return spark_sql("({} / {})", left, right)


def _widened(writer: ExpressionWriter, sides: list[Expr], left: str, right: str) -> tuple[str, str]:
    """Both sides, as wide as in Flink.

    Next to a DECIMAL, Spark counts only the digits of an integer literal, and one more than Flink for a BIGINT.
    """
    texts = [left, right]
    # Literals need not be analyzed.
    types = [_type_of(writer, *pair) for pair in zip(sides, texts, strict=True)]
    for at, side in enumerate(sides):
        other = types[1 - at]
        if not isinstance(other, Decimal):
            continue
        elif _is_integer_literal(side):
            texts[at] = as_type(texts[at], writer.type_of(texts[at]))
        elif types[at] == BIGINT:
            texts[at] = as_type(texts[at], Decimal(19, 0))
    return texts[0], texts[1]


def _type_of(writer: ExpressionWriter, side: Expr, text: str) -> Type:
    literal = _bare_number(side)
    if literal is None:
        return writer.type_of(text)
    return INT if literal.is_int else DOUBLE if "E" in literal.name.upper() else _SOME_DECIMAL


def _fraction_literal(side: Expr) -> str:
    """The type of a literal that begins with a zero, such as 0.25; empty for anything else."""
    literal = _bare_number(side)
    if literal is None or not re.fullmatch(r"0\d*[.]\d+", literal.name):
        return ""
    whole, _, fraction = literal.name.partition(".")
    return f"DECIMAL({len(whole) + len(fraction)}, {len(fraction)})"


def _as_float(writer: ExpressionWriter, computed: str, left: str, right: str) -> str:
    types: set[Type]
    types = {writer.type_of(side) for side in (left, right)} if FLOAT in _cheap_types(writer, left, right) else set()
    return as_type(computed, FLOAT) if FLOAT in types and types <= {*INTEGERS, *FLOATS} else computed


def _cheap_types(writer: ExpressionWriter, *sides: str) -> set[Type]:
    return {writer.type_of(side) for side in sides if not re.fullmatch(r"-?\d+", side)}


def _is_integer_literal(side: Expr) -> bool:
    bare = _bare_number(side)
    return bare is not None and bare.is_int


def _bare_number(side: Expr) -> exp.Literal | None:
    """The literal of a number, without parentheses and a sign."""
    bare = side.unnest()
    bare = bare.this.unnest() if isinstance(bare, exp.Neg) else bare
    return bare if isinstance(bare, exp.Literal) and not bare.is_string else None


def _is_not_zero(side: Expr) -> bool:
    bare = side.unnest()
    return isinstance(bare, exp.Literal) and not bare.is_string and float(bare.name) != 0
