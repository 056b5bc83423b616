"""Conditions, pushed down as far as in Flink.

A filter moves below projections, to the side of a join that it uses, and into the condition of an inner join. It turns
an outer join into an inner one if it rejects padded rows. A filter on a row number becomes its range of ranks.
Source: Calcite FilterProjectTransposeRule, FilterMergeRule, FilterJoinRule, JoinConditionPushRule; Flink
FlinkLogicalRankRule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from engine.joins.sides import JoinKind
from engine.model.windowing import WindowKind
from engine.sql.algebra import (
    Aggregate,
    Expr,
    Filter,
    Join,
    Numbered,
    Relation,
    Select,
    Unnested,
    Windowed,
    conjuncts,
    mentioned,
    ref,
    substituted,
    together,
)
from engine.sql.empty import Empty
from engine.sql.nullability import without_certain
from engine.sql.rules.clock_readings import reading_in
from engine.sql.rules.project_merge import is_too_large
from engine.sql.rules.rank_range import ranked
from engine.sql.rules.strong import is_never_true


def filtered(relation: Relation, condition: Expr) -> Relation:
    """The relation with a condition, pushed down as far as possible."""
    asked = without_certain(relation, condition)
    if not asked:
        return relation
    condition = together(asked)
    match relation:
        case Empty():
            return relation
        case Select():
            below = [substituted(part, dict(relation.items)) for part in conjuncts(condition)]
            if any(map(is_too_large, below)):
                return Filter(relation, condition)
            return replace(relation, input=filtered(relation.input, together(below)))
        case Filter():
            return filtered(relation.input, exp.And(this=relation.condition, expression=condition))
        case Numbered():
            ranking = ranked(relation, list(conjuncts(condition)))
            if ranking is None:
                return Filter(relation, condition)
            rank, rest = ranking
            return Filter(rank, together(rest)) if rest else rank
        case Join():
            return _filtered_join(relation, list(conjuncts(condition)))
        case Windowed() if relation.windowing.kind is WindowKind.SESSION:
            return Filter(relation, condition)
        case Windowed() | Unnested():
            below = [part for part in conjuncts(condition) if mentioned(part) <= set(relation.input.columns)]
            above = [part for part in conjuncts(condition) if part not in below]
            if below:
                relation = replace(relation, input=filtered(relation.input, together(below)))
            return Filter(relation, together(above)) if above else relation
        case Aggregate() if relation.groups and reading_in(condition):
            # The other conditions on keys stay: above and below they leave the same records.
            keys = dict(relation.groups)
            parts = list(conjuncts(condition))
            below = [part for part in parts if reading_in(part) and mentioned(part) <= keys.keys()]
            above = [part for part in parts if part not in below]
            if below:
                together_below = together([substituted(part, keys) for part in below])
                relation = replace(relation, input=filtered(relation.input, together_below))
            return Filter(relation, together(above)) if above else relation
        case _:
            return Filter(relation, condition)


def joined(
    left: Relation, right: Relation, kind: JoinKind, conditions: Sequence[Expr], at: Expr, as_of: Expr | None
) -> Join:
    """A join; conditions on a single side are pushed to that side if this keeps the result."""
    shape = Join(left, right, kind, (), at, as_of)
    names = {new: old for old, new in shape.right_names.items()}
    join_conditions: list[Expr] = []
    for conjunct in conditions:
        columns = mentioned(conjunct)
        is_asked = bool(columns) or reading_in(conjunct) is not None
        to_right = is_asked and columns <= names.keys() and not kind.keeps_right and as_of is None
        to_left = is_asked and columns <= set(left.columns) and kind in (JoinKind.INNER, JoinKind.RIGHT, JoinKind.SEMI)
        # One without columns that reads the clock goes to both sides.
        if to_right:
            right = filtered(right, _renamed(conjunct, names))
        if to_left:
            left = filtered(left, conjunct)
        if not to_right and not to_left:
            join_conditions.append(conjunct)
    return Join(left, right, kind, tuple(join_conditions), at, as_of)


def _filtered_join(join: Join, conditions: list[Expr]) -> Relation:
    names = {new: old for old, new in join.right_names.items()}
    left_columns = set(join.left.columns)
    join = replace(join, kind=_without_padding(join, conditions, left_columns))
    above: list[Expr] = []
    left, right, kind, join_conditions = join.left, join.right, join.kind, list(join.condition)
    for conjunct in conditions:
        columns = mentioned(conjunct)
        is_outer = kind in (JoinKind.LEFT, JoinKind.RIGHT) and join.as_of is None
        if not columns and is_outer and reading_in(conjunct) is not None:
            left, right = filtered(left, conjunct), filtered(right, conjunct)
        elif columns and columns <= left_columns and not kind.keeps_right:
            left = filtered(left, conjunct)
        elif kind is JoinKind.INNER and join.as_of is None:
            if columns and columns <= names.keys():
                right = filtered(right, _renamed(conjunct, names))
            else:
                join_conditions.append(conjunct)
        elif columns and columns <= names.keys() and kind is JoinKind.RIGHT:
            right = filtered(right, _renamed(conjunct, names))
        else:
            above.append(conjunct)
    relation = joined(left, right, kind, join_conditions, join.at, join.as_of)
    return Filter(relation, together(above)) if above else relation


def _without_padding(join: Join, conditions: Sequence[Expr], left: set[str]) -> JoinKind:
    """The kind of join under conditions that may reject padded rows."""
    left_never_null = is_never_true(conditions, left)
    right_never_null = is_never_true(conditions, set(join.right_names.values()))
    match join.kind:
        case JoinKind.LEFT if right_never_null:
            return JoinKind.INNER
        case JoinKind.RIGHT if left_never_null:
            return JoinKind.INNER
        case JoinKind.FULL if left_never_null and right_never_null:
            return JoinKind.INNER
        case JoinKind.FULL if left_never_null:
            return JoinKind.LEFT
        case JoinKind.FULL if right_never_null:
            return JoinKind.RIGHT
        case kind:
            return kind


def _renamed(expression: Expr, names: Mapping[str, str]) -> Expr:
    return substituted(expression, {new: ref(old, expression) for new, old in names.items()})
