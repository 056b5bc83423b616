"""SHOW, DESCRIBE and EXPLAIN, answered in notes as of their places in a script; EXPLAIN with the plan of the studio."""

from __future__ import annotations

from typing import Final

from engine.errors import unknown_name
from engine.functions import FUNCTIONS
from engine.functions.refused import no_function
from engine.model.pipeline import Pipeline
from engine.planner import plan
from engine.script.parts import Insert, Parts
from engine.script.statements import Cursor, Statement, parsed
from engine.sql import exactly
from engine.sql.emit_options import without_emit_options
from engine.sql.names import Names
from engine.sql.nodes.emitter import Emitter
from engine.sql.rejected import SqlRejected

_QUERIES: Final = ("SELECT", "WITH", "(")


def answered(statement: Statement, parts: Parts) -> str | None:
    """The answer to SHOW or DESCRIBE; None for any other statement. Raises SqlRejected for an unknown name."""
    cursor = Cursor(statement)
    if cursor.skip("DESCRIBE") or cursor.skip("DESC"):
        is_function = cursor.skip("FUNCTION")
        cursor.skip("EXTENDED")
        if is_function:
            return _function(cursor.name(), parts)
        name = cursor.name()
        return f"{name}: {_columns(name, parts)}"
    if not cursor.skip("SHOW"):
        return None
    cursor.skip("CREATE")
    if (cursor.skip("TABLE") or cursor.skip("VIEW")) and not cursor.is_done:
        return parts.definition(_known(cursor.name(), parts)).sql
    if cursor.skip("COLUMNS"):
        if not (cursor.skip("FROM") or cursor.skip("IN")):
            cursor.expect("FROM")
        name = cursor.name()
        return f"{name}: {_columns(name, parts)}"
    names = {"TABLES": [*parts.tables, *parts.views], "VIEWS": [*parts.views], "FUNCTIONS": [*parts.functions]}
    listed = next((names[kind] for kind in names if cursor.skip(kind)), None)
    return None if listed is None else ", ".join(sorted(set(listed) - parts.dropped)) or "none"


def explained(statement: Statement) -> Insert | None:
    """The query of an EXPLAIN; None if it explains no query of one result."""
    for at, token in enumerate(statement.tokens):
        if token.text.upper() in _QUERIES:
            rest = statement.after(at)
            return Insert(None, (), parsed(rest.tokens, rest.text), statement)
    return None


def plan_in_words(insert: Insert, parts: Parts, names: Names, emitter: Emitter) -> str:
    """The nodes of a query with their changelog modes and strategies, sources first. Raises CannotBeRead."""
    emitter = emitter.apart()
    with parts.reading(insert.statement):
        relation, emitted = emitter.read(parts.told(insert.query), names)
        last = exactly(emitter, emitted, relation.columns, insert.query)
        pipeline = Pipeline(
            nodes=tuple(emitter.nodes), edges=tuple(emitter.edges), options=without_emit_options(parts.options)
        )
        above, waiting = {last}, [last]
        while waiting:
            sources = [edge.source for edge in pipeline.inputs(waiting.pop())]
            waiting += [source for source in sources if source not in above]
            above.update(sources)
        planned = plan(pipeline.part(above), emitter.analyzer, emitter.folder)
    return "; ".join(f"{node.id}: {node.operator.title} {node.mode}, {node.strategy.name}" for node in planned.nodes)


def _columns(name: str, parts: Parts) -> str:
    table = parts.tables.get(_known(name, parts))
    if table is None:
        return "a view, whose node shows its columns"
    types = {column.name: column.type.flink for column in table.columns}
    types |= {column.name: "METADATA" for column in table.metadata}
    return ", ".join(f"{column} {types.get(column, 'computed')}" for column in table.order)


def _function(name: str, parts: Parts) -> str:
    own = parts.functions.get(name.upper())
    if own is not None:
        return f"{own.name} is {own.target}, in Python"
    row = FUNCTIONS.get(name.upper())
    if row is None:
        raise SqlRejected(no_function("function", name, sorted(FUNCTIONS)))
    shown, *sentences = row.told(name.upper())
    return f"{shown}: {' Example: '.join(sentences)}"


def _known(name: str, parts: Parts) -> str:
    parts.require_read(name)
    names = (*parts.tables, *parts.views)
    if name not in names:
        message = f"{unknown_name('table', name, names)}."
        raise SqlRejected(message)
    return name
