"""Values that are NOT NULL by type: their COUNT is COUNT(*), and IS NOT NULL tests on them are dropped, as in Flink.

A condition does not change a type: after WHERE c IS NOT NULL the column is as nullable as before.
Source: Calcite SqlToRelConverter.AggConverter, RexSimplify.simplifyIsNotNull.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sqlglot import exp

from engine.aggregates.registry import functions
from engine.sql.algebra import (
    Aggregate,
    Expr,
    Filter,
    Join,
    Numbered,
    Over,
    Rank,
    Relation,
    Repeated,
    Scan,
    Select,
    Table,
    Union,
    Unnested,
    Windowed,
    conjuncts,
)

IsDeclared = Callable[[Table, str], bool]
"""Whether a table is known to declare a column NOT NULL."""

_STRICT: Final = (exp.Paren, exp.Add, exp.Sub, exp.Mul, exp.Neg)


def without_certain(relation: Relation, condition: Expr) -> list[Expr]:
    """The parts of a condition that are not already true by type."""
    return [part for part in conjuncts(condition) if not _is_certain(relation, part)]


def is_never_null(relation: Relation, value: Expr, is_declared: IsDeclared = lambda _table, _column: False) -> bool:
    """Whether a value of the relation's columns is never NULL."""

    def of_each(*values: Expr | None) -> list[bool]:
        return [operand is not None and is_never_null(relation, operand, is_declared) for operand in values]

    match value:
        case exp.Column():
            return _is_never_null_column(relation, value.name, is_declared)
        case exp.Literal() | exp.Boolean():
            return True
        case exp.Anonymous() if value.name.upper() == "COALESCE":
            return any(of_each(*value.expressions))
        case exp.Case():
            return all(of_each(*(branch.args["true"] for branch in value.args["ifs"]), value.args.get("default")))
        case exp.TryCast():
            return False
        case exp.Cast():
            return all(of_each(value.this))
    return isinstance(value, _STRICT) and all(of_each(*value.iter_expressions()))


def _is_certain(relation: Relation, part: Expr) -> bool:
    asked = part.this.unnest() if isinstance(part, exp.Not) else None
    return isinstance(asked, exp.Is) and isinstance(asked.expression, exp.Null) and is_never_null(relation, asked.this)


def _is_never_null_column(relation: Relation, name: str, is_declared: IsDeclared) -> bool:
    def below(input_: Relation, value: Expr | str) -> bool:
        if isinstance(value, str):
            return _is_never_null_column(input_, value, is_declared)
        return _never_gives_null(value) or is_never_null(input_, value, is_declared)

    match relation:
        case Scan():
            return is_declared(relation.table, name)
        case Select():
            return below(relation.input, dict(relation.items)[name])
        case Aggregate():
            return below(relation.input, dict((*relation.groups, *relation.calls))[name])
        case Over() if name in dict(relation.calls):
            return _never_gives_null(dict(relation.calls)[name])
        case Numbered() | Rank() if name == relation.name:
            return True
        case Windowed() if name in relation.bounds:
            return True
        case Join() if name in relation.left.columns:
            return not relation.kind.keeps_right and below(relation.left, name)
        case Join():
            own = next(column for column, shown in relation.right_names.items() if shown == name)
            return not relation.kind.keeps_left and below(relation.right, own)
        case Union():
            place = relation.columns.index(name)
            return all(below(input_, input_.columns[place]) for input_ in relation.inputs)
        case Unnested() if name not in relation.input.columns:
            return False
        case Filter() | Over() | Numbered() | Rank() | Windowed() | Unnested() | Repeated():
            return below(relation.input, name)
    return False


def _never_gives_null(call: Expr) -> bool:
    bare = call.this if isinstance(call, exp.Filter) else call
    function = functions().get(bare.name.upper()) if isinstance(bare, exp.Anonymous) else None
    return function is not None and function.never_null
