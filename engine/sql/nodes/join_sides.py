"""Shared parts of join nodes: the split condition, a side with its keys, the names in a joined row."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from engine.expressions.conditions import can_compute
from engine.expressions.parsing import tree_of
from engine.joins.sides import JoinKind, joined
from engine.model.schema import Column, Schema
from engine.model.types import INTEGERS, Type, quote
from engine.sql.algebra import (
    Expr,
    Filter,
    Join,
    Relation,
    Select,
    Sorted,
    mentioned,
    plain,
    ref,
    substituted,
    together,
)
from engine.sql.dialect import Flink
from engine.sql.functions.expressions import Writer
from engine.sql.nodes.common_types import common_type
from engine.sql.nodes.emitter import Emitted, Emitter
from engine.sql.rejected import SqlRejected


@dataclass(frozen=True)
class Condition:
    """A join's condition, split into pairs of equal expressions and the other conditions."""

    equal: tuple[tuple[Expr, Expr], ...]
    rest: tuple[Expr, ...]

    def used(self, needed: frozenset[str]) -> frozenset[str]:
        """The columns that are needed above the join or by the rest of its condition."""
        return needed.union(*(mentioned(conjunct) for conjunct in self.rest)) if self.rest else needed


@dataclass(frozen=True)
class Side:
    """One side of a join as a node. keys: the names of its key columns in the node's output."""

    emitted: Emitted
    keys: tuple[str, ...]

    def without(self, places: Collection[int]) -> Side:
        """The same side without the keys at these places."""
        return Side(self.emitted, tuple(key for at, key in enumerate(self.keys) if at not in places))


def taken_apart(relation: Join) -> Condition:
    """The equalities between the sides, with the right side's own column names, and the other conditions."""
    left = set(relation.left.columns)
    right = {new: old for old, new in relation.right_names.items()}
    equal: list[tuple[Expr, Expr]] = []
    same: list[tuple[Expr, Expr]] = []
    rest: list[Expr] = []
    for conjunct in relation.condition:
        if isinstance(conjunct, exp.EQ | exp.NullSafeEQ):
            a, b = conjunct.this, conjunct.expression
            if mentioned(b) <= left and mentioned(a) <= right.keys():
                a, b = b, a
            if mentioned(a) and mentioned(b) and mentioned(a) <= left and mentioned(b) <= right.keys():
                own = substituted(b, {new: ref(old, b) for new, old in right.items()})
                (equal if isinstance(conjunct, exp.EQ) else same).append((a, own))
                continue
        rest.append(conjunct)
    if same:
        # One key that is never NULL, so that NULL matches NULL.
        a, b = (exp.Struct(expressions=[pair[side].copy() for pair in same]) for side in (0, 1))
        equal.append((a, b))
    return Condition(tuple(equal), tuple(rest))


def with_comparable_keys(emitter: Emitter, relation: Join, condition: Condition) -> Condition:
    """The condition with both sides of its equalities cast to their common types, where they need to be."""
    if not condition.equal:
        return condition
    sides = zip((relation.left, relation.right), zip(*condition.equal, strict=True), strict=True)
    left, right = (_types(emitter, input_, keys) for input_, keys in sides)
    equal = tuple(
        _of_common_types(a, b, of_left, of_right)
        for (a, b), of_left, of_right in zip(condition.equal, left, right, strict=True)
    )
    return Condition(equal, condition.rest)


def _types(emitter: Emitter, relation: Relation, keys: Sequence[Expr]) -> list[list[Type]]:
    """The types of each key's parts."""
    columns: list[Column] = []
    for name in sorted(frozenset().union(*map(mentioned, keys))):
        first, own = _origin(relation, name)
        described = emitter.described(first, {own})
        if own in described.emitted.names:
            columns.append(replace(described.schema.column(described.emitted.names[own]), name=name))
    writer = emitter.writer_over(Schema(tuple(columns)), {column.name: column.name for column in columns})
    return [[writer.type_of(writer.write(part)) for part in _parts(key)] for key in keys]


def _origin(relation: Relation, column: str) -> tuple[Relation, str]:
    """The relation that a column comes from, and its name there: joins, filters and renaming leave its type alone."""
    match relation:
        case Filter() | Sorted():
            return _origin(relation.input, column)
        case Select() if (name := plain(dict(relation.items)[column])) is not None:
            return _origin(relation.input, name)
        case Join() if column in relation.left.columns:
            return _origin(relation.left, column)
        case Join():
            own = next(name for name, in_pair in relation.right_names.items() if in_pair == column)
            return _origin(relation.right, own)
    return relation, column


def _of_common_types(a: Expr, b: Expr, left: Sequence[Type], right: Sequence[Type]) -> tuple[Expr, Expr]:
    """Both sides of an equality. A join compares integers of different widths, but packed values as texts."""
    compared = () if isinstance(a, exp.Struct) else INTEGERS
    common = [
        None if type_.is_held_as(other) or (type_ in compared and other in compared) else common_type((type_, other))
        for type_, other in zip(left, right, strict=True)
    ]
    return _cast(a, common), _cast(b, common)


def _parts(key: Expr) -> list[Expr]:
    return list(key.expressions) if isinstance(key, exp.Struct) else [key]


def _cast(key: Expr, types: Sequence[Type | None]) -> Expr:
    """A key with its parts cast to these types; None for a part that stays."""
    parts = [
        part if type_ is None else exp.Cast(this=part.copy(), to=exp.DataType.build(type_.flink, dialect=Flink))
        for part, type_ in zip(_parts(key), types, strict=True)
    ]
    return exp.Struct(expressions=parts) if isinstance(key, exp.Struct) else parts[0]


def side(emitter: Emitter, relation: Relation, used: Sequence[str], keys: Sequence[Expr], at: Expr) -> Side:
    """One side with its used columns and its keys; a computed key becomes a column."""
    emitted = emitter.emit(relation, frozenset(used).union(*(mentioned(key) for key in keys)))
    computed = {number: key for number, key in enumerate(keys) if plain(key) is None}
    if not computed:
        columns = [*used, *(name for key in keys if (name := plain(key)) is not None)]
        narrow = emitter.narrowed(emitted, columns, at)
        return Side(narrow, tuple(narrow.names[plain(key) or ""] for key in keys))
    passed_on = [name for name in emitted.names if name in used or any(plain(key) == name for key in keys)]
    items = {emitted.names[name]: quote(emitted.names[name]) for name in passed_on}
    writer = emitter.writer(emitted)
    called: dict[int, str] = {}
    for number, key in computed.items():
        called[number] = emitter.free_name(f"key{number}", emitted)
        items[called[number]] = writer.write(key)
    node = emitter.project(emitted.node, list(items.items()), at)
    names = {name: emitted.names[name] for name in passed_on}
    key_names = tuple(called.get(number) or emitted.names[plain(key) or ""] for number, key in enumerate(keys))
    return Side(Emitted(node, names, emitted.arrival), key_names)


def pair_names(emitter: Emitter, relation: Join, left: Emitted, right: Emitted) -> Mapping[str, str]:
    """The names of both sides' columns in a joined row."""
    schemas = emitter.schema(left), emitter.schema(right)
    columns = joined(*schemas, JoinKind.INNER)[len(schemas[0]) :]
    in_pair = dict(zip(schemas[1].names, (column.name for column in columns), strict=True))
    return {
        **left.names,
        **{relation.right_names[name]: in_pair[actual] for name, actual in right.names.items()},
    }


def pair_condition(emitter: Emitter, left: Side, right: Side, names: Mapping[str, str], rest: Sequence[Expr]) -> str:
    """The conditions besides equalities, over a joined row. names: `pair_names` of the sides."""
    return _writer(emitter, _pair(emitter, left, right), names).write(together(rest))


def computable(
    emitter: Emitter, left: Side, right: Side, names: Mapping[str, str], rest: Sequence[Expr]
) -> tuple[list[Expr], list[Expr]]:
    """The conditions that a join can test of a pair of rows, and the others."""
    pair = _pair(emitter, left, right)
    writer = _writer(emitter, pair, names)
    tested = [conjunct for conjunct in rest if can_compute(tree_of(writer.write(conjunct)), pair)]
    return tested, [conjunct for conjunct in rest if conjunct not in tested]


def _pair(emitter: Emitter, left: Side, right: Side) -> Schema:
    return Schema(joined(emitter.schema(left.emitted), emitter.schema(right.emitted), JoinKind.INNER))


def _writer(emitter: Emitter, pair: Schema, names: Mapping[str, str]) -> Writer:
    return Writer(names, lambda text: emitter.analyzer.type_of(text, pair, "join", "condition"), pair)


def own_columns(relation: Join, used: frozenset[str]) -> tuple[list[str], list[str]]:
    """The used columns of the left and of the right side, by their own names."""
    left = [name for name in relation.left.columns if name in used]
    return left, [name for name in relation.right.columns if relation.right_names[name] in used]


def join_node(
    emitter: Emitter, operator: str, relation: Join, sides: tuple[Side, Side], rest: Sequence[Expr], **more: Any
) -> Emitted:
    """The node of a join. rest: the conditions besides the keys. more: its other parameters."""
    left, right = sides
    names = pair_names(emitter, relation, left.emitted, right.emitted)
    parameters = {"kind": relation.kind.value, "left_keys": left.keys, "right_keys": right.keys, **more}
    if rest:
        parameters["condition"] = pair_condition(emitter, left, right, names, rest)
    node = emitter.add(operator, parameters, [left.emitted.node, right.emitted.node], relation.at)
    return Emitted(node, {name: names[name] for name in relation.columns if name in names})


def check_system_time_join(relation: Join, condition: Condition, what: str, needs: str) -> None:
    """Raise SqlRejected unless a join FOR SYSTEM_TIME AS OF is inner or left, and has an equality. needs: which one."""
    if relation.kind not in (JoinKind.INNER, JoinKind.LEFT):
        message = f"a {what} is inner or left, not {relation.kind.value}. Use [LEFT] JOIN."
        raise SqlRejected(message, relation.at)
    if not condition.equal:
        message = f"a {what} needs {needs}"
        raise SqlRejected(message, relation.at)
