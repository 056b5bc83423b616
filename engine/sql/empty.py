"""Relations without rows, and what outer joins and aggregates make of them."""

from __future__ import annotations

from dataclasses import dataclass

from engine.sql.algebra import Aggregate, Join, Unary


@dataclass(frozen=True)
class Empty(Unary):
    """No rows, with the columns of a relation."""


@dataclass(frozen=True)
class Padded:
    """An outer join with a side without rows: the other side's rows with NULL for its columns."""

    join: Join

    @property
    def columns(self) -> tuple[str, ...]:
        return self.join.columns

    @property
    def padded(self) -> tuple[str, ...]:
        """The columns that are NULL."""
        return tuple(self.join.right_names.values()) if self.is_left_kept else self.join.left.columns

    @property
    def is_left_kept(self) -> bool:
        """Whether the left side is the one with rows."""
        return isinstance(self.join.right, Empty)


@dataclass(frozen=True)
class Totals:
    """What an aggregate of all rows gives for none: one row. counts: the results that are 0; the others are NULL."""

    aggregate: Aggregate
    counts: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return self.aggregate.columns
