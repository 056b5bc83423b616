"""The call of a table function in SQL: its tables, then its parameters by name."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pydantic import BaseModel

from engine.model.types import literal as text_literal
from engine.model.types import quote


def table_call(function: str, tables: Sequence[str], parameters: BaseModel) -> str:
    """`SELECT * FROM TABLE(NAME(TABLE `t`, LIMIT => 3))`, with the parameters that differ from their defaults."""
    non_defaults = parameters.model_dump(mode="json", exclude_defaults=True)
    arguments = [f"TABLE {quote(table)}" for table in tables]
    arguments += [f"{name.upper()} => {literal(value)}" for name, value in non_defaults.items()]
    return f"SELECT * FROM TABLE({function}({', '.join(arguments)}))"


def literal(value: object) -> str:
    """A value as Flink SQL: a list of plain values is an array, a nested value is a JSON string."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case int() | float():
            return str(value)
        case str():
            return text_literal(value)
        case list() if not any(isinstance(item, list | dict) for item in value):
            return f"ARRAY[{', '.join(map(literal, value))}]"
        case _:
            return literal(json.dumps(value, ensure_ascii=False))
