"""What the planner derives of an output, from the sources down: columns, kinds of change, keys, how values move."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from engine.model.changelog import INSERT_ONLY, ModifyKind, ModifyKinds
from engine.model.column_intervals import Intervals
from engine.model.combined_watermark import NOTHING, Above, holdbacks_of
from engine.model.schema import Schema
from engine.model.types import Type

Keys = frozenset[frozenset[str]]
NO_KEYS: Keys = frozenset()


class Monotonicity(Enum):
    """How a value of one key changes from update to update (Flink RelModifiedMonotonicity)."""

    INCREASING = "increasing"
    DECREASING = "decreasing"
    CONSTANT = "constant"
    NOT_MONOTONIC = "not monotonic"


def constant(names: Iterable[str], among: Iterable[str] = ()) -> Mapping[str, Monotonicity]:
    """CONSTANT for the columns `names`, and NOT_MONOTONIC for the other columns in `among`."""
    return {**dict.fromkeys(among, Monotonicity.NOT_MONOTONIC), **dict.fromkeys(names, Monotonicity.CONSTANT)}


@dataclass(frozen=True)
class Derived:
    """The derived properties of an output, before the requirements of its consumers are known.

    upsert_keys: sets of columns, each of which identifies a row of the table; empty if only the whole row does.
    monotonic: by column, how it changes from update to update; empty if unknown. Flink then assumes that rows may be
    deleted, and does so even for some insert-only operators. intervals: the numbers that columns may hold.
    above: the origin of its watermark; the planner fills it in unless the operator does. lone_updates: True below a
    filter, for example: a -U may come without its +U, so it must not be dropped. null_keys: below a FULL join two rows
    may be padded to the same key, which consists of NULLs only. shared_keys: keys of the rows below a Top N; while
    ranks change, two ranks may have the same key for a moment. Flink treats these keys as upsert keys.
    expression_types: the Spark types of the expressions in the operator's parameters, for its step. node: the
    emitting node, and timeless: why its rows have no event time, where they have none; both for messages, and filled
    in by the planner.
    """

    schema: Schema
    modify: ModifyKinds = INSERT_ONLY
    upsert_keys: Keys = NO_KEYS
    monotonic: Mapping[str, Monotonicity] = field(default_factory=dict)
    intervals: Intervals = field(default_factory=dict)
    above: Above = NOTHING
    lone_updates: bool = False
    null_keys: bool = False
    shared_keys: Keys = NO_KEYS
    expression_types: Mapping[str, Type] = field(default_factory=dict)
    node: str = ""
    timeless: str = field(default="Declare one in the source.", compare=False)

    @property
    def holdbacks(self) -> Mapping[str, int]:
        """The sources above, each with the ms by which its watermark is held back."""
        return holdbacks_of(self.above)

    @property
    def shortest_key(self) -> frozenset[str] | None:
        """The upsert key with the fewest columns; None if there is none."""
        return min(self.upsert_keys, key=lambda names: (len(names), sorted(names)), default=None)

    @property
    def is_insert_only(self) -> bool:
        """True if no row is ever retracted."""
        return self.modify == INSERT_ONLY

    @property
    def never_moves(self) -> bool:
        """True if no column changes: Flink treats such an input as insert-only, although rows may be deleted."""
        return all(self.monotonic.get(name) is Monotonicity.CONSTANT for name in self.schema.names)

    def moves_of(self, names: Iterable[str]) -> Mapping[str, Monotonicity]:
        """The monotonicity of columns computed from this output by an operator that does not update rows itself."""
        if not self.monotonic:
            return {}
        return constant(names) if self.never_moves else constant((), among=names)

    @property
    def has_updates(self) -> bool:
        """True if rows are replaced."""
        return ModifyKind.UPDATE in self.modify
