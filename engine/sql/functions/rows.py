"""ROW constructors, fields, comparison and texts as Spark SQL.

ROW(a, b) has the fields EXPR$0 and EXPR$1. Two rows are equal if all their fields are equal; NULL equals NULL. Two
constructors are compared field by field, so that a NULL field makes the result unknown.
Source: Flink RowRowConverter, RowToStringCastRule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.functions.rows import STRUCT
from engine.functions.spark_text import as_type, spark_sql
from engine.model.types import BOOLEAN, VOID, Array, Map, Row, Timestamp, Type, quote
from engine.sql.algebra import Expr, plain
from engine.sql.functions.digits import shown
from engine.sql.rejected import SqlRejected

if TYPE_CHECKING:
    from engine.sql.functions.writer import ExpressionWriter

_ENTRY: Final = ("key", "value")


def constructed(node: Expr) -> Sequence[Expr] | None:
    """The values of ROW(a, b) or (a, b); None for anything else."""
    bare = node.unnest()
    if isinstance(bare, exp.Tuple) or (isinstance(bare, exp.Anonymous) and bare.name.upper() == "ROW"):
        values: Sequence[Expr] = bare.expressions
        return values
    return None


def field(writer: ExpressionWriter, node: exp.Dot) -> str:
    """A field of a row. Raises SqlRejected for an unknown field."""
    value = writer.write(node.this)
    type_ = writer.type_of(value)
    name = node.expression.name
    names = [field_name for field_name, _ in type_.fields] if isinstance(type_, Row) else []
    if name not in names:
        there = f"it has {', '.join(names)}" if names else f"it is {type_.flink}, which has no fields"
        message = f"there is no field {name!r} in {node.this.name or 'the value'!r}: {there}."
        raise SqlRejected(message, node)
    if plain(node.this) is not None or isinstance(node.this, exp.Dot):
        # All parts are one name.
        return spark_sql(f"{value}.{quote(name)}")
    return spark_sql("({}).{name}", value, name=quote(name))


def equal_fields(left: Expr, right: Expr) -> Expr | None:
    """The equality of two constructors, field by field; None unless both are constructors of one length."""
    own, others = constructed(left), constructed(right)
    if not own or not others or len(own) != len(others):
        return None
    whole: Expr | None = None
    for part, other in zip(own, others, strict=True):
        same = exp.EQ(this=part.copy(), expression=other.copy())
        whole = same if whole is None else exp.And(this=whole, expression=same)
    return whole


def of_one_type(writer: ExpressionWriter, values: Sequence[str]) -> list[str]:
    """The written values; constructed rows are cast to the type of the first row that is not NULL."""
    if not any(STRUCT in value for value in values):
        return list(values)
    types = [writer.type_of(value) for value in values]
    first = next((type_ for type_ in types if type_.has_row), VOID)
    return [
        value if type_ in (first, VOID) or not type_.has_row else as_type(value, first)
        for value, type_ in zip(values, types, strict=True)
    ]


def as_text(value: str, type_: Type, depth: int = 0) -> str:
    """A value as Flink prints it in rows, lists and maps: (1, NULL), [a, b], {k=v}; NULL for NULL."""
    item, key = f"x{depth}", f"e{depth}"
    if isinstance(type_, Row):
        parts = (_part(f"({value}).{quote(name)}", inner, depth) for name, inner in type_.fields)
        inside = f"concat('(', concat_ws(', ', {', '.join(parts)}), ')')"
    elif isinstance(type_, Array):
        parts_ = f"transform({value}, {item} -> {_part(item, type_.element, depth + 1)})"
        inside = f"concat('[', array_join({parts_}, ', '), ']')"
    elif isinstance(type_, Map):
        of_key, of_value = (_part(f"{key}.{of}", part, depth + 1) for of, part in zip(_ENTRY, type_.parts, strict=True))
        entry = f"concat({of_key}, '=', {of_value})"
        inside = f"concat('{{', array_join(transform(map_entries({value}), {key} -> {entry}), ', '), '}}')"
    elif type_ == BOOLEAN:
        return f"upper(CAST({value} AS STRING))"
    elif isinstance(type_, Timestamp):
        return shown(value, type_.precision)
    else:
        return f"CAST({value} AS STRING)"
    return f"CASE WHEN {value} IS NOT NULL THEN {inside} END"


def _part(value: str, type_: Type, depth: int) -> str:
    return f"coalesce({as_text(value, type_, depth)}, 'NULL')"
