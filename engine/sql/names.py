"""The names that a query can use in FROM, and the type of the function that reads nested queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from engine.aggregates.function import AggregateFunction
from engine.sql.algebra import Expr, Relation, Table

Aggregates = Mapping[str, AggregateFunction]
"""By upper-case name."""


@dataclass(frozen=True, eq=False)
class View:
    """A view's query, and the names that it sees. It is read once, however many queries name it."""

    query: Expr
    names: Names
    _read: list[tuple[Relation, tuple[Relation, ...]]] = field(default_factory=list)

    @property
    def known(self) -> Relation | None:
        """Its query as a relation, if it has been read."""
        return self._read[0][0] if self._read else None

    def relation(self, read: Read) -> Relation:
        """The query as a relation. Raises SqlRejected."""
        if self._read:
            relation, unused = self._read[0]
            self.names.unused.extend(unused)
            return relation
        before = len(self.names.unused)
        relation = read(self.query, self.names)
        self._read.append((relation, tuple(self.names.unused[before:])))
        return relation


@dataclass(frozen=True)
class Names:
    """Tables; views and common table expressions, each with the names it can use; Python aggregate functions.

    warnings: what a user should know of the queries that were read, as sentences. unused: what these queries name
    although no result depends on it; its nodes are made for their errors only. rewritten: by identity,
    the relations of views as the rules have left them.
    """

    tables: Mapping[str, Table]
    views: Mapping[str, View] = field(default_factory=dict)
    aggregates: Aggregates = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    unused: list[Relation] = field(default_factory=list)
    rewritten: dict[int, Relation] = field(default_factory=dict)

    def with_view(self, name: str, query: Expr) -> Names:
        """The same names and one more view, whose query sees the current names."""
        return replace(self, views={**self.views, name: View(query, self)})

    @property
    def known(self) -> tuple[str, ...]:
        """All names, for errors."""
        return (*self.views, *self.tables)


Read = Callable[[Expr, Names], Relation]
"""Reads a nested query: `engine.sql.clauses.query.read`, passed to the clauses as an argument."""
