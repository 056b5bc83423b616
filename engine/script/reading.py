"""A script of Flink SQL as one pipeline.

CREATE TABLE and CREATE VIEW define names for queries, SET defines options; INSERT INTO and each SELECT are the
sinks. A view is expanded wherever it is used, as in Flink; a node that equals a whole view gets the view's name. In
a script of the studio (marked by `-- studio.pipeline`) every view is a node (`engine.script.views`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError
from sqlglot import exp

from engine.contract.operator import Analyzer
from engine.errors import shown
from engine.model.options import goes_by_arrival
from engine.model.pipeline import Arrival, Group, Node, Pipeline
from engine.planner import check
from engine.registry import connectors, sources
from engine.script.asked import plan_in_words
from engine.script.called_as_views import called_as_views
from engine.script.changelog_calls import Changelog, changelog_of
from engine.script.connectors import SourceTable, sink_parameters, source_table
from engine.script.epoch_times import folded
from engine.script.failures import CannotBeRead, Failure
from engine.script.filled_watermarks import pass_on_watermarks
from engine.script.jobs import Jobs
from engine.script.node_ids import node_id, node_id_of
from engine.script.parts import Parts
from engine.script.passwords import without_passwords
from engine.script.python_functions import function_of
from engine.script.recorded_clock import ROWTIME, has_own_rowtime
from engine.script.refused_by_flink import looked_up
from engine.script.sharing import shared
from engine.script.statements import Cursor, Statement
from engine.script.tables import TableDdl
from engine.script.taken_apart import taken_apart
from engine.script.two_tables import read_by_arrival, with_tables
from engine.script.unread_nodes import needed_by, open_tables, with_unread
from engine.script.views import is_table, names_of, node_of_view
from engine.sql.algebra import Expr, Table
from engine.sql.clauses.python_calls import aggregates_of
from engine.sql.clauses.row_columns import rows_in
from engine.sql.emit_options import without_emit_options
from engine.sql.names import Names
from engine.sql.nodes import MAKERS
from engine.sql.nodes.emitter import Emitter
from engine.sql.rejected import NoClock, SqlRejected

MOST_CHARS: Final = 2_000_000
"""The most characters of a script, of which a million take some 8 s."""
# With more nodes than this, the groups of views are folded when a script is opened.
_MOST_OPEN: Final = 16


@dataclass(frozen=True)
class Script:
    """A script as a pipeline. jobs: the sinks in the order of the statements. warnings: omitted parts, as sentences.

    failures: the statements that could not be read; each is a node of the pipeline.
    """

    pipeline: Pipeline
    jobs: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()


def script_of(text: str, analyzer: Analyzer, folder: Path, name: str = "query") -> Script:
    """The pipeline of a script. folder: the base of relative paths.

    A statement that cannot be read is left out with all that needs it; the rest is read anew without it. Raises
    SqlRejected for a script without anything to run, and for one of more than MOST_CHARS.
    """
    if len(text) > MOST_CHARS:
        message = (
            f"the script has {len(text):,} characters, and {MOST_CHARS:,} are the most. Rows of INSERT INTO ... VALUES "
            "belong in a file: read it with 'connector' = 'filesystem'."
        )
        raise SqlRejected(message, place=(1, 1))
    parts = taken_apart(text)
    while True:
        if not parts.inserts and not parts.failures and "pipeline" not in parts.directives:
            message = "the script has no SELECT and no INSERT INTO ... SELECT, so there is nothing to run. Add one."
            raise SqlRejected(message, place=(text.count("\n") + 1, 1))
        try:
            script = _script_of(parts, analyzer, folder, name)
            return replace(script, pipeline=script.pipeline.model_copy(update={"script": without_passwords(text)}))
        except CannotBeRead as error:
            if not _give_clock(parts, error.failure):
                parts.leave_out(error.failure)


def _give_clock(parts: Parts, failure: Failure) -> bool:
    """Give values to the processing times that a statement reads. False if they have them, or this is another error."""
    error = failure.error
    if isinstance(error, NoClock) and error.for_windows:
        name = next((table_name for table_name in parts.tables if node_id_of(table_name) == error.table), None)
        if name is not None and (by_arrival := read_by_arrival(name, failure.statement, parts)) != name:
            if not parts.tables[by_arrival].clocked:
                parts.set_clock(by_arrival, for_windows=True)
            return True
    return parts.give_clock(error)


def _script_of(parts: Parts, analyzer: Analyzer, folder: Path, name: str) -> Script:
    is_ours = "pipeline" in parts.directives
    if not is_ours:
        pass_on_watermarks(parts)
    functions = {}
    for called, ddl in parts.functions.items():
        with parts.reading(ddl.statement):
            functions[called] = function_of(ddl, folder)
    emitter = Emitter(analyzer, folder, MAKERS, parts.options, functions)
    jobs_ = Jobs(parts, emitter)
    tables = Tables(parts, emitter, jobs_)
    names = Names(tables, aggregates=aggregates_of(emitter.functions))
    if is_ours:
        _nodes(parts, tables, names, emitter)
    else:
        for view, statement in parts.views.items():
            with parts.reading(statement):
                if not tables.add_changelog(view, statement):
                    names = names.with_view(view, parts.told(_view(statement)))
    jobs_.names = names
    jobs = tuple(jobs_.sink(insert) for insert in parts.inserts)
    answers = [
        f"line {insert.statement.place[0]}: EXPLAIN: {plan_in_words(insert, parts, names, emitter)}"
        for insert in parts.explained
    ]
    if parts.failures:
        open_tables(parts, tables, emitter)
    nodes, edges = tuple(emitter.nodes), tuple(emitter.edges)
    if is_ours:
        places = {node_id_of(name): at for at, name in enumerate(parts.order)}
        nodes = tuple(sorted(nodes, key=lambda node: places.get(node.id, len(places))))
    else:
        instead = {node.id: node.id for node in nodes}
        if len(jobs) > 1:
            whole = Pipeline(nodes=nodes, edges=edges, options=without_emit_options(parts.options))
            nodes, edges, instead = shared(nodes, edges, check(whole, analyzer, folder).plan)
        nodes, edges = called_as_views(nodes, edges, instead, names, parts, jobs, emitter)
    nodes = tuple(_described(nodes, jobs, parts))
    pipeline = Pipeline(
        name=str(parts.directives.get("pipeline", name)),
        description=str(parts.directives.get("description", "")),
        nodes=nodes,
        edges=edges,
        groups=_groups(nodes),
        arrival=_arrival(parts.directives.get("arrival")),
        options=without_emit_options(parts.options),
    )
    if is_ours:
        pipeline = folded(pipeline, analyzer, folder)
    used = _used([insert.query for insert in parts.inserts], names) | needed_by(parts)
    ends = {parts.views[view].end for view in used if view in parts.views}
    left_out = [view for view in names.views if view not in used and parts.views[view].end not in ends]
    looked_up = list(_looked_up(pipeline, parts))
    unused = [f"the view {view} is left out: no INSERT and no SELECT at the end reads it." for view in left_out]
    warnings = [*parts.warnings, *answers, *looked_up, *unused, *tables.warnings, *jobs_.warnings, *names.warnings]
    pipeline = with_unread(pipeline, parts)
    return Script(
        pipeline,
        jobs,
        tuple(dict.fromkeys(map(shown, warnings))),
        tuple(sorted(parts.failures, key=lambda failure: failure.place)),
    )


def _groups(nodes: Sequence[Node]) -> tuple[Group, ...]:
    """The groups that nodes are in. In a large pipeline they are folded, so that its views are seen first."""
    names = dict.fromkeys(node.group for node in nodes if node.group)
    return tuple(Group(name=name, folded=len(nodes) > _MOST_OPEN) for name in names)


def _described(nodes: Sequence[Node], jobs: Sequence[str], parts: Parts) -> Iterator[Node]:
    """The nodes with the comments above their statements. A sink has its table's, else that of its INSERT."""
    told = {job: insert.statement.description for job, insert in zip(jobs, parts.inserts, strict=True)}
    statements_ = {**{name: ddl.statement for name, ddl in parts.tables.items()}, **parts.views}
    told |= {
        node_id_of(name): statement.description for name, statement in statements_.items() if statement.description
    }
    for node in nodes:
        description = told.get(node.id, "")
        yield node.model_copy(update={"description": description}) if description else node


def _looked_up(pipeline: Pipeline, parts: Parts) -> Iterator[str]:
    """Notes on tables of connectors whose rows are looked up here, and not in Flink."""
    joins = [node.id for node in pipeline.nodes if node.operator == "lookup_join"]
    right = {edge.source for join in joins for edge in pipeline.inputs(join)[1:]}
    for name, ddl in parts.tables.items():
        why = looked_up(name, ddl.connector)
        is_told = any(why in note for note in parts.warnings)
        read_by = connectors().get(ddl.connector)
        is_scanned = read_by is not None and not any(source.is_looked_up for source in read_by)
        if node_id_of(name) in right and is_scanned and not is_told:
            yield f"Flink would refuse this: {why}. Use 'jdbc', or join an event time's version."


def _used(queries: Sequence[Expr], names: Names) -> set[str]:
    """The views that some queries read, directly or through other views."""
    used: set[str] = set()
    for query in queries:
        for table in query.find_all(exp.Table):
            if table.name in names.views and table.name not in used:
                used |= {table.name} | _used([names.views[table.name].query], names)
    return used


def _nodes(parts: Parts, tables: Tables, names: Names, emitter: Emitter) -> None:
    """Add a node for every source table and for every view, with the same name."""
    targets = parts.targets
    bases = {call.table for view in parts.views.values() if (call := changelog_of(view, parts.tables)) is not None}
    for name in parts.order:
        is_read = name in parts.tables and name not in targets and name not in bases
        with parts.reading(parts.definition(name)):
            if is_read or (name in parts.views and tables.add_changelog(name, parts.views[name])):
                emitter.source(tables[name].node)
            elif name in parts.views:
                tables.warnings += node_of_view(node_id(name, emitter), parts.views[name], names, emitter)
                node = emitter.nodes[-1]
                schema = emitter.derived[node.id].schema
                tables.add(name, Table(node, schema.names, rows=rows_in(schema)))


def source_of(name: str, parts: Parts, emitter: Emitter) -> Node:
    """The source of a table or of a changelog view of a script. Raises SqlRejected."""
    tables = Tables(parts, emitter)
    if name in parts.views:
        tables.add_changelog(name, parts.views[name])
    return tables[name].node


def sink_of(name: str, parts: Parts) -> dict[str, Any]:
    """The parameters of a table as a sink."""
    return sink_parameters(parts.tables[name])


def _arrival(directive: object) -> Arrival:
    try:
        return Arrival.model_validate(directive or {})
    except ValidationError as error:
        message = f"studio.arrival cannot be read: {error.errors()[0]['msg']}. Remove the line, or copy it again."
        raise SqlRejected(message) from error


def _view(statement: Statement) -> Expr:
    """The query of a view with the view's column names."""
    cursor = Cursor(statement)
    names = tuple(cursor.listed()) if cursor.sees("(") else ()
    if cursor.skip("COMMENT"):
        cursor.take()
    cursor.expect("AS")
    query = with_tables(cursor.query(), statement.reads)
    if not names:
        return query
    items = query.expressions if isinstance(query, exp.Select) else []
    if len(items) == len(names) and not any(isinstance(item.unalias(), exp.Star) or item.is_star for item in items):
        renamed = [exp.alias_(item.unalias(), name, quoted=True) for item, name in zip(items, names, strict=True)]
        query.set("expressions", renamed)
        return query
    identifiers = [exp.to_identifier(name, quoted=True) for name in names]
    inner = query if isinstance(query, exp.Values) else exp.Subquery(this=query.unnest())
    inner.set("alias", exp.TableAlias(this=exp.to_identifier("v"), columns=identifiers))
    return exp.select("*").from_(inner)


class Tables(Mapping[str, Table]):
    """The tables of a script. A table becomes a source when a query first names it; until then it may be a sink."""

    def __init__(self, parts: Parts, emitter: Emitter, jobs: Jobs | None = None) -> None:
        self._jobs = jobs
        self._parts = parts
        self._emitter = emitter
        self._made: dict[str, Table] = {}
        self.warnings: list[str] = []

    def __getitem__(self, name: str) -> Table:
        if name not in self._made:
            jobs = self._jobs if self._jobs is not None and self._jobs.is_filled(name) else None
            if jobs is None:
                self._made[name] = self._read(name)
            else:
                self._made[name] = jobs.filled(name, self._read(name) if name in self._parts.rows else None)
        return self._made[name]

    def _read(self, name: str) -> Table:
        self._parts.require_read(name)
        source = self._as_directed(self._source(name, name), self._parts.tables[name])
        self.warnings += source.warnings
        ddl = self._parts.tables[name]
        hidden = (
            ddl.hidden if has_own_rowtime(ddl) else (*ddl.hidden, *(name for name in source.columns if name == ROWTIME))
        )
        tells_arrival = self._parts.arrival(name) is not None
        return Table(
            source.node, source.columns, source.proctime, ddl.rows, hidden, ddl.clocked, tells_arrival, ddl.never_null
        )

    def __contains__(self, name: object) -> bool:
        return name in self._made or name in self._parts.tables or name in self._parts.unread

    def __iter__(self) -> Iterator[str]:
        return iter({**self._made, **self._parts.tables})

    def __len__(self) -> int:
        return len({**self._made, **self._parts.tables})

    def add(self, name: str, table: Table) -> None:
        """Add a name for an existing or future node."""
        self._made[name] = table

    def add_changelog(self, name: str, statement: Statement) -> bool:
        """Add a view that reads a table's rows as a changelog, as a source. False for any other view."""
        changelog = changelog_of(statement, self._parts.tables)
        if changelog is None:
            return False
        base = changelog.table
        source = self._as_directed(self._source(base, name, changelog), self._parts.tables[base])
        self._made[name] = Table(source.node, source.columns, source.proctime, self._parts.tables[base].rows)
        self.warnings += source.warnings
        return True

    def _source(self, name: str, called: str, changelog: Changelog | None = None) -> SourceTable:
        """The source of a table, or of the changelog that its rows are. Raises SqlRejected."""
        ddl = self._parts.tables[name]
        analyzer, folder = self._emitter.analyzer, self._emitter.folder
        rows, wanted = self._parts.rows.get(name), node_id(called, self._emitter)
        kind = changelog.kind if changelog is not None else None
        if changelog is not None and rows and kind in (names := [column.name for column in ddl.written]):
            rows = changelog.with_symbols(rows, names.index(kind))
        try:
            return source_table(ddl, wanted, folder, analyzer, rows, kind, self._parts.clock_ms)
        except SqlRejected:
            # The studio wrote it for a node with an expression that Flink lacks.
            told = Node(id=wanted, operator="").model_copy(update=ddl.statement.directives.get("node", {}))
            if told.operator not in sources() or not is_table(told, ddl, self._emitter):
                raise
            return SourceTable(told, names_of(told, self._emitter), (), ())

    def _as_directed(self, source: SourceTable, ddl: TableDdl) -> SourceTable:
        """The source with the directives above its table, unless the resulting node no longer matches the table."""
        directives = ddl.statement.directives
        if "arrived" in directives:
            return source.by_arrival(directives["arrived"], only_clock=goes_by_arrival(self._parts.options))
        node = source.node
        if "node" in directives:
            node = node.model_copy(update=directives["node"])
        elif "parameters" in directives:
            node = node.with_parameters({**node.parameters, **directives["parameters"]})
        if node is source.node:
            return source
        if not is_table(node, ddl, self._emitter):
            warning = f"{ddl.name}: the studio's comment above the table no longer fits it; the table is used."
            return replace(source, warnings=(*source.warnings, warning))
        return replace(source, node=node)
