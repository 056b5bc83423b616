"""What a query can name in FROM, and how the parts of a query read each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from engine.aggregates.function import AggregateFunction
from engine.sql.algebra import Expr, Relation, Table

Aggregates = Mapping[str, AggregateFunction]
"""By name in capitals."""


@dataclass(frozen=True)
class Names:
    """Tables, and views and common table expressions with what they can name; aggregate functions in Python."""

    tables: Mapping[str, Table]
    views: Mapping[str, tuple[Expr, Names]] = field(default_factory=dict)
    aggregates: Aggregates = field(default_factory=dict)

    def with_view(self, name: str, query: Expr) -> Names:
        """The same names and one more, whose query sees the names so far."""
        return replace(self, views={**self.views, name: (query, self)})

    @property
    def known(self) -> tuple[str, ...]:
        """All names, for errors."""
        return (*self.views, *self.tables)


Read = Callable[[Expr, Names], Relation]
"""Reads a query within a query: `engine.sql.clauses.query.read`, which the parts of a query are given."""
