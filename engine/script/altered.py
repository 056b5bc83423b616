"""ALTER TABLE, ALTER VIEW and DROP: the tables of a script as its later statements see them.

A name that is dropped may be created again. What an earlier statement inserted or read stays as it was
(`engine.script.two_tables`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Final

from engine.errors import unknown_name
from engine.model.schema import Column
from engine.script.parts import Parts
from engine.script.recorded_clock import ROWTIME
from engine.script.statements import Cursor, Statement
from engine.script.tables import Draft, TableDdl, element, options_of
from engine.script.two_tables import set_aside, use_instead
from engine.sql.rejected import SqlRejected

_ACTIONS: Final = "ADD, MODIFY, DROP, RENAME, SET and RESET"
_DROPPED: Final = ("TABLE", "VIEW", "FUNCTION")


def altered(statement: Statement, parts: Parts) -> bool:
    """Take over an ALTER or DROP. False for one of another object, such as a catalog. Raises SqlRejected."""
    cursor = Cursor(statement)
    is_drop = cursor.skip("DROP")
    if not is_drop:
        cursor.expect("ALTER")
    cursor.skip("TEMPORARY")
    cursor.skip("SYSTEM")
    kind = next((word for word in _DROPPED if cursor.skip(word)), None)
    if kind is None or (kind == "FUNCTION" and not is_drop):
        return False
    may_lack = cursor.skip("IF", "EXISTS")
    name = cursor.name()
    names: Collection[str] = parts.tables if kind == "TABLE" else parts.views if kind == "VIEW" else parts.functions
    key = name.upper() if kind == "FUNCTION" else name
    if key not in names:
        if not may_lack:
            parts.require_read(name)
            message = f"{'DROP' if is_drop else 'ALTER'} {kind}: {unknown_name(kind.lower(), name, names)}."
            raise SqlRejected(message, place=statement.place)
    elif is_drop:
        parts.dropped.add(name)
    elif kind == "VIEW":
        _alter_view(name, statement, cursor, parts)
    else:
        try:
            _alter_table(parts.tables[name], statement, cursor, parts)
        except SqlRejected as error:
            # What is wrong is this statement, and not the table, which stays as it is.
            is_here = statement.place <= (error.line or 0, error.column or 0) <= statement.end
            raise error if is_here else SqlRejected(error.reason, place=statement.place) from error
    return True


def _alter_view(name: str, statement: Statement, cursor: Cursor, parts: Parts) -> None:
    if cursor.skip("RENAME", "TO"):
        _renamed(parts.views, name, cursor.name(), parts)
    else:
        set_aside(name, statement, parts)
        parts.views[name] = statement.after(cursor.at)


def _alter_table(table: TableDdl, statement: Statement, cursor: Cursor, parts: Parts) -> None:
    name = table.name
    if cursor.skip("RENAME", "TO"):
        new = cursor.name()
        parts.tables[name] = replace(table, name=new)
        for by_name in (parts.tables, parts.rows):
            _renamed(by_name, name, new, parts)
        use_instead([*parts.inserts, *parts.explained], name, new, parts)
        return
    if cursor.sees("ADD", "PARTITION") or cursor.sees("DROP", "PARTITION"):
        parts.warnings.append(f"line {cursor.here.line}: partitions of {name} are neither added nor dropped here.")
        return
    names: dict[str, str] = {}
    if cursor.skip("RENAME"):
        _without_column(cursor, parts)
        old = cursor.name()
        cursor.expect("TO")
        names[old] = cursor.name()
        changed = _with_names(table, {old: names[old]})
    elif cursor.skip("ADD"):
        _without_column(cursor, parts)
        changed = _with(table, _elements(table, cursor), is_new=True)
    elif cursor.skip("MODIFY"):
        _without_column(cursor, parts)
        changed = _with(table, _elements(table, cursor), is_new=False)
    elif cursor.skip("DROP"):
        _without_column(cursor, parts)
        changed = _without(table, cursor)
    elif cursor.skip("SET"):
        changed = replace(table, options={**table.options, **options_of(cursor)})
    elif cursor.skip("RESET"):
        gone = set(cursor.listed())
        changed = replace(table, options={key: value for key, value in table.options.items() if key not in gone})
    else:
        message = f"ALTER TABLE {name} takes {_ACTIONS}, not {'the end' if cursor.is_done else cursor.here.text}."
        raise cursor.rejected(message)
    mark = changed.watermark
    if mark is not None and mark.column not in (*changed.order, ROWTIME):
        message = f"{name}: WATERMARK: {unknown_name('column', mark.column, changed.order)}."
        raise cursor.rejected(message)
    if changed.order != table.order and name not in parts.targets:
        set_aside(name, statement, parts)
    if name in parts.rows:
        before = [names.get(column.name, column.name) for column in table.written]
        rows: list[dict[str, Any]] = [dict(zip(before, row, strict=True)) for row in parts.rows[name]]
        parts.rows[name] = [[row.get(column.name) for column in changed.written] for row in rows]
    parts.tables[name] = changed


def _without_column(cursor: Cursor, parts: Parts) -> None:
    """Skip the word COLUMN, which other databases have before the name."""
    if cursor.skip("COLUMN"):
        note = "Flink would refuse this: ALTER TABLE takes the column's name, without COLUMN before it."
        parts.warnings.append(f"line {cursor.here.line}: {note}")


def _renamed(parameters: dict[str, Any], old: str, new: str, parts: Parts) -> None:
    if old in parameters:
        parameters[new] = parameters.pop(old)
    parts.order = [new if name == old else name for name in parts.order]


def _elements(table: TableDdl, cursor: Cursor) -> tuple[Draft, dict[str, str]]:
    """The columns, keys and watermark that are added or modified; and by column, the one that it follows, or ''."""
    draft, after = Draft.empty(), {}
    is_list = cursor.skip("(")
    while True:
        before = len(draft.order)
        element(cursor, draft, table.name)
        placed = draft.order[-1] if len(draft.order) > before else None
        if placed is not None and cursor.skip("FIRST"):
            after[placed] = ""
        elif placed is not None and cursor.skip("AFTER"):
            after[placed] = cursor.name()
        if not is_list or not cursor.skip(","):
            break
    if is_list:
        cursor.expect(")")
    return draft, after


def _with(table: TableDdl, given: tuple[Draft, dict[str, str]], *, is_new: bool) -> TableDdl:
    draft, after = given
    for name in draft.order:
        if is_new and name in table.order:
            message = f"ADD: there is already a column {name!r}. Use MODIFY."
            raise table.rejected(message)
        if not is_new and name not in table.order:
            message = f"MODIFY: {unknown_name('column', name, table.order)}."
            raise table.rejected(message)
    remaining = _keeping(table, [name for name in table.order if name not in draft.order])
    order = list(table.order) + [name for name in draft.order if name not in table.order]
    for name, place in after.items():
        if place and place not in order:
            message = f"AFTER: {unknown_name('column', place, order)}."
            raise table.rejected(message)
        order.remove(name)
        order.insert(order.index(place) + 1 if place else 0, name)
    columns = sorted((*remaining.columns, *draft.columns), key=lambda column: order.index(column.name))
    return replace(
        remaining,
        columns=tuple(columns),
        computed=(*remaining.computed, *draft.computed),
        metadata=(*remaining.metadata, *draft.metadata),
        watermark=draft.watermark or table.watermark,
        primary_key=tuple(draft.keys) or table.primary_key,
        order=tuple(order),
    )


def _keeping(table: TableDdl, names: Sequence[str]) -> TableDdl:
    return replace(
        table,
        columns=tuple(column for column in table.columns if column.name in names),
        computed=tuple(column for column in table.computed if column.name in names),
        metadata=tuple(column for column in table.metadata if column.name in names),
        order=tuple(name for name in table.order if name in names),
    )


def _without(table: TableDdl, cursor: Cursor) -> TableDdl:
    if cursor.skip("PRIMARY", "KEY"):
        return replace(table, primary_key=())
    if cursor.skip("CONSTRAINT"):
        cursor.name()
        return replace(table, primary_key=())
    if cursor.skip("WATERMARK"):
        return replace(table, watermark=None)
    gone = list(cursor.listed()) if cursor.sees("(") else [cursor.name()]
    for name in gone:
        if name not in table.order:
            message = f"DROP: {unknown_name('column', name, table.order)}."
            raise table.rejected(message)
    return _keeping(table, [name for name in table.order if name not in gone])


def _with_names(table: TableDdl, names: dict[str, str]) -> TableDdl:
    (old,) = names
    if old not in table.order:
        message = f"RENAME: {unknown_name('column', old, table.order)}."
        raise table.rejected(message)

    def new(name: str) -> str:
        return names.get(name, name)

    mark = table.watermark
    return replace(
        table,
        columns=tuple(Column(new(column.name), column.type) for column in table.columns),
        computed=tuple(replace(column, name=new(column.name)) for column in table.computed),
        metadata=tuple(replace(column, name=new(column.name)) for column in table.metadata),
        watermark=replace(mark, column=new(mark.column)) if mark is not None else None,
        primary_key=tuple(map(new, table.primary_key)),
        order=tuple(map(new, table.order)),
    )
