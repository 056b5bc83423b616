"""The table of functions of Flink SQL: one row each, by subject.

function     what a row tells
of_numbers, of_texts, of_times, of_collections, of_values     the rows
json_calls, rows, time_zones, random_values     calls that no template writes; json_syntax: clauses of JSON functions
spark_text   what is written in Spark SQL, with its tree
refused      the functions that are not there, with the reason and an alternative
spark        the functions of Spark SQL, which the expressions of a pipeline are written in

What writes a call in Spark SQL, completes it, explains it or exports it reads the row. A test runs every example.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from engine.functions import of_collections, of_numbers, of_texts, of_times, of_values
from engine.functions.function import Function

ROWS: Final = (*of_numbers.ROWS, *of_texts.ROWS, *of_times.ROWS, *of_collections.ROWS, *of_values.ROWS)

FUNCTIONS: Final[Mapping[str, Function]] = MappingProxyType(
    {name: row for row in ROWS for name in (row.name, *row.aliases)}
)
"""The rows by each of their names."""
