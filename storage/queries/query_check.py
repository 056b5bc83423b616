"""The check of a person's SQL: one query that reads the store's own tables, and nothing else.

DuckDB's own parser parses the text, and the SQL that is run is generated from the same tree, so that check and
execution cannot read it differently. Every part of the tree must be known to be harmless: the kinds of node, the tables
(a name that is no table of the store could be a file), the functions. In addition, the store is attached read-only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import Any, Final

import duckdb

from storage.database.connection import Cursor
from storage.database.sentences import first_sentence
from storage.errors import QueryRefused
from storage.queries.error_line import line_of

_NODES: Final = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
_TABLES: Final = frozenset(
    {"BASE_TABLE", "SUBQUERY", "JOIN", "TABLE_FUNCTION", "EXPRESSION_LIST", "EMPTY", "SHOW_REF", "PIVOT"}
)
_TABLE_FUNCTIONS: Final = frozenset({"range", "generate_series", "unnest", "json_each", "json_tree"})
_CATALOG: Final = frozenset({"duckdb_tables", "duckdb_columns", "duckdb_views", "duckdb_schemas", "duckdb_functions"})
_INFORMATION: Final = frozenset({"tables", "columns", "schemata"})
# Functions that wait, write, bind other SQL, or reveal something about the process instead of the store.
_REFUSED: Final = frozenset(
    {
        *("sleep_ms", "write_log", "setseed", "nextval", "currval", "setval", "stats"),
        *("getvariable", "getenv", "current_setting", "current_query", "current_connection_id"),
        *("json_serialize_plan", "json_execute_serialized_sql"),
    }
)
_PLAIN_NAME: Final = re.compile(r"\w+")
_KINDS: Final = {
    **dict.fromkeys(("INSERT", "UPDATE", "DELETE", "MERGE_INTO"), "it writes"),
    **dict.fromkeys(("SET", "VARIABLE_SET"), "it changes a setting"),
    "CREATE": "it creates something",
    "DROP": "it drops something",
    "ALTER": "it alters a table",
    "COPY": "it copies to or from a file",
    "ATTACH": "it attaches a file",
    "DETACH": "it detaches a file",
    "LOAD": "it loads an extension",
    "PRAGMA": "it is a PRAGMA",
    "EXPORT": "it exports to files",
    "CALL": "it calls a procedure",
}


class Known:
    """The names in the store that a query may use, each read from the catalog when it is needed; in lower case."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor

    @cached_property
    def catalog(self) -> str:
        """The name of the database, as it is."""
        return str(_one(self._cursor.execute("SELECT current_database()").fetchone()))

    @cached_property
    def tables(self) -> frozenset[tuple[str, str]]:
        """Tables and views by (schema, name)."""
        rows = self._cursor.execute(
            "SELECT lower(schema_name), lower(table_name) FROM duckdb_tables() "
            "WHERE database_name = $catalog UNION ALL "
            "SELECT lower(schema_name), lower(view_name) FROM duckdb_views() "
            "WHERE database_name = $catalog AND NOT internal",
            {"catalog": self.catalog},
        )
        return frozenset(rows.fetchall())

    @cached_property
    def macros(self) -> frozenset[tuple[str, str]]:
        """Table macros by (schema, name). Few queries have one, and reading them takes longer than all the rest."""
        rows = self._cursor.execute(
            "SELECT lower(schema_name), lower(function_name) FROM duckdb_functions() "
            "WHERE database_name = ? AND function_type = 'table_macro' AND NOT internal",
            [self.catalog],
        )
        return frozenset(rows.fetchall())


@cache
def _functions() -> frozenset[str]:
    """DuckDB's own functions that a query may use."""
    with duckdb.connect(config={"threads": 1}) as beside:
        functions = beside.execute(
            "SELECT DISTINCT lower(function_name) FROM duckdb_functions() "
            "WHERE function_type IN ('scalar', 'aggregate', 'macro') AND internal"
        ).fetchall()
    return frozenset(name for (name,) in functions) - _REFUSED


def checked(cursor: Cursor, text: str, schema: str) -> str:
    """Check a query and return it in DuckDB's form. schema: searched for unqualified names before main.

    Raises QueryRefused for a part that is not allowed, and for a syntax error.
    """
    try:
        statements = cursor.extract_statements(text)
    except duckdb.Error as error:
        raise QueryRefused(first_sentence(str(error)), line_of(str(error), text, text)) from error
    if len(statements) != 1:
        what = "There is no query." if not statements else f"These are {len(statements)} statements; run one at a time."
        raise QueryRefused(what)
    kind = statements[0].type.name
    if kind != "SELECT":
        reason = _KINDS.get(kind, f"it is a statement of the kind {kind}")
        msg = f"This is not a query: {reason}. Only SELECT, FROM, WITH, VALUES, DESCRIBE and SUMMARIZE are allowed."
        raise QueryRefused(msg)
    serialized = str(_one(cursor.execute("SELECT json_serialize_sql(?)", [text]).fetchone()))
    tree = json.loads(serialized)
    if tree.get("error"):
        raise QueryRefused(first_sentence(str(tree.get("error_message", "it cannot be read"))))
    _Check(Known(cursor), schema.lower(), text).statement(tree)
    return str(_one(cursor.execute("SELECT json_deserialize_sql(?)", [serialized]).fetchone()))


class _Check:
    """Walks the tree of a query. Raises QueryRefused for a part that is not allowed."""

    def __init__(self, known: Known, schema: str, text: str) -> None:
        self._known = known
        self._schema = schema
        self._text = text.encode()
        self._ctes: set[str] = set()

    def statement(self, tree: Mapping[str, Any]) -> None:
        for part in _parts(tree):
            for entry in _ctes(part):
                name = str(entry["key"])
                # A name with a dot or a slash could be a file where the CTE itself is not in scope.
                if not _PLAIN_NAME.fullmatch(name):
                    msg = f"A WITH clause names {name!r}; give it a name of letters, digits and _."
                    raise QueryRefused(msg)
                self._ctes.add(name.lower())
        for part in _parts(tree):
            try:
                self._part(part)
            except QueryRefused as refused:
                refused.line = self._line(part)
                raise

    def _line(self, part: Mapping[str, Any]) -> int:
        """The line of the text at which a part of the tree begins, from 1; 0 if unknown."""
        at = part.get("query_location")
        return self._text.count(b"\n", 0, at) + 1 if isinstance(at, int) and at < len(self._text) else 0

    def _part(self, part: Mapping[str, Any]) -> None:
        type_ = part.get("type")
        if not isinstance(type_, str):
            return
        if type_.endswith("_NODE") and type_ not in _NODES:
            msg = f"A part of the query is not a query: {type_.removesuffix('_NODE').replace('_', ' ').lower()}."
            raise QueryRefused(msg)
        if part.get("class") == "FUNCTION":
            self._function(part)
        if "sample" in part and "class" not in part and not type_.endswith("_NODE"):
            self._table(type_, part)

    def _table(self, type_: str, part: Mapping[str, Any]) -> None:
        if type_ not in _TABLES:
            msg = f"A table of the kind {type_} is not allowed."
            raise QueryRefused(msg)
        if type_ == "TABLE_FUNCTION":
            self._table_function(part["function"])
        elif type_ == "BASE_TABLE":
            self._base_table(part)
        elif type_ == "SHOW_REF" and part.get("table_name"):
            self._named(list(part.get("qualified_name", {}).get("path", [])) or [part["table_name"]])

    def _base_table(self, part: Mapping[str, Any]) -> None:
        path = [name for name in (part.get("catalog_name"), part.get("schema_name"), part.get("table_name")) if name]
        self._named(path)

    def _named(self, path: list[str]) -> None:
        names = [str(name).lower() for name in path]
        if len(names) == 3 and names[0] == self._known.catalog.lower():
            names = names[1:]
        match names:
            case [name] if name in self._ctes or self._is_table(self._schema, name) or self._is_table("main", name):
                return
            case [name] if name in _CATALOG or name.strip('"') in ("databases", "tables"):
                return
            case ["information_schema", name] if name in _INFORMATION:
                return
            case [schema, name] if self._is_table(schema, name):
                return
        msg = f"There is no table {'.'.join(map(str, path))} in the store; files cannot be read here."
        raise QueryRefused(msg)

    def _is_table(self, schema: str, name: str) -> bool:
        return (schema, name) in self._known.tables

    def _table_function(self, function: Mapping[str, Any]) -> None:
        name, schema = str(function["function_name"]).lower(), str(function.get("schema") or "").lower()
        if not schema and (name in _TABLE_FUNCTIONS or name in _CATALOG):
            return
        if (schema or self._schema, name) in self._known.macros:
            return
        msg = f"The table function {function['function_name']} is not allowed here."
        raise QueryRefused(msg)

    def _function(self, function: Mapping[str, Any]) -> None:
        name = str(function.get("function_name", "")).lower()
        if name not in _functions() and name not in _TABLE_FUNCTIONS and name not in _CATALOG:
            if ((str(function.get("schema") or "").lower() or self._schema), name) in self._known.macros:
                return
            msg = f"The function {function.get('function_name')} is not allowed here."
            raise QueryRefused(msg)


def _parts(tree: Any) -> Iterator[Mapping[str, Any]]:
    """Every object of the tree, without recursion: queries may be nested deeply."""
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield part
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)


def _ctes(part: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    cte_map = part.get("cte_map")
    return list(cte_map.get("map", [])) if isinstance(cte_map, dict) else []


def _one(row: tuple[Any, ...] | None) -> Any:
    assert row is not None
    return row[0]
