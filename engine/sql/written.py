"""Relations as a query says them, for which a rule has others: `engine.sql.rules`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from engine.sql.algebra import Expr, Relation, SortKey, Unary


@dataclass(frozen=True)
class Limit(Unary):
    """The rows from one place to another by an order, whose keys are columns; without one, by arrival."""

    order: tuple[SortKey, ...]
    start: int
    end: int
    at: Expr


class SetKind(StrEnum):
    """What a set operation does with the rows of both sides."""

    UNION = "UNION"
    INTERSECT = "INTERSECT"
    EXCEPT = "EXCEPT"


@dataclass(frozen=True)
class SetOperation:
    """UNION, INTERSECT or EXCEPT of two relations, column by column in order, with ALL unless it is distinct."""

    kind: SetKind
    left: Relation
    right: Relation
    is_distinct: bool
    at: Expr

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of its left side."""
        return self.left.columns
