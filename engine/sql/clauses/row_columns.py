"""The fields of ROW columns, as far as the tables below a query declare them.

A query is read before its types are known; only `r.*` and UNNEST without names need the fields that early.
"""

from __future__ import annotations

from sqlglot import exp

from engine.model.schema import Schema
from engine.model.types import Array, Row, Type
from engine.sql.algebra import Aggregate, Expr, Join, Relation, Scan, Select, Union
from engine.sql.written import SetOperation


def rows_in(schema: Schema) -> tuple[tuple[str, Type], ...]:
    """The columns with ROW values, with their types."""
    return tuple((column.name, column.type) for column in schema if column.type.has_row)


def row_type_of(relation: Relation, value: Expr) -> Type | None:
    """The type of a bound column, or of a field of one, if it has ROW values; None if unknown."""
    bare = value.unnest()
    if isinstance(bare, exp.Column):
        return _column(relation, bare.name)
    if isinstance(bare, exp.Dot):
        below = row_type_of(relation, bare.this)
        type_ = dict(below.fields).get(bare.expression.name) if isinstance(below, Row) else None
        return type_ if type_ is not None and type_.has_row else None
    return None


def fields_in(relation: Relation, value: Expr) -> tuple[str, ...]:
    """The field names of a row, or of the rows in an array; empty if unknown."""
    type_ = row_type_of(relation, value)
    row = type_.element if isinstance(type_, Array) else type_
    return tuple(name for name, _ in row.fields) if isinstance(row, Row) else ()


def _column(relation: Relation, name: str) -> Type | None:
    match relation:
        case Scan():
            return dict(relation.table.rows).get(name)
        case Select(input=below, items=items) | Aggregate(input=below, groups=items):
            item = dict(items).get(name)
            return row_type_of(below, item) if item is not None else None
        case Join():
            if name in relation.left.columns:
                return _column(relation.left, name)
            own = next((own for own, there in relation.right_names.items() if there == name), None)
            return _column(relation.right, own) if own is not None else None
        case SetOperation(left=left):
            return _column(left, name)
        case Union():
            at = relation.columns.index(name)
            return _column(relation.inputs[0], relation.inputs[0].columns[at])
        case _:
            inner: Relation | None = getattr(relation, "input", None)
            return _column(inner, name) if inner is not None and name in inner.columns else None
