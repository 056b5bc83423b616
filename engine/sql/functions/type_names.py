"""TYPEOF: Flink's name for the type of an expression, as a string constant.

A type is NOT NULL if no part of the expression can be NULL. Only the strings of literals and CASTs have a length.
Source: Flink TypeOfFunction.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.functions.spark_text import literal
from engine.model.types import Time, Timestamp
from engine.sql.algebra import Expr
from engine.sql.dialect import Flink
from engine.sql.functions.casts import spark_type
from engine.sql.functions.digits import digits_of
from engine.sql.rejected import SqlRejected

if TYPE_CHECKING:
    from engine.sql.functions.writer import ExpressionWriter

_LONGEST: Final = (1 << 31) - 1
_MAKES_NULL: Final = (exp.Null, exp.TryCast, exp.Bracket)


def type_name(writer: ExpressionWriter, call: exp.Anonymous) -> str:
    """TYPEOF(x), or TYPEOF(x, TRUE) with the lengths of strings and bytes. Raises SqlRejected."""
    value, *more = call.expressions
    is_long = more[0].unnest() if more else exp.false()
    if not isinstance(is_long, exp.Boolean):
        message = "TYPEOF takes an expression, and TRUE or FALSE: whether texts have their longest name."
        raise SqlRejected(message, call)
    bare = value.unnest()
    if isinstance(bare, exp.Null):
        return literal("NULL")
    name = _named(writer, bare)
    if is_long.this:
        name = name.replace("STRING", f"VARCHAR({_LONGEST})").replace("BYTES", f"VARBINARY({_LONGEST})")
    return literal(name if _can_be_null(writer, bare) else f"{name} NOT NULL")


def _named(writer: ExpressionWriter, value: Expr) -> str:
    if isinstance(value, exp.Literal) and value.is_string:
        return f"CHAR({len(value.name)})"
    if isinstance(value, exp.Cast):
        target, length = spark_type(value.to)
        written: str = value.to.sql(dialect=Flink).upper()
        if length is not None:
            return written if "(" in written else f"{written}(1)"
        if target is not None and not isinstance(target, Time | Timestamp):
            return target.flink
    type_ = writer.type_of(writer.write(value))
    return replace(type_, precision=digits_of(writer, value)).flink if isinstance(type_, Timestamp) else type_.flink


def _can_be_null(writer: ExpressionWriter, value: Expr) -> bool:
    if isinstance(value, exp.Case | exp.If):
        branches = [branch.args["true"] for branch in value.args.get("ifs", [value])]
        default = value.args.get("default" if isinstance(value, exp.Case) else "false")
        return default is None or any(_can_be_null(writer, branch.unnest()) for branch in (*branches, default))
    if isinstance(value, exp.Is | exp.NullSafeEQ | exp.NullSafeNEQ):
        return False
    if isinstance(value, exp.Anonymous) and value.name.upper() in ("COALESCE", "IFNULL"):
        return all(_can_be_null(writer, argument.unnest()) for argument in value.expressions)
    if isinstance(value, exp.Column):
        return writer.is_nullable(value.name)
    return isinstance(value, _MAKES_NULL) or any(
        _can_be_null(writer, operand) for operand in value.iter_expressions() if not isinstance(operand, exp.DataType)
    )
