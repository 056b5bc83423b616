"""Numbers beside texts, which Spark converts and Flink refuses: in =, <> and IS DISTINCT FROM, arithmetic and ||.

Flink converts them in <, BETWEEN and IN. Only columns and literals are looked at: their types are known without asking
Spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.model.types import BINARY, BOOLEAN, DATE, STRING, Timestamp, Type
from engine.sql.algebra import Expr
from engine.sql.dialect import Flink
from engine.sql.rejected import SqlRejected

if TYPE_CHECKING:
    from engine.sql.functions.writer import ExpressionWriter

_FAMILIES: Final[dict[Type, str]] = {STRING: "text", BOOLEAN: "truth value", BINARY: "bytes", DATE: "time"}
_COMPARED: Final = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ)


def refuse_mixed(writer: ExpressionWriter, node: Expr) -> None:
    """Raises SqlRejected for an operator that Flink does not have for a number and a text."""
    sides = [node.this, node.expression]
    kinds = [_kind(writer, side) for side in sides]
    if {*kinds} != {"number", "text"}:
        return
    number, text = (sides[kinds.index(kind)].sql(dialect=Flink) for kind in ("number", "text"))
    if isinstance(node, exp.DPipe):
        why = f"|| puts texts together. Write CAST({number} AS STRING)."
    elif isinstance(node, _COMPARED):
        why = f"Flink does not compare them so. Write CAST({text} AS INT), or another number."
    else:
        why = f"a text has no arithmetic. Write CAST({text} AS INT), or another number."
    message = f"{number} is a number and {text} a text: {why}"
    raise SqlRejected(message, node)


def mixed(given: Type, wanted: Type) -> bool:
    """Whether INSERT does not convert between two types: a text and a number, say. False if one is another kind.

    Source: Flink LogicalTypeCasts.supportsImplicitCast.
    """
    kinds = {_family(given), _family(wanted)}
    return len(kinds) == 2 and "" not in kinds


def _family(type_: Type) -> str:
    if isinstance(type_, Timestamp):
        return "time"
    if type_.is_number:
        return "number"
    return _FAMILIES.get(type_, "")


def _kind(writer: ExpressionWriter, side: Expr) -> str:
    bare = side.unnest()
    if isinstance(bare, exp.Literal):
        return "text" if bare.is_string else "number"
    if not isinstance(bare, exp.Column):
        return ""
    type_ = writer.type_of(writer.write(bare))
    if type_ == STRING:
        return "text"
    return "number" if type_.is_number else ""
