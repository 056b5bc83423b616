"""A script split into parts: tables, views, inserted rows, inserts, options and directives, statement by statement."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sqlglot import exp

from engine.errors import PipelineError, unknown_name
from engine.model.options import has_effect
from engine.model.schema import quote
from engine.script.like import with_base
from engine.script.python_functions import FunctionDdl, create_function, is_create_function
from engine.script.statements import Cursor, Statement, parsed, place_of_token, raw, statements
from engine.script.tables import TableDdl, create_table
from engine.sql.algebra import Expr
from engine.sql.clauses.constants import values_of
from engine.sql.emit_options import emit_options
from engine.sql.rejected import SqlRejected

_OF_ALL: Final = ("pipeline", "description", "arrival")
_HARMLESS: Final = (
    "table.dml-sync",
    "parallelism.default",
    "pipeline.auto-watermark-interval",
    "table.local-time-zone",
)
_ZONE: Final = "table.local-time-zone"
_UTC: Final = ("UTC", "GMT", "Z", "ETC/UTC", "UTC+00:00", "GMT+00:00", "+00:00")
_SET: Final = re.compile(
    r"SET\s+(?:'([^']+)'|([\w.-]+))\s*=\s*(?:'((?:[^']|'')*)'|(.+?))\s*$", re.DOTALL | re.IGNORECASE
)
_QUERY: Final = ("SELECT", "WITH", "(")
_QUIET: Final = tuple("USE SHOW DESCRIBE DESC EXPLAIN DROP RESET ANALYZE ADD LOAD UNLOAD".split())  # noqa: SIM905


@dataclass(frozen=True)
class Insert:
    """An INSERT INTO, or a SELECT whose result is shown (target None)."""

    target: str | None
    columns: tuple[str, ...]
    query: Expr
    statement: Statement


@dataclass
class Parts:
    """The parts of a script, in the order of its statements. filled: the views that are CREATE TABLE ... AS SELECT."""

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


def taken_apart(text: str) -> Parts:
    """The parts of a script, by kind of statement. Raises SqlRejected."""
    parts = Parts()
    for statement in statements(text):
        parts.directives |= {name: value for name, value in statement.directives.items() if name in _OF_ALL}
        _statement(_bare(statement), parts)
    if parts.filled and not parts.inserts:
        # The rows of the last table are the result: nothing else asks for any.
        text = f"SELECT * FROM {quote(parts.filled[-1])}"
        statement = statements(text)[0]
        parts.inserts.append(Insert(None, (), parsed(statement.tokens, text), statement))
    return parts


def _as_select(statement: Statement) -> Statement | None:
    """The query of CREATE TABLE ... AS SELECT, from AS on, as of a view; None for any other CREATE TABLE."""
    depth = 0
    for at, token in enumerate(statement.tokens):
        depth += token.text.count("(") - token.text.count(")")
        after = statement.tokens[at + 1 :]
        if depth == 0 and token.text.upper() == "AS" and after and after[0].text.upper() in (*_QUERY, "VALUES"):
            return statement.after(at)
    return None


def _bare(statement: Statement) -> Statement:
    """The statement without the words of a surrounding statement set."""
    for words in (("EXECUTE", "STATEMENT", "SET"), ("BEGIN", "STATEMENT", "SET"), ("BEGIN",), ("EXECUTE",)):
        if statement.begins(*words):
            statement = statement.after(len(words))
    return statement


def _statement(statement: Statement, parts: Parts) -> None:
    if not statement.tokens or (statement.begins("END") and len(statement.tokens) == 1):
        return
    word = statement.tokens[0].text.upper()
    if statement.creates("TABLE") and (query := _as_select(statement)) is not None:
        name = Cursor(statement).created("TABLE")
        _new_name(name, statement, parts)
        parts.views[name] = query
        parts.filled.append(name)
    elif statement.creates("TABLE"):
        table, rest = create_table(statement)
        if not rest.is_done:
            table = with_base(table, rest, parts.tables)
        _new_name(table.name, statement, parts)
        parts.tables[table.name] = table
    elif statement.creates("VIEW"):
        cursor = Cursor(statement)
        name = cursor.created("VIEW")
        _new_name(name, statement, parts)
        parts.views[name] = statement.after(cursor.at)
    elif is_create_function(statement):
        function = create_function(statement)
        parts.functions[function.name.upper()] = function
    elif word == "INSERT":
        _insert(statement, parts)
    elif word in _QUERY:
        parts.inserts = [one for one in parts.inserts if one.target is not None]
        parts.inserts.append(Insert(None, (), parsed(statement.tokens, statement.text), statement))
    elif word == "SET":
        _set(statement, parts)
    elif word in _QUIET or statement.begins("CREATE", "CATALOG") or statement.begins("CREATE", "DATABASE"):
        parts.warnings.append(f"line {statement.place[0]}: {word} has no effect here and is ignored.")
    else:
        message = (
            f"{raw(statement.tokens[:2], statement.text)} is not supported. A script consists of CREATE TABLE, "
            "CREATE VIEW, CREATE FUNCTION, SET, INSERT INTO and SELECT."
        )
        raise SqlRejected(message, place=statement.place)


def _new_name(name: str, statement: Statement, parts: Parts) -> None:
    if statement.begins("CREATE", "OR", "REPLACE"):
        for known in (parts.tables, parts.views, parts.rows):
            known.pop(name, None)
        parts.order = [each for each in parts.order if each != name]
    if name in parts.tables or name in parts.views:
        message = f"there is already a table or view {name!r}. Give this one another name."
        raise SqlRejected(message, place=statement.place)
    parts.order.append(name)


def _insert(statement: Statement, parts: Parts) -> None:
    statement = _without_conflict(statement)
    cursor = Cursor(statement)
    cursor.expect("INSERT")
    if not cursor.skip("OVERWRITE"):
        cursor.expect("INTO")
    cursor.skip("TABLE")
    target = cursor.name()
    columns = tuple(cursor.listed()) if cursor.sees("(") and not cursor.sees("(", "SELECT") else ()
    query = cursor.query()
    if isinstance(query, exp.Values):
        table = target_table(target, parts.tables, statement)
        wanted = table.targets(columns, statement.place)
        for row in query.expressions:
            values = values_of(row)
            if len(values) != len(wanted):
                message = (
                    f"{target} has {len(wanted)} columns ({', '.join(wanted)}), but a row has {len(values)} values."
                )
                raise SqlRejected(message, row)
            by_name = dict(zip(wanted, values, strict=True))
            parts.rows.setdefault(target, []).append([by_name.get(column.name) for column in table.columns])
        return
    parts.inserts.append(Insert(target, columns, query, statement))


def _without_conflict(statement: Statement) -> Statement:
    """An INSERT without its ON CONFLICT. Raises SqlRejected for what a sink here does not do with equal keys."""
    last = statement.tokens[-4:]
    *words, what = [token.text.upper() for token in last]
    if words != ["ON", "CONFLICT", "DO"]:
        return statement
    if what != "DEDUPLICATE":
        message = (
            f"ON CONFLICT DO {what} is not supported: of rows with one key, a sink here keeps the last one. Write "
            "ON CONFLICT DO DEDUPLICATE, or choose a row per key in the query, by ROW_NUMBER."
        )
        raise SqlRejected(message, place=place_of_token(last[0]))
    return replace(statement, tokens=statement.tokens[:-4])


def target_table(name: str, tables: Mapping[str, TableDdl], statement: Statement) -> TableDdl:
    """The table into which a statement inserts. Raises SqlRejected."""
    if name not in tables:
        message = f"INSERT INTO: {unknown_name('table', name, tables)}."
        raise SqlRejected(message, place=statement.place)
    return tables[name]


def _set(statement: Statement, parts: Parts) -> None:
    match = _SET.fullmatch(raw(statement.tokens, statement.text).strip())
    if match is None:
        message = "SET takes a name and a value: SET 'table.exec.mini-batch.enabled' = 'true'."
        raise SqlRejected(message, place=statement.place)
    name, value = match[1] or match[2], (match[3] if match[3] is not None else match[4]).replace("''", "'")
    try:
        is_ours = bool(emit_options({name: value})) or has_effect(name, value)
    except PipelineError as error:
        raise SqlRejected(error.sentence, place=statement.place) from error
    if is_ours:
        parts.options[name] = value
    elif name == _ZONE and value.upper() not in _UTC:
        parts.warnings.append(f"line {statement.place[0]}: {name} = {value!r} is ignored; times are in UTC here.")
    elif name not in _HARMLESS:
        parts.warnings.append(f"line {statement.place[0]}: the option {name!r} has no effect here.")
