"""Definitions that joins share: the six kinds, the keys, the properties of each side, the columns of a joined row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from engine.contract.derived import Derived, Keys, Monotonicity
from engine.errors import PlanRejected
from engine.expressions.calc_intervals import filtered
from engine.model.column_intervals import UNKNOWN, Intervals, above_calc
from engine.model.free_names import free_name
from engine.model.origin import Origin
from engine.model.schema import Column, Schema
from engine.model.types import BIGINT, INT, SMALLINT, TINYINT, Type, quote

PORTS: Final = ("left", "right")
SIDES: Final = ("left rows", "right rows")
"""What a join that keeps both inputs holds."""


class JoinKind(Enum):
    """Which rows without a partner a join keeps."""

    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"

    @property
    def keeps_left(self) -> bool:
        """True where a left row without a partner comes out padded with NULL."""
        return self in (JoinKind.LEFT, JoinKind.FULL)

    @property
    def keeps_right(self) -> bool:
        """True where a right row without a partner comes out padded with NULL."""
        return self in (JoinKind.RIGHT, JoinKind.FULL)

    @property
    def is_left_only(self) -> bool:
        """True where the output is rows of the left input (semi, anti)."""
        return self in (JoinKind.SEMI, JoinKind.ANTI)

    def passes_unknown(self, port: int) -> bool:
        """Whether the retraction of a row that a side does not have retracts its pairs nevertheless, as in Flink.

        Where the rows of the other side count their partners it is ignored: their counts would be wrong from then on.
        """
        return not (self.keeps_left or self.is_left_only) if port else not self.keeps_right

    @property
    def sql(self) -> str:
        """The join in SQL, for the kinds that have a keyword."""
        return {"inner": "JOIN", "left": "LEFT JOIN", "right": "RIGHT JOIN", "full": "FULL JOIN"}[self.value]


_WIDTHS: Final[dict[Type, int]] = {TINYINT: 1, SMALLINT: 2, INT: 3, BIGINT: 4}


def key_expressions(
    node: str, left: Schema, right: Schema, left_keys: Sequence[str], right_keys: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The keys of both sides as Spark SQL, of one type each. Raises UnknownColumn and PlanRejected.

    Integers of different width are compared as the wider type; other types have to be cast first.
    """
    if len(left_keys) != len(right_keys):
        message = (
            f"it compares {len(left_keys)} of the left input's columns with {len(right_keys)} of the right one's. "
            "Choose the same number on both sides; they are compared in this order."
        )
        raise PlanRejected(message, node, "right_keys")
    pairs = [
        _key_pair(node, left.column(a, node, "left_keys"), right.column(b, node, "right_keys"))
        for a, b in zip(left_keys, right_keys, strict=True)
    ]
    return tuple(a for a, _ in pairs), tuple(b for _, b in pairs)


def _key_pair(node: str, left: Column, right: Column) -> tuple[str, str]:
    if left.type.is_held_as(right.type):
        return quote(left.name), quote(right.name)
    if left.type in _WIDTHS and right.type in _WIDTHS:
        wider = max(left.type, right.type, key=_WIDTHS.__getitem__).sql
        return f"CAST({quote(left.name)} AS {wider})", f"CAST({quote(right.name)} AS {wider})"
    message = (
        f"{left.name} ({left.type.flink}) cannot be compared with {right.name} ({right.type.flink}). "
        "Cast one of them in a projection before the join."
    )
    raise PlanRejected(message, node, "right_keys")


def seen(inputs: Sequence[Schema]) -> Schema:
    """The columns that an expression over these inputs sees: of two inputs those of an inner join's row."""
    if len(inputs) == 2:
        left, right = inputs
        return Schema(joined(left, right, JoinKind.INNER))
    return inputs[0] if inputs else Schema(())


def joined(left: Schema, right: Schema, kind: JoinKind) -> tuple[Column, ...]:
    """The columns of a joined row: the left ones, then the right ones, whose names get a number where taken.

    The padded side becomes nullable. Event-time columns become plain columns.
    """
    columns = [replace(c.without_time(), nullable=c.nullable or kind.keeps_right) for c in left]
    if kind.is_left_only:
        return tuple(columns)
    for column in right:
        name = free_name(column.name, [earlier.name for earlier in columns])
        columns.append(replace(column.without_time(), name=name, nullable=column.nullable or kind.keeps_left))
    return tuple(columns)


def pair_origins(
    inputs: Sequence[Sequence[str]],
    output: Sequence[str],
    keys: Sequence[tuple[str, str]],
    window: tuple[str, str] | None = None,
) -> tuple[Origin, Origin]:
    """The origins of a joined row: the left row and the right row that it contains.

    keys: the right and left keys, which identify the right rows of a join that outputs left rows only.
    """
    left, right = inputs
    own = tuple(zip(left, output, strict=False))
    bounds = 3 if window is not None else 0
    if len(output) - bounds < len(left) + len(right):
        return Origin(own, window), Origin(tuple(keys), window)
    return Origin(own, window), Origin(tuple(zip(right, output[len(left) :], strict=False)), window)


@dataclass(frozen=True)
class JoinSide:
    """The properties of one join input (Flink JoinInputSideSpec).

    unique_key: the places of the columns by which its rows are replaced; () where the join key is that
    already, so that there is one row at most; None where rows are known by their content only. types: of its columns.
    """

    spec: str
    width: int
    unique_key: tuple[int, ...] | None
    reason: str
    types: tuple[Type, ...] = ()

    @property
    def state(self) -> str:
        """The state that is kept of it, in words."""
        if self.unique_key is None:
            return "each row with its count"
        return "each row by its unique key" if self.unique_key else "the one row"


def join_side(input_: Derived, keys: Sequence[str]) -> JoinSide:
    """How the rows of an input can be kept per join key: by a key within the join key, else by its shortest.

    An updated row that changes its join key comes with -U, so it leaves the one before it enters the other. Of
    rows that only come Flink knows fewer keys than we do; those count that hold the join key.
    """
    width, types = len(input_.schema), tuple(column.type for column in input_.schema)
    unique_keys = input_.upsert_keys if input_.has_updates else _keys_with(input_, keys)
    if not unique_keys:
        return JoinSide("NoUniqueKey", width, None, "has no unique key that contains the join key", types)
    shortest = min(unique_keys, key=lambda key: (not key <= frozenset(keys), len(key), sorted(key)))
    named = ", ".join(name for name in input_.schema.names if name in shortest) or "nothing: it is a single row"
    if shortest <= frozenset(keys):
        return JoinSide("JoinKeyContainsUniqueKey", width, (), f"is unique by the join key ({named})", types)
    places = tuple(at for at, name in enumerate(input_.schema.names) if name in shortest)
    return JoinSide("HasUniqueKey", width, places, f"is unique by {named}", types)


def _keys_with(input_: Derived, keys: Sequence[str]) -> list[frozenset[str]]:
    """The input's upsert keys that hold where it is distributed by the join key."""
    return [key for key in input_.upsert_keys if key >= frozenset(keys)]


def join_keys(
    left: Derived, right: Derived, left_keys: Sequence[str], right_keys: Sequence[str], kind: JoinKind
) -> Keys:
    """The upsert keys of a join, as Flink derives them (FlinkRelMdUniqueKeys.getJoinUniqueKeys).

    A key of each side together; a side's own where the other has one row per join key and does not make
    it NULL; and the same with a join column written as its equal.
    """
    lefts = _keys_with(left, left_keys)
    if kind.is_left_only:
        return frozenset(lefts)
    names = joined(left.schema, right.schema, kind)[len(left.schema) :]
    renamed = {a.name: b.name for a, b in zip(right.schema, names, strict=True)}
    rights = [frozenset(renamed[name] for name in key) for key in _keys_with(right, right_keys)]
    keys = {a | b for a in lefts for b in rights}
    if not kind.keeps_right and any(key <= frozenset(right_keys) for key in right.upsert_keys):
        keys.update(lefts)
    if not kind.keeps_left and any(key <= frozenset(left_keys) for key in left.upsert_keys):
        keys.update(rights)
    for a, b in zip(left_keys, (renamed[name] for name in right_keys), strict=True):
        swaps = [(b, a)] if not kind.keeps_right else []
        swaps += [(a, b)] if not kind.keeps_left else []
        keys |= {key - {old} | {new} for key in keys for old, new in swaps if old in key}
    return frozenset(keys)


def left_keys_of(left: Derived, right: Derived, right_keys: Sequence[str]) -> Keys:
    """The upsert keys of a join that looks left rows up: the left ones, where each row finds one row at most.

    Source: Flink FlinkRelMdUniqueKeys.
    """
    finds_one = any(key <= frozenset(right_keys) for key in right.upsert_keys)
    return left.upsert_keys if finds_one else frozenset()


def join_intervals(left: Derived, right: Derived, kind: JoinKind, condition: str | None) -> Intervals:
    """The numbers that the columns of a join may hold: those of its sides that meet its further condition.

    As in Flink also where a row without a partner is kept, which need not meet it. Source: FlinkRelMdColumnInterval.
    """
    schema = Schema(joined(left.schema, right.schema, kind))
    side_intervals = [side.intervals.get(name, UNKNOWN) for side in (left, right) for name in side.schema.names]
    intervals: Intervals = dict(zip(schema.names, side_intervals, strict=False))
    intervals = above_calc(intervals)
    return intervals if condition is None else above_calc(filtered(condition, schema, intervals))


def join_moves(
    left: Derived, right: Derived, left_keys: Sequence[str], right_keys: Sequence[str], kind: JoinKind, *, is_equi: bool
) -> Mapping[str, Monotonicity]:
    """How the columns of a join move: as those of its sides, where no row can change its join key.

    is_equi: whether there is no other condition. Source: Flink FlinkRelMdModifiedMonotonicity.
    """
    if kind is JoinKind.ANTI or not (is_equi or (left.never_moves and right.never_moves)):
        return {}
    for input_, keys in ((left, left_keys), (right, right_keys)):
        moves = input_.monotonic
        if not moves or any(moves.get(key) is not Monotonicity.CONSTANT for key in keys):
            return {}
    if kind.is_left_only:
        return left.monotonic
    names = joined(left.schema, right.schema, kind)[len(left.schema) :]
    renamed = {a.name: b.name for a, b in zip(right.schema, names, strict=True)}
    return {**left.monotonic, **{renamed[name]: move for name, move in right.monotonic.items()}}
