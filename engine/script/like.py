"""CREATE TABLE ... LIKE: the parts that a table inherits from another one.

    CREATE TABLE d (x AS v + 1) WITH ('path' = 'd.csv') LIKE t (EXCLUDING WATERMARKS OVERWRITING OPTIONS)

By default everything is included, and options are overwritten. Source: Flink MergeTableLikeUtil.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final, TypeVar

from engine.contract.declared_table import Metadata, Watermark
from engine.errors import unknown_name
from engine.script.statements import Cursor
from engine.script.tables import Computed, TableDdl

_FEATURES: Final = ("CONSTRAINTS", "DISTRIBUTION", "GENERATED", "METADATA", "OPTIONS", "PARTITIONS", "WATERMARKS")
Column = TypeVar("Column", Computed, Metadata)
_CHOICES: Final = ("INCLUDING", "EXCLUDING", "OVERWRITING")


def with_base(table: TableDdl, cursor: Cursor, tables: Mapping[str, TableDdl]) -> TableDdl:
    """The table with the parts from LIKE. Raises SqlRejected for an unknown table, and for duplicate declarations."""
    cursor.expect("LIKE")
    name = cursor.name()
    choices = _choices(cursor)
    if name not in tables:
        message = f"LIKE: {unknown_name('table', name, tables)}."
        raise table.rejected(message)
    base = tables[name]
    physical = {column.name for column in base.columns}
    twice = [column.name for column in table.columns if column.name in physical]
    if twice:
        message = f"the column {twice[0]!r} is in {name} already. Leave it out here."
        raise table.rejected(message)
    computed = _merged(table, table.computed, base, base.computed, "GENERATED", choices)
    metadata = _merged(table, table.metadata, base, base.metadata, "METADATA", choices)
    derived = [*(column.name for column in computed), *(column.name for column in metadata)]
    return replace(
        table,
        columns=base.columns + table.columns,
        computed=computed,
        watermark=_watermark(table, base, choices["WATERMARKS"]),
        primary_key=_primary_key(table, base, choices["CONSTRAINTS"]),
        options=_options(table, base, choices["OPTIONS"]),
        metadata=metadata,
        order=_order(table, base, {*physical, *derived}),
    )


def _choices(cursor: Cursor) -> dict[str, str]:
    """By feature, its choice: INCLUDING, EXCLUDING or OVERWRITING."""
    choices = dict.fromkeys(_FEATURES, "INCLUDING") | {"OPTIONS": "OVERWRITING"}
    if not cursor.skip("("):
        return choices
    given: dict[str, str] = {}
    while not cursor.sees(")"):
        choice, feature = cursor.take().text.upper(), cursor.take().text.upper()
        if choice not in _CHOICES or feature not in ("ALL", *_FEATURES):
            message = f"LIKE takes {', '.join(_CHOICES)} and one of ALL, {', '.join(_FEATURES)}."
            raise cursor.rejected(message)
        given[feature] = choice
    cursor.expect(")")
    if "ALL" in given:
        choices = dict.fromkeys(_FEATURES, given.pop("ALL"))
    return choices | given


def _merged(
    table: TableDdl,
    own: tuple[Column, ...],
    base: TableDdl,
    taken: tuple[Column, ...],
    feature: str,
    choices: Mapping[str, str],
) -> tuple[Column, ...]:
    """The columns of one feature: the inherited ones, then the table's own."""
    choice = choices[feature]
    if choice == "EXCLUDING":
        return own
    names = {column.name for column in own}
    twice = next((column.name for column in taken if column.name in names), None)
    if twice is not None and choice != "OVERWRITING":
        what = "computed" if feature == "GENERATED" else "metadata"
        message = f"the {what} column {twice!r} is in {base.name} already. Write OVERWRITING {feature}."
        raise table.rejected(message)
    return tuple(column for column in taken if column.name not in names) + own


def _order(table: TableDdl, base: TableDdl, columns: Collection[str]) -> tuple[str, ...]:
    """The inherited columns in their places, then the table's own."""
    inherited = tuple(name for name in base.order if name in columns)
    return inherited + tuple(name for name in table.order if name not in inherited)


def _watermark(table: TableDdl, base: TableDdl, choice: str) -> Watermark | None:
    if choice == "EXCLUDING" or base.watermark is None:
        return table.watermark
    if table.watermark is not None and choice != "OVERWRITING":
        message = f"{base.name} has a watermark already. Write OVERWRITING WATERMARKS."
        raise table.rejected(message)
    return table.watermark or base.watermark


def _primary_key(table: TableDdl, base: TableDdl, choice: str) -> tuple[str, ...]:
    if choice == "EXCLUDING" or not base.primary_key:
        return table.primary_key
    if table.primary_key:
        message = f"{base.name} has a primary key already. Write EXCLUDING CONSTRAINTS."
        raise table.rejected(message)
    return base.primary_key


def _options(table: TableDdl, base: TableDdl, choice: str) -> Mapping[str, str]:
    if choice == "EXCLUDING":
        return table.options
    twice = next((name for name in table.options if name in base.options), None)
    if twice is not None and choice != "OVERWRITING":
        message = f"the option {twice!r} is in {base.name} already. Write OVERWRITING OPTIONS."
        raise table.rejected(message)
    return {**base.options, **table.options}
