"""UNION, INTERSECT and EXCEPT, with and without ALL.

Source: Flink's rewriting: UNION is UNION ALL under an aggregate; INTERSECT and EXCEPT are a semi and an
anti join on all columns, with NULL equal to NULL, under an aggregate. With ALL, the rows of both sides are
counted together, and each row is repeated according to its counts (SetOpRewriteUtil).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from sqlglot import exp

from engine.joins.sides import JoinKind
from engine.sql.algebra import (
    Aggregate,
    Expr,
    Filter,
    Join,
    Named,
    Relation,
    Repeated,
    Select,
    Union,
    Windowed,
    ref,
    together,
)
from engine.sql.clauses.grouping import distinct
from engine.sql.empty import Empty
from engine.sql.pushdown import selected
from engine.sql.rejected import SqlRejected


def set_operation(query: exp.SetOperation, read: Callable[[Expr], Relation]) -> Relation:
    """Both sides, combined. Raises SqlRejected if their numbers of columns differ."""
    left, right = read(query.this), read(query.expression)
    if len(left.columns) != len(right.columns):
        message = (
            f"both sides of {query.key.upper()} need the same columns, but the left one has {len(left.columns)} "
            f"({', '.join(left.columns)}) and the right one {len(right.columns)} ({', '.join(right.columns)})."
        )
        raise SqlRejected(message, query.expression)
    is_distinct = query.args.get("distinct") is not False
    if isinstance(query, exp.Union):
        return _union(left, right, query, is_distinct=is_distinct)
    if not is_distinct:
        if any(isinstance(side, Empty) for side in (left, right)):
            return Empty(left) if isinstance(query, exp.Intersect) else left
        whole = _intersect_all if isinstance(query, exp.Intersect) else _except_all
        return whole(left, _called_as(left, right), query)
    kind = JoinKind.SEMI if isinstance(query, exp.Intersect) else JoinKind.ANTI
    return distinct(_on_all_columns(left, right, kind, query), query)


def _union(left: Relation, right: Relation, query: Expr, *, is_distinct: bool) -> Relation:
    sides = [_with_duplicates(side) for side in (left, right)] if is_distinct else [left, right]
    parts = [side.inputs if isinstance(side, Union) else (side,) for side in sides]
    named = tuple(_called_as(left, part) for inputs in parts for part in inputs)
    whole = Union(named, query)
    ranges = range(len(parts[0])), range(len(parts[0]), len(named))
    of_distinct = [
        places for places, side, given in zip(ranges, sides, (left, right), strict=True) if side is not given
    ]
    if of_distinct:
        apart = Union((left, _called_as(left, right)), query)
        whole = replace(whole, apart=apart, distinct=tuple(of_distinct))
    return distinct(whole, query) if is_distinct else whole


def _with_duplicates(side: Relation) -> Relation:
    """A side without its own DISTINCT: the DISTINCT of the whole makes it redundant (AggregateUnionAggregateRule)."""
    if isinstance(side, Aggregate) and side.groups and not side.calls and not isinstance(side.input, Windowed):
        return selected(side.input, side.groups)
    return side


def _called_as(first: Relation, other: Relation) -> Relation:
    if first.columns == other.columns:
        return other
    pairs = zip(first.columns, other.columns, strict=True)
    renamed = selected(other, tuple((name, ref(column)) for name, column in pairs))
    assert isinstance(renamed, Select)
    return renamed


def _intersect_all(left: Relation, right: Relation, at: Expr) -> Relation:
    """INTERSECT ALL: each row as often as on the side with fewer copies."""
    marked = Union(
        (
            _marked(left, "vcol_left_marker", "vcol_right_marker"),
            _marked(right, "vcol_right_marker", "vcol_left_marker"),
        ),
        at,
    )
    counts = {"vcol_left_cnt": "vcol_left_marker", "vcol_right_cnt": "vcol_right_marker"}
    counted = _per_row(left, marked, {name: _call("COUNT", mark) for name, mark in counts.items()}, at)
    both = together([exp.GTE(this=ref(name), expression=exp.Literal.number(1)) for name in counts])
    more = exp.GT(this=ref("vcol_left_cnt"), expression=ref("vcol_right_cnt"))
    times = exp.Case(ifs=[exp.If(this=more, true=ref("vcol_right_cnt"))], default=ref("vcol_left_cnt"))
    return _repeated(left, Filter(counted, both), times, at)


def _except_all(left: Relation, right: Relation, at: Expr) -> Relation:
    """EXCEPT ALL: each row as often as the left side has more copies."""
    one = exp.Cast(this=exp.Literal.number(1), to=exp.DataType.build("BIGINT"))
    sides = [(left, one), (right, exp.Neg(this=one.copy()))]
    marked = Union(tuple(selected(side, (*_all(left), ("vcol_marker", mark))) for side, mark in sides), at)
    counted = _per_row(left, marked, {"sum_vcol_marker": _call("SUM", "vcol_marker")}, at)
    is_more = exp.GT(this=ref("sum_vcol_marker"), expression=exp.Literal.number(0))
    return _repeated(left, Filter(counted, is_more), ref("sum_vcol_marker"), at)


def _marked(side: Relation, own: str, other: str) -> Relation:
    """The rows with TRUE in the marker of their own side and NULL in the marker of the other."""
    nothing = exp.Cast(this=exp.Null(), to=exp.DataType.build("BOOLEAN"))
    marks = {own: exp.Boolean(this=True), other: nothing}
    return selected(side, (*_all(side), *sorted(marks.items())))


def _call(function: str, column: str) -> Expr:
    return exp.Anonymous(this=function, expressions=[ref(column)])


def _per_row(left: Relation, rows: Relation, calls: Mapping[str, Expr], at: Expr) -> Relation:
    return Aggregate(rows, _all(left), tuple(calls.items()), at)


def _repeated(left: Relation, counted: Relation, times: Expr, at: Expr) -> Relation:
    """The counted rows, each repeated as often as `times` says."""
    return Repeated(Select(counted, (*_all(left), ("sum_vcol_marker", times))), "sum_vcol_marker", at)


def _all(relation: Relation) -> tuple[Named, ...]:
    return tuple((name, ref(name)) for name in relation.columns)


def _on_all_columns(left: Relation, right: Relation, kind: JoinKind, at: Expr) -> Join:
    shape = Join(left, right, kind, (), at)
    conditions = tuple(
        exp.NullSafeEQ(this=ref(a), expression=ref(shape.right_names[b]))
        for a, b in zip(left.columns, right.columns, strict=True)
    )
    return Join(left, right, kind, conditions, at)
