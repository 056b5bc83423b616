"""UNION, INTERSECT and EXCEPT, with and without ALL, by other relations.

UNION is UNION ALL under an aggregate; INTERSECT and EXCEPT are a semi and an anti join on all columns, with NULL equal
to NULL, under an aggregate. With ALL, the rows of both sides are counted together, and each row is repeated according
to its counts. Source: Calcite UnionMergeRule, UnionToDistinctRule, AggregateUnionAggregateRule; Flink
ReplaceIntersectWithSemiJoinRule, ReplaceMinusWithAntiJoinRule, SetOpRewriteUtil.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from engine.joins.sides import JoinKind
from engine.sql.aggregate_calls import distinct
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
from engine.sql.empty import Empty
from engine.sql.rules.empty_pruning import is_empty
from engine.sql.rules.project_merge import selected
from engine.sql.written import SetKind, SetOperation


def combined(operation: SetOperation) -> Relation:
    """Both sides, combined."""
    left, right, at, kind = operation.left, operation.right, operation.at, operation.kind
    if kind is SetKind.UNION:
        return _union(left, right, at, is_distinct=operation.is_distinct)
    if not operation.is_distinct:
        if any(is_empty(side, {}) for side in (left, right)):
            return Empty(left) if kind is SetKind.INTERSECT else left
        whole = _intersect_all if kind is SetKind.INTERSECT else _except_all
        return whole(left, _called_as(left, right), at)
    join = JoinKind.SEMI if kind is SetKind.INTERSECT else JoinKind.ANTI
    return distinct(_on_all_columns(left, right, join, at), at)


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
    plus_one = exp.Cast(this=exp.Literal.number(1), to=exp.DataType.build("BIGINT"))
    sides = [(left, plus_one), (right, exp.Neg(this=plus_one.copy()))]
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
