"""A changelog filter as SQL conditions with bound values."""

from __future__ import annotations

import re
from typing import Final

from storage.database.sql import identifier
from storage.errors import UnknownColumn
from storage.model import Edge, EdgeColumn, Filter

_NUMERIC: Final = re.compile(r"[0-9eE.+-]+|nan|inf|-inf", re.IGNORECASE)
_TEMPORAL: Final = re.compile(r"[0-9:. -]+")


def conditions(edge: Edge, wanted: Filter, alias: str = "c") -> tuple[str, dict[str, object]]:
    """The WHERE expression of a filter and its values. Raises UnknownColumn."""
    parts: list[str] = []
    values: dict[str, object] = {}
    if wanted.from_seq is not None:
        parts.append(f"{alias}.seq >= $from_seq")
        values["from_seq"] = wanted.from_seq
    if wanted.to_seq is not None:
        parts.append(f"{alias}.seq <= $to_seq")
        values["to_seq"] = wanted.to_seq
    if wanted.kinds:
        symbols = ", ".join(f"'{kind.symbol}'" for kind in sorted(wanted.kinds))
        parts.append(f"{alias}.kind IN ({symbols})")
    for n, (name, value) in enumerate(wanted.equals):
        column = _column(edge, name)
        stored = f"{alias}.{identifier(column.stored_as)}"
        if value is None:
            parts.append(f"{stored} IS NULL")
        else:
            parts.append(f"{stored} = TRY_CAST($equals{n} AS {column.duckdb_type})")
            values[f"equals{n}"] = value
    if wanted.text:
        searched = [column for column in edge.columns if _can_contain(column, wanted.text)]
        predicates = [
            f"contains(lower(CAST({alias}.{identifier(column.stored_as)} AS VARCHAR)), lower($text))"
            for column in searched
        ]
        parts.append(f"({' OR '.join(predicates)})" if predicates else "false")
        if predicates:
            values["text"] = wanted.text
    return " AND ".join(parts) or "true", values


def _column(edge: Edge, name: str) -> EdgeColumn:
    for column in edge.columns:
        if column.name == name:
            return column
    raise UnknownColumn(edge.node, name, edge.names)


def _can_contain(column: EdgeColumn, text: str) -> bool:
    """False if the text cannot occur in the column's values: casting millions of numbers to text is slow."""
    if column.duckdb_type in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE"):
        return _NUMERIC.fullmatch(text) is not None
    if column.duckdb_type.startswith("DECIMAL") and column.duckdb_type.endswith(")"):
        return _NUMERIC.fullmatch(text) is not None
    if column.duckdb_type in ("DATE", "TIMESTAMP"):
        return _TEMPORAL.fullmatch(text) is not None
    if column.duckdb_type == "BOOLEAN":
        return text.lower() in "true" or text.lower() in "false"
    return True
