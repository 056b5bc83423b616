"""Calls of Python functions: each becomes a separate node below the relation that reads it, as in Flink.

Source: Flink PythonCalcSplitRule, PythonCorrelateSplitRule.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sqlglot import exp

from engine.aggregates.python_function import functions_of
from engine.joins.sides import JoinKind
from engine.model.free_names import free_name
from engine.python_functions.declared import Rejected, functions_in
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
    mentioned,
    ref,
    together,
)
from engine.sql.names import Aggregates
from engine.sql.rejected import SqlRejected

_READERS: Final = (Select, Filter, Unnested, Aggregate)


@dataclass(frozen=True)
class PythonFunction:
    """A function that a script declares. type: its result type if the code does not declare one."""

    function: str
    code: str
    type: str = ""

    @property
    def is_last(self) -> bool:
        """Whether it is the last function in its code."""
        return list(functions_in(self.code))[-1] == self.function

    @property
    def is_aggregate(self) -> bool:
        """Whether it is an aggregate function."""
        return self.function in functions_in(self.code, aggregate=True)


WATERMARK: Final = "CURRENT_WATERMARK"
"""This call also gets a separate node: it depends on more than its record."""

Functions = Mapping[str, PythonFunction]
"""By upper-case name: function names in SQL are case-insensitive."""


def aggregates_of(functions: Functions) -> Aggregates:
    """The aggregate functions among these functions, compiled. Raises SqlRejected if their code is rejected."""
    aggregates = {}
    for name, udf in functions.items():
        if udf.is_aggregate:
            try:
                aggregates[name] = functions_of(udf.code)[udf.function]
            except Rejected as error:
                message = f"the code of {udf.function}: {error}"
                raise SqlRejected(message) from error
    return aggregates


def computed_below(relation: Relation, functions: Functions) -> Relation:
    """The relation with its calls as columns of its input; unchanged if it has no calls. Raises SqlRejected."""
    functions = {name: udf for name, udf in functions.items() if not udf.is_aggregate}
    if isinstance(relation, Join) and functions:
        return _joined(relation, functions)
    if not isinstance(relation, _READERS):
        return relation
    names = {WATERMARK, *functions}
    # Nearly always there is no call: then nothing is copied.
    if not any(_calls(expression, names) for expression in _expressions(relation)):
        return relation
    calls: dict[str, Named] = {}
    taken = list(relation.input.columns)
    # A call that is a whole item of SELECT gets the item's name.
    wanted = {_text(item): name for name, item in relation.items} if isinstance(relation, Select) else {}

    def without(expression: Expr, called: str = "") -> Expr:
        whole = expression.copy()
        # From the inside out: the arguments of a call are computed first.
        for node in _calls(whole, names):
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
    rewritten: Relation = replace(changed, input=_with_calls(relation.input, tuple(calls.values())))
    return rewritten


def _joined(join: Join, functions: Functions) -> Relation:
    """The join with each call computed on its side; other conditions with calls move above an inner join.

    Source: Flink JoinPushExpressionsRule, SplitPythonConditionFromJoinRule.
    """
    if not any(_calls(condition, functions) for condition in join.condition):
        return join
    left, right = _Side(join.left.columns), _Side(join.right.columns, join.right_names)
    taken = [*join.columns, *join.right.columns, *join.right_names.values()]
    conditions: list[Expr] = []
    above: list[Expr] = []
    for condition in join.condition:
        calls = _calls(condition, functions)
        if not calls:
            conditions.append(condition)
        elif _is_equal_pair(condition, left, right):
            whole = condition.copy()
            for node in _calls(whole, functions):
                node.replace((left if left.has(node) else right).computed(node, taken))
            conditions.append(whole)
        elif join.kind is JoinKind.INNER and any(_is_equal_pair(conjunct, left, right) for conjunct in join.condition):
            above.append(condition)
        else:
            message = (
                f"{calls[0].name} is a function in Python. Flink calls one in ON only on both sides of =, and in an "
                "inner join that has such a =. Compute it in a sub-query, and join that."
            )
            raise SqlRejected(message, calls[0])
    joined = replace(join, left=left.over(join.left), right=right.over(join.right), condition=tuple(conditions))
    return computed_below(Filter(joined, together(above)), functions) if above else joined


def _is_equal_pair(condition: Expr, left: _Side, right: _Side) -> bool:
    """Whether a condition is an equality between a value of the left and a value of the right side."""
    if not isinstance(condition, exp.EQ):
        return False
    side, other = condition.this, condition.expression
    return (left.has(side) and right.has(other)) or (right.has(side) and left.has(other))


@dataclass
class _Side:
    """One side of a join, and the calls computed there. names: by column, its name in the join."""

    columns: Sequence[str]
    names: Mapping[str, str] = field(default_factory=dict)
    calls: dict[str, Named] = field(default_factory=dict)

    def has(self, call: Expr) -> bool:
        """Whether an expression uses columns of this side only, and at least one."""
        own = {self.names.get(column, column) for column in self.columns} | {name for name, _ in self.calls.values()}
        return bool(mentioned(call)) and mentioned(call) <= own

    def computed(self, call: Expr, taken: list[str]) -> Expr:
        """The column of a call."""
        text = _text(call)
        if text not in self.calls:
            own = {called: column for column, called in self.names.items()}
            inner = call.copy()
            for column in list(inner.find_all(exp.Column)):
                column.replace(ref(own.get(column.name, column.name), column))
            name = free_name(call.name.lower(), taken)
            taken.append(name)
            self.calls[text] = (name, inner)
        return ref(self.calls[text][0], call)

    def over(self, relation: Relation) -> Relation:
        """The side with its calls as columns."""
        return _with_calls(relation, tuple(self.calls.values())) if self.calls else relation


def _calls(expression: Expr, functions: Collection[str]) -> list[Expr]:
    """The calls in an expression, inner calls first."""
    nodes = list(expression.find_all(exp.Anonymous, bfs=False))[::-1]
    return [node for node in nodes if node.name.upper() in functions]


def _with_calls(below: Relation, calls: tuple[Named, ...]) -> Relation:
    """The relation with the calls as columns, below its windows if possible: an aggregate above absorbs the windows."""
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


def _expressions(relation: Any) -> Sequence[Expr]:
    """The expressions that `_mapped` changes."""
    match relation:
        case Select():
            return [item for _, item in relation.items]
        case Filter():
            return [relation.condition]
        case Unnested():
            return [relation.collection]
        case _:
            return [item for _, item in (*relation.groups, *relation.calls)]


def _mapped(relation: Any, change: Callable[..., Expr]) -> Any:
    """The relation with changed expressions; for a Select, `change` also receives the item's name."""
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
