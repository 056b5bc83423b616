"""The parts of a script: tables, views, functions, inserted rows, inserts, options and directives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.errors import unknown_name
from engine.script.python_functions import FunctionDdl
from engine.script.statements import Statement
from engine.script.tables import TableDdl
from engine.sql.algebra import Expr
from engine.sql.rejected import SqlRejected


@dataclass(frozen=True)
class Insert:
    """An INSERT INTO, or a SELECT whose result is shown (target None)."""

    target: str | None
    columns: tuple[str, ...]
    query: Expr
    statement: Statement


@dataclass
class Parts:
    """The parts of a script, in the order of its statements. filled: the views that are CREATE TABLE ... AS SELECT.

    dropped: names that may be created again.
    """

    tables: dict[str, TableDdl] = field(default_factory=dict)
    views: dict[str, Statement] = field(default_factory=dict)
    functions: dict[str, FunctionDdl] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    rows: dict[str, list[list[Any]]] = field(default_factory=dict)
    inserts: list[Insert] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)
    directives: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    filled: list[str] = field(default_factory=list)
    dropped: set[str] = field(default_factory=set)


def target_table(name: str, tables: Mapping[str, TableDdl], statement: Statement) -> TableDdl:
    """The table into which a statement inserts. Raises SqlRejected."""
    if name not in tables:
        message = f"INSERT INTO: {unknown_name('table', name, tables)}."
        raise SqlRejected(message, place=statement.place)
    return tables[name]
