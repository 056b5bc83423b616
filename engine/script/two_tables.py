"""A table of a script that is two: one of its name was dropped and created again, or queries read it by two clocks.

SELECT x FROM a; DROP TABLE a; CREATE TABLE a ...; SELECT y FROM a     the first SELECT reads a_before
windows over ts, and windows over PROCTIME(), of t                     the latter read t_by_arrival
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from sqlglot import exp

from engine.model.free_names import free_id
from engine.script.failures import tables_in
from engine.script.parts import Insert, Parts
from engine.script.statements import Statement
from engine.sql.algebra import Expr

_BEFORE: Final = "_before"
_BY_ARRIVAL: Final = "_by_arrival"


def set_aside(name: str, statement: Statement, parts: Parts) -> None:
    """Give another name to the table or view that a statement replaces or alters, if earlier ones read or fill it."""
    users = [insert for insert in (*parts.inserts, *parts.explained) if name in (insert.target, *_read(insert, parts))]
    if not users:
        return
    before = free_id(f"{name}{_BEFORE}", _names(parts))
    line = parts.definition(name).place[0]
    if name in parts.tables:
        parts.tables[before] = replace(parts.tables[name], name=before)
    else:
        parts.views[before] = parts.views[name]
    if name in parts.rows:
        parts.rows[before] = list(parts.rows[name])
    parts.filled = [before if target == name else target for target in parts.filled]
    parts.order.append(before)
    use_instead(users, name, before, parts)
    parts.warnings.append(
        f"line {statement.place[0]}: {name} is another one from here on. That of line {line}, which earlier statements "
        f"use, is called {before} here."
    )


def read_by_arrival(name: str, statement: Statement, parts: Parts) -> str:
    """The name by which a statement reads a table that has processing times: another one, if others read it, too."""
    own = [insert for insert in (*parts.inserts, *parts.explained) if insert.statement.end == statement.end]
    views = [view for view, definition in parts.views.items() if definition.end == statement.end]
    others = [insert for insert in parts.inserts if insert not in own]
    is_shared = any(name in _read(insert, parts) and not set(views) & _read(insert, parts) for insert in others)
    # Without an event time nothing is lost, and what other statements fill is one table.
    if not is_shared or not (own or views) or parts.tables[name].watermark is None or name in parts.targets:
        return name
    by_arrival = next((table for table in parts.tables if table.startswith(f"{name}{_BY_ARRIVAL}")), None)
    if by_arrival is None:
        by_arrival = free_id(f"{name}{_BY_ARRIVAL}", _names(parts))
        parts.tables[by_arrival] = replace(parts.tables[name], name=by_arrival)
        if name in parts.rows:
            parts.rows[by_arrival] = parts.rows[name]
        parts.order.append(by_arrival)
        parts.warnings.append(
            f"{name} is read twice: windows over its processing time read it by times of arrival, as {by_arrival}, and "
            "other statements by its event time."
        )
    for view in views:
        reads = {**parts.views[view].reads, name: by_arrival}
        parts.views[view] = replace(parts.views[view], reads=reads)
    use_instead(own, name, by_arrival, parts)
    return by_arrival


def with_tables(query: Expr, names: Mapping[str, str]) -> Expr:
    """A query that reads other tables, by the names that it calls them. names: the other ones, by those."""
    if not names:
        return query
    query = query.copy()
    own = {table.alias for table in query.find_all(exp.CTE)}
    for table in query.find_all(exp.Table):
        if isinstance(table.this, exp.Identifier) and table.name in names and table.name not in own:
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True)))
            table.this.set("this", names[table.name])
            table.this.set("quoted", True)
    return query


def use_instead(users: Sequence[Insert], name: str, instead: str, parts: Parts) -> None:
    """Let some statements use one table in place of another, also through views, of which they get their own."""
    names = {name: instead}
    reached = set().union(*(_read(insert, parts) for insert in users))
    for view, statement in list(parts.views.items()):
        if view in reached and view != name and names.keys() & _tables_of(statement):
            names[view] = free_id(f"{view}{instead.removeprefix(name)}", _names(parts))
            parts.views[names[view]] = replace(statement, reads={**statement.reads, **names})
            parts.order.append(names[view])
    parts.inserts = [_renamed(insert, names) if insert in users else insert for insert in parts.inserts]
    parts.explained = [_renamed(insert, names) if insert in users else insert for insert in parts.explained]


def _renamed(insert: Insert, names: Mapping[str, str]) -> Insert:
    target = insert.target if insert.target is None else names.get(insert.target, insert.target)
    return replace(insert, target=target, query=with_tables(insert.query, names))


def _read(insert: Insert, parts: Parts) -> set[str]:
    """The tables and views that a statement reads, also through views."""
    names: set[str] = set()
    wanted = {table.name for table in insert.query.find_all(exp.Table)}
    while wanted:
        names |= wanted
        inside = (_tables_of(parts.views[name]) for name in wanted if name in parts.views)
        wanted = set().union(*inside) - names
    return names


def _tables_of(view: Statement) -> set[str]:
    return {view.reads.get(name, name) for name in tables_in(view)}


def _names(parts: Parts) -> list[str]:
    return [*parts.tables, *parts.views]
