"""MATCH_RECOGNIZE: its clauses, read into a relation.

A measure that is a single value of the match (LAST(A.v), SUM(v)) is computed with the match. Expressions over several
values become a projection above it, like the expressions of SELECT.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from sqlglot import exp

from engine.aggregates.registry import functions
from engine.errors import unknown_name
from engine.model.free_names import free_name
from engine.patterns.after_match import Skip
from engine.patterns.pattern import Variable, variables_of
from engine.patterns.references import ROWTIME
from engine.sql.algebra import Expr, Matched, Named, Relation, Select, SortKey, plain, ref
from engine.sql.functions.intervals import interval_ms
from engine.sql.rejected import SqlRejected
from engine.sql.scope import Scope

_PROCTIME: Final = "MATCH_PROCTIME"
_SKIPS: Final[dict[tuple[str, ...], Skip]] = {
    ("PAST", "LAST", "ROW"): Skip.PAST_LAST_ROW,
    ("TO", "NEXT", "ROW"): Skip.TO_NEXT_ROW,
}
_NOT_HERE: Final = {
    "PREV": "PREV looks at rows of the input, which Flink does not support. Use LAST(A.v, 1), the row of A before.",
    "NEXT": "NEXT looks at rows to come, which Flink does not support. Define a variable for the next row.",
    "CLASSIFIER": "CLASSIFIER() is not supported, as in Flink. Compare measures of the variables with NULL.",
    "MATCH_NUMBER": "MATCH_NUMBER() is not supported, as in Flink. Number the matches: ROW_NUMBER() OVER (...).",
}


def matched(call: exp.Anonymous, scope: Scope) -> Relation:
    """The relation of a MATCH_RECOGNIZE call over its input. Raises SqlRejected."""
    clauses = {clause.this.name: clause.expression for clause in call.expressions[1:]}
    if "PATTERN" not in clauses:
        message = "MATCH_RECOGNIZE needs PATTERN (A B+ C), then DEFINE."
        raise SqlRejected(message, call)
    if clauses.get("ROWS") is not None and clauses["ROWS"].name == "ALL":
        message = (
            "ALL ROWS PER MATCH is not supported, as in Flink. Use ONE ROW PER MATCH, and collect what is needed of "
            "the rows in measures: ARRAY_AGG(A.v)."
        )
        raise SqlRejected(message, call)
    if "DEFINE" not in clauses:
        message = "MATCH_RECOGNIZE needs DEFINE: a condition for at least one variable, such as DEFINE A AS A.v > 1."
        raise SqlRejected(message, call)
    pattern = clauses["PATTERN"]
    try:
        variables = variables_of(pattern.name)
    except ValueError as error:
        message = f"{error}."
        raise SqlRejected(message, pattern) from error
    reader = _Reader(call, scope, variables)
    order = reader.order(clauses.get("ORDER"))
    skip, target = reader.skip(clauses.get("AFTER"))
    partition = reader.partition(clauses.get("PARTITION"))
    within = clauses.get("WITHIN")
    items = reader.measures(clauses.get("MEASURES"), partition)
    relation = Matched(
        scope.relation,
        partition,
        order,
        tuple((name, value) for value, name in reader.values.items()),
        pattern.name,
        reader.definitions(clauses["DEFINE"]),
        skip,
        target,
        0 if within is None else _within(within),
        call,
    )
    return Select(relation, (*((name, ref(name, call)) for name in partition), *items))


def _within(interval: Expr) -> int:
    ms = interval_ms(interval)
    if ms < 0:
        message = "WITHIN is a length of time, not below 0."
        raise SqlRejected(message, interval)
    return ms


def is_reference(node: Expr) -> bool:
    """Whether an expression is a single value of a match."""
    if isinstance(node, exp.Column):
        return True
    return isinstance(node, exp.Anonymous) and (
        node.name.upper() in ("FIRST", "LAST", ROWTIME) or node.name.upper() in functions()
    )


def with_references(tree: Expr, replaced: Callable[[Expr], Expr]) -> Expr:
    """The expression with outermost references replaced. Raises SqlRejected for FILTER and unsupported functions."""
    if is_reference(tree):
        return replaced(tree)
    if isinstance(tree, exp.Anonymous) and (message := _NOT_HERE.get(tree.name.upper())) is not None:
        raise SqlRejected(message, tree)
    if isinstance(tree, exp.Filter):
        message = (
            "FILTER is not supported in MATCH_RECOGNIZE. Use CASE within the aggregate: SUM(CASE WHEN c THEN v END)."
        )
        raise SqlRejected(message, tree)
    whole = tree.copy()
    for old, new in zip(list(tree.iter_expressions()), list(whole.iter_expressions()), strict=True):
        if not isinstance(old, exp.Identifier | exp.DataType | exp.Var):
            new.replace(with_references(old, replaced))
    return whole


class _Reader:
    """Reads the clauses. values: by value of the match that a measure uses, the name of its column."""

    def __init__(self, call: Expr, scope: Scope, variables: Sequence[Variable]) -> None:
        self.call = call
        self.scope = scope
        self.variables = [variable.name for variable in variables]
        self.values: dict[Expr, str] = {}

    def partition(self, keys: Expr | None) -> tuple[str, ...]:
        bound = [self.scope.bind(key) for key in (keys.expressions if keys is not None else ())]
        for key in bound:
            if plain(key) is None:
                message = "PARTITION BY takes columns here. Compute the expression in a sub-query."
                raise SqlRejected(message, key)
        return tuple(plain(key) or "" for key in bound)

    def order(self, order: Expr | None) -> tuple[SortKey, ...]:
        if order is None:
            message = "MATCH_RECOGNIZE needs ORDER BY a time, an event time or a processing time."
            raise SqlRejected(message, self.call)
        keys: list[SortKey] = []
        for item in order.expressions:
            bound = self.scope.bind(item.this)
            if plain(bound) is None:
                message = "ORDER BY takes columns here. Compute the expression in a sub-query."
                raise SqlRejected(message, item)
            nulls = (
                item.args.get("nulls_first") if item.args.get("nulls_first") != (not item.args.get("desc")) else None
            )
            keys.append(SortKey(bound.unnest(), bool(item.args.get("desc")), nulls))
        if keys[0].descending:
            message = "ORDER BY must begin with an ascending time. Leave out DESC."
            raise SqlRejected(message, order)
        return tuple(keys)

    def skip(self, after: Expr | None) -> tuple[Skip, str | None]:
        if after is None:
            # Flink's default, not that of the SQL standard.
            return Skip.TO_NEXT_ROW, None
        words = after.name.replace("`", " ").split()
        if (skip := _SKIPS.get(tuple(word.upper() for word in words))) is not None:
            return skip, None
        target = words[-1] if words else ""
        kind = tuple(word.upper() for word in words[:-1])
        if kind not in (("TO", "FIRST"), ("TO", "LAST"), ("TO",)):
            message = (
                f"AFTER MATCH SKIP {after.name} is not known. Use PAST LAST ROW, TO NEXT ROW, TO FIRST A or TO LAST A."
            )
            raise SqlRejected(message, after)
        if target not in self.variables:
            message = f"{unknown_name('variable', target, self.variables)}."
            raise SqlRejected(message, after)
        return Skip.TO_FIRST if kind == ("TO", "FIRST") else Skip.TO_LAST, target

    def measures(self, measures: Expr | None, partition: Sequence[str]) -> list[Named]:
        """The measures as expressions over the values."""
        items: list[Named] = []
        if measures is None:
            message = "MATCH_RECOGNIZE needs MEASURES: the output of a match, such as MEASURES LAST(A.v) AS v."
            raise SqlRejected(message, self.call)
        for measure in measures.expressions:
            if not isinstance(measure, exp.Alias):
                message = "a measure needs a name: LAST(A.v) AS v."
                raise SqlRejected(message, measure)
            name = measure.alias
            if name in partition:
                message = f"the measure {name!r} is called as a column of PARTITION BY. Give it another name."
                raise SqlRejected(message, measure)
            bound = self.bind(measure.this)
            taken = [*partition, *self.values.values()]

            def value(reference: Expr, name: str = name, bound: Expr = bound, taken: Sequence[str] = taken) -> Expr:
                wanted = name if reference is bound.unnest() else f"value{len(self.values)}"
                return ref(self.values.setdefault(reference, free_name(wanted, taken)), reference)

            items.append((name, with_references(_with_proctime(bound.unnest()), value)))
        return items

    def definitions(self, definitions: Expr) -> tuple[Named, ...]:
        conditions: list[Named] = []
        for definition in definitions.expressions:
            if definition.alias not in self.variables:
                # As in Flink: a variable outside the pattern has no rows.
                continue
            if any(name == definition.alias for name, _ in conditions):
                message = f"the variable {definition.alias} is defined twice. Join the conditions by AND."
                raise SqlRejected(message, definition)
            conditions.append((definition.alias, self.bind(definition.this)))
        return tuple(conditions)

    def bind(self, expression: Expr) -> Expr:
        return bound(expression, self.scope, self.variables)


def bound(expression: Expr, scope: Scope, variables: Sequence[str]) -> Expr:
    """The expression with bound columns; a column of a variable has the variable as its table. Raises SqlRejected."""

    def swap(node: Expr) -> Expr:
        if isinstance(node, exp.Anonymous) and node.name.upper() in ("PREV", "NEXT"):
            return _without_offset(node)
        if not isinstance(node, exp.Column):
            return node
        if isinstance(node.this, exp.Star):
            message = f"{node.sql()} is no value. Count the rows of a variable by a column that is never NULL."
            raise SqlRejected(message, node)
        if node.table in variables:
            column = scope.bind(exp.Column(this=node.this.copy()))
            column.set("table", exp.to_identifier(node.table))
            return column
        if node.table and not any(entry.name == node.table for entry in scope.visible):
            message = f"{unknown_name('variable', node.table, variables)}, in the pattern."
            raise SqlRejected(message, node)
        return scope.bind(node)

    return expression.copy().transform(swap, copy=False)


def _without_offset(call: exp.Anonymous) -> Expr:
    """PREV(A.v, 0) as LAST(A.v): Flink supports offset 0 only. Raises SqlRejected for other offsets."""
    offset = call.expressions[1].name if len(call.expressions) > 1 else "1"
    if offset != "0":
        raise SqlRejected(_NOT_HERE[call.name.upper()], call)
    return exp.Anonymous(this="LAST", expressions=[call.expressions[0]])


def _with_proctime(tree: Expr) -> Expr:
    """MATCH_PROCTIME as PROCTIME: it represents the order in which matches are emitted."""
    is_proctime = isinstance(tree, exp.Anonymous) and tree.name.upper() == _PROCTIME
    return exp.Anonymous(this="PROCTIME", expressions=[]) if is_proctime else tree
