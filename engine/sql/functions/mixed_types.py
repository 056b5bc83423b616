"""Numbers beside texts, which Spark converts and Flink refuses: in =, <> and IS DISTINCT FROM, arithmetic and ||.

Of those only columns and literals are looked at. In <, > and BETWEEN Flink makes a number of the text, of the kind that
it is compared with: `ordered`. The results of CASE and the like are of one kind: `united`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.errors import StudioError
from engine.functions.spark_text import spark_sql
from engine.model.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    FLOATS,
    INTEGER_DIGITS,
    STRING,
    Decimal,
    Timestamp,
    Type,
)
from engine.sql.algebra import Expr
from engine.sql.dialect import Flink
from engine.sql.functions.casts import spark_type
from engine.sql.rejected import SqlRejected

if TYPE_CHECKING:
    from engine.sql.functions.writer import ExpressionWriter

_FAMILIES: Final[dict[Type, str]] = {STRING: "text", BOOLEAN: "truth value", BINARY: "value of bytes", DATE: "time"}
_MOST_DIGITS: Final = 38
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


def ordered(writer: ExpressionWriter, sides: Sequence[Expr]) -> Sequence[Expr]:
    """The sides of <, > or BETWEEN, a text beside a number as a number. Source: the plans of Flink 2.3."""
    kinds = [_kind(writer, side) for side in sides]
    if not {"number", "text"} & set(kinds) or {*kinds} == {"number"}:
        return sides
    types = [_type(writer, side) for side in sides]
    if STRING not in types or not (numbers := [type_ for type_ in types if type_.is_number]):
        return sides
    as_type = exp.DataType.build(_as_number(numbers).flink, dialect=Flink)
    return [exp.cast(side, as_type) if type_ == STRING else side for side, type_ in zip(sides, types, strict=True)]


def united(writer: ExpressionWriter, node: Expr, values: list[str]) -> list[str]:
    """Values of which one is the result, such as those of a CASE: next to a DECIMAL a BIGINT has 19 digits, not 20.

    Raises SqlRejected for values of several kinds, such as a number and a text.
    """
    try:
        types = [STRING if value.startswith("'") else writer.type_of(value) for value in values]
    except StudioError:
        # What is wrong with them, the node says.
        return values
    kinds = [*dict.fromkeys(filter(None, map(_family, types)))]
    if len(kinds) > 1:
        message = f"its values are a {' and a '.join(kinds)}, for which Flink has no type. CAST them to one type."
        raise SqlRejected(message, node)
    if BIGINT not in types or not any(isinstance(type_, Decimal) for type_ in types):
        return values
    return [
        spark_sql("CAST({} AS DECIMAL(19, 0))", value) if type_ == BIGINT else value
        for value, type_ in zip(values, types, strict=True)
    ]


def _as_number(numbers: Sequence[Type]) -> Type:
    for type_ in numbers:
        if type_ in FLOATS:
            return type_
    decimals = [type_ for type_ in numbers if isinstance(type_, Decimal)]
    if not decimals:
        return BIGINT
    scale = max(type_.scale for type_ in decimals)
    digits = max(INTEGER_DIGITS[BIGINT], *(type_.precision - type_.scale for type_ in decimals))
    return Decimal(min(digits + scale, _MOST_DIGITS), scale)


def _type(writer: ExpressionWriter, side: Expr) -> Type:
    bare = side.unnest()
    # What it says: a chain of views is written once for each view otherwise.
    if isinstance(bare, exp.Cast) and (type_ := spark_type(bare.to)[0]) is not None and type_.is_number:
        return type_
    return writer.type_of(writer.write(side))


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
    type_ = _type(writer, bare)
    if type_ == STRING:
        return "text"
    return "number" if type_.is_number else ""
