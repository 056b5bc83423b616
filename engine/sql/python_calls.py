"""Calls of functions in Python: each is computed below the relation that reads it, as Flink computes them in a node of
their own.

Source: Flink PythonCalcSplitRule, PythonCorrelateSplitRule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlglot import exp

from engine.python_functions.declared import functions_in
from engine.sql.algebra import (
    Aggregate,
    Computed,
    Expr,
    Filter,
    Join,
    Named,
    Relation,
    Select,
    Unnested,
    Windowed,
    free_name,
    mentioned,
    ref,
)
from engine.sql.rejected import SqlRejected

_READERS: Final = (Select, Filter, Unnested, Aggregate)


@dataclass(frozen=True)
class PythonFunction:
    """A function that a script declares. type: of its results, where its code does not say."""

    function: str
    code: str
    type: str = ""

    @property
    def is_last(self) -> bool:
        """Whether it is the last one of its code."""
        return list(functions_in(self.code))[-1] == self.function


WATERMARK: Final = "CURRENT_WATERMARK"
"""A call that is computed in a node of its own, too: it looks at more than its record."""

Functions = Mapping[str, PythonFunction]
"""By name in capitals: SQL does not look at the case of a function's name."""


def computed_below(relation: Relation, functions: Functions) -> Relation:
    """The relation with its calls as columns of its input; itself where it has none. Raises SqlRejected in a join."""
    if isinstance(relation, Join):
        _require_none(relation, functions)
    if not isinstance(relation, _READERS):
        return relation
    names = {WATERMARK, *functions}
    calls: dict[str, Named] = {}
    taken = list(relation.input.columns)
    # What is just selected is called as there.
    wanted = {_text(item): name for name, item in relation.items} if isinstance(relation, Select) else {}

    def without(expression: Expr, called: str = "") -> Expr:
        whole = expression.copy()
        # From the inside out: what a call is given has been computed before.
        for node in list(whole.find_all(exp.Anonymous, bfs=False))[::-1]:
            if node.name.upper() not in names:
                continue
            text = _text(node)
            if text not in calls:
                own = called if node is whole else wanted.get(text, "")
                name = free_name(own or node.name.lower(), taken)
                taken.append(name)
                calls[text] = (name, node.copy())
            column = ref(calls[text][0], node)
            if node is whole:
                return column
            node.replace(column)
        return whole

    changed = _mapped(relation, without)
    if not calls:
        return relation
    made: Relation = replace(changed, input=_with_calls(relation.input, tuple(calls.values())))
    return made


def _require_none(join: Join, functions: Functions) -> None:
    for condition in join.condition:
        for node in condition.find_all(exp.Anonymous):
            if node.name.upper() in functions:
                message = (
                    f"{node.name} is a function in Python, which is called in SELECT, WHERE, GROUP BY and HAVING. "
                    "Compute it in a sub-query, and join that."
                )
                raise SqlRejected(message, node)


def _with_calls(below: Relation, calls: tuple[Named, ...]) -> Relation:
    """The calls beside the columns of a relation: below its windows, which an aggregate takes with its groups."""
    used = frozenset().union(*(mentioned(call) for _, call in calls))
    match below:
        case Windowed() if not used & set(below.bounds):
            return replace(below, input=_with_calls(below.input, calls))
        case Filter(Windowed() as windowed, test) if not (used | mentioned(test)) & set(windowed.bounds):
            return replace(windowed, input=_with_calls(Filter(windowed.input, test), calls))
        case _:
            return Computed(below, calls, calls[0][1])


def _text(expression: Expr) -> str:
    return expression.sql(identify=True)


def _mapped(relation: Any, change: Callable[..., Expr]) -> Any:
    """The relation, its expressions changed; of those that are selected, their names are told."""
    match relation:
        case Select():
            return replace(relation, items=tuple((name, change(item, name)) for name, item in relation.items))
        case Filter():
            return replace(relation, condition=change(relation.condition))
        case Unnested():
            return replace(relation, collection=change(relation.collection))
        case _:
            groups = tuple((name, change(item)) for name, item in relation.groups)
            return replace(relation, groups=groups, calls=tuple((name, change(item)) for name, item in relation.calls))
