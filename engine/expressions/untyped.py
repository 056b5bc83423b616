"""Why a part of an expression has no type, in a sentence."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from engine.errors import shortened
from engine.expressions.parsing import SPARK
from engine.expressions.part_types import Unknown, declared_type
from engine.expressions.signatures import signatures
from engine.model.types import MOST_DIGITS, VOID, Type


class Untyped(Exception):
    """A part without a type; its text is a sentence that says why."""


class UnresolvedColumn(Exception):
    """A name that no column has; its text is a sentence that says so, with the columns there are."""


def why_untyped(node: exp.Expr, type_of: Callable[[exp.Expr], Type]) -> str:
    """Why a part has no type, although its own parts have one."""
    written = shortened(repr(node.sql(dialect=SPARK)), 80)
    parts = [part for part in node.iter_expressions() if not isinstance(part, exp.DataType | exp.Lambda | exp.Var)]
    try:
        types = [_shown(type_of(part)) for part in parts]
    except (Untyped, UnresolvedColumn):
        types = []
    match node:
        case exp.Anonymous() if ways := signatures().get(node.name.lower()):
            shapes = " or ".join(dict.fromkeys(f"({way})" for way in ways))
            return f"{written} gives {node.name.upper()} ({', '.join(types)}), but it takes {shapes}."
        case exp.Cast():
            try:
                to = declared_type(node.to).flink
            except Unknown:
                # Such as DECIMAL(x), or DECIMAL(99).
                return f"{node.to.sql(dialect=SPARK)} is no type that a CAST can have."
            return f"there is no CAST of {', '.join(types)} as {to}."
        case exp.Literal():
            return f"{written} has more than {MOST_DIGITS} digits."
        case exp.And() | exp.Or() | exp.Not():
            return f"{written} is of {' and '.join(types)}, but conditions are true or false."
        case exp.Case() | exp.If():
            return f"{written} has values of different types. CAST them to one type."
        case _:
            of_types = f" of {' and '.join(types)}" if types else ""
            return f"{written} cannot be computed{of_types}. Write it another way, or CAST a part of it."


def _shown(type_: Type) -> str:
    return "NULL" if type_ == VOID else type_.flink
