"""When an expression fails for a record, as a Spark SQL condition over the same columns.

Spark 4 is strict: a string that is not a number, a division by zero or an overflow ends the job. Each of these
operations has a form that returns NULL instead (`try_cast`, `try_add`). The condition is that one of these forms is
NULL although none of its operands is. Branches that are not taken and values that COALESCE does not need cannot fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from sqlglot import exp

from engine.expressions.parsing import SPARK, UNREADABLE, tree_of

TRIED: Final[dict[type[exp.Expr], str]] = {
    exp.Add: "try_add",
    exp.Sub: "try_subtract",
    exp.Mul: "try_multiply",
    exp.Div: "try_divide",
    exp.Mod: "try_mod",
}
"""By operator, the function that gives NULL where it fails."""
_FUNCTIONS: Final = {
    "TO_TIMESTAMP": "try_to_timestamp({0})",
    "TO_TIMESTAMP_NTZ": "CAST(try_to_timestamp({0}) AS TIMESTAMP_NTZ)",
    "TO_TIMESTAMP_LTZ": "try_to_timestamp({0})",
    "TO_DATE": "try_to_date({0})",
    "UNIX_TIMESTAMP": "unix_timestamp(try_to_timestamp({0}))",
    "TO_UNIX_TIMESTAMP": "unix_timestamp(try_to_timestamp({0}))",
    "MAKE_TIMESTAMP": "try_make_timestamp({0})",
    "MAKE_TIMESTAMP_NTZ": "try_make_timestamp_ntz({0})",
    "ELEMENT_AT": "try_element_at({0})",
    "URL_DECODE": "try_url_decode({0})",
    "TO_NUMBER": "try_to_number({0})",
    "RAISE_ERROR": "NULL",
}
# Their later arguments are only computed if the earlier ones are NULL.
_FIRST_OF: Final = ("COALESCE", "NVL", "IFNULL")


@lru_cache(maxsize=1024)
def failure_of(expression: str) -> str | None:
    """The condition under which an expression fails; None if no part is known to be able to fail."""
    try:
        failures = list(_failures(tree_of(expression), ()))
    except UNREADABLE:
        return None
    return " OR ".join(f"coalesce({failure}, FALSE)" for failure in failures) or None


def _failures(node: exp.Expr, where: tuple[str, ...]) -> Iterator[str]:
    """The conditions under which a tree fails. where: the conditions under which it is computed."""
    match node:
        case exp.Lambda():
            # Its parameters are only known within the enclosing function.
            return
        case exp.Case() if node.this is None:
            earlier = where
            for branch in node.args["ifs"]:
                yield from _failures(branch.this, earlier)
                holds = f"coalesce({_tried(branch.this)}, FALSE)"
                yield from _failures(branch.args["true"], (*earlier, holds))
                earlier = (*earlier, f"NOT {holds}")
            if (default := node.args.get("default")) is not None:
                yield from _failures(default, earlier)
            return
        case exp.If():
            holds = f"coalesce({_tried(node.this)}, FALSE)"
            yield from _failures(node.this, where)
            yield from _failures(node.args["true"], (*where, holds))
            if (other := node.args.get("false")) is not None:
                yield from _failures(other, (*where, f"NOT {holds}"))
            return
        case exp.And() | exp.Or():
            decides = "FALSE" if isinstance(node, exp.And) else "TRUE"
            yield from _failures(node.this, where)
            yield from _failures(node.expression, (*where, f"({_tried(node.this)}) IS DISTINCT FROM {decides}"))
            return
        case exp.Anonymous() if node.name.upper() in _FIRST_OF:
            for argument in node.expressions:
                yield from _failures(argument, where)
                where = (*where, f"({_tried(argument)}) IS NULL")
            return
    parts = list(node.iter_expressions())
    for part in parts:
        yield from _failures(part, where)
    if (tried := _try_form(node)) is not None:
        operands = [part for part in parts if not isinstance(part, exp.DataType | exp.Literal | exp.Interval)]
        not_null = [f"({_tried(part)}) IS NOT NULL" for part in operands]
        yield "(" + " AND ".join((*where, *not_null, f"{tried} IS NULL")) + ")"


def _try_form(node: exp.Expr) -> str | None:
    """The form that returns NULL instead of an error; None for parts that cannot fail."""
    if isinstance(node, exp.Cast) and not node.args.get("safe"):
        return f"try_cast({_tried(node.this)} AS {node.to.sql(dialect=SPARK)})"
    if isinstance(node, exp.IntDiv):
        left, right = _tried(node.this), _tried(node.expression)
        return f"(CASE WHEN ({right}) <> 0 THEN ({left}) div ({right}) END)"
    if type(node) in TRIED:
        return f"{TRIED[type(node)]}({_tried(node.this)}, {_tried(node.expression)})"
    if isinstance(node, exp.Anonymous) and node.name.upper() in _FUNCTIONS and node.expressions:
        return _FUNCTIONS[node.name.upper()].format(", ".join(map(_tried, node.expressions)))
    return None


def _tried(node: exp.Expr) -> str:
    """The tree as Spark SQL in which no part fails."""

    def instead(part: exp.Expr) -> exp.Expr:
        tried = _try_form(part)
        return part if tried is None else exp.Var(this=tried)

    return str(node.copy().transform(instead).sql(dialect=SPARK))
