"""The content of a grid as values, and its HTML. All user data is escaped here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from html import escape
from typing import Final

from engine.model.changelog import RowKind
from storage.wanted import SortOrder
from ui.shell import words
from ui.shell.theme import kind_badge

_LONGEST: Final = 120


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


@dataclass(frozen=True)
class Cell:
    """A cell: its text and its appearance.

    was: the value that it replaced. kinds: badges instead of text. tone: good, active, warn, bad or quiet. note:
    shown on hover. is_prose: a sentence, which unlike data is wrapped and never cut. is_wrapped: data that is wrapped.
    indent: its depth in a tree.
    """

    text: str = ""
    was: str | None = None
    kinds: tuple[RowKind, ...] = ()
    tone: str = ""
    note: str = ""
    is_null: bool = False
    is_number: bool = False
    is_changed: bool = False
    is_code: bool = False
    is_strong: bool = False
    is_prose: bool = False
    is_wrapped: bool = False
    indent: int = 0

    @classmethod
    def of(cls, value: object, *, was: str | None = None, changed: bool = False, note: str = "") -> Cell:
        """The cell of a value of a record."""
        number = _is_number(value)
        return cls(words.value(value), was, is_null=value is None, is_number=number, is_changed=changed, note=note)


@dataclass(frozen=True)
class Row:
    """A row. pick: the value that the row picks. is_current: highlighted and scrolled to.

    note: a remark on the row above, as a line across the table instead of cells.
    """

    cells: Sequence[Cell] = ()
    pick: str = ""
    is_current: bool = False
    tone: str = ""
    note: str = ""
    is_gone: bool = False


@dataclass(frozen=True)
class Table:
    """A page of rows under its columns.

    numbers: the columns aligned to the right. narrow: the columns no wider than their content. sorts: by column, the
    name by which the store sorts it, if it can. sorted_by: the current sort order of the rows.
    """

    columns: Sequence[str]
    rows: Sequence[Row]
    numbers: frozenset[str] = frozenset()
    narrow: frozenset[str] = frozenset()
    sorts: Mapping[str, str] = field(default_factory=dict)
    sorted_by: SortOrder | None = None


def number_columns(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> frozenset[str]:
    """The columns that contain only numbers, which are aligned to the right."""
    return frozenset(
        name for at, name in enumerate(columns) if all(row[at] is None or _is_number(row[at]) for row in rows)
    )


def html_of(table: Table) -> str:
    """The table as HTML."""
    head = "".join(_head(table, name) for name in table.columns)
    body = "".join(_row(row, len(table.columns)) for row in table.rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _head(table: Table, name: str) -> str:
    marks = _class(*_of_column(table, name))
    if not name:
        return f"<td{marks}></td>"
    by = table.sorts.get(name)
    if by is None:
        return f'<th scope="col"{marks}>{escape(name)}</th>'
    way = ""
    if table.sorted_by is not None and table.sorted_by.by == by:
        way = "descending" if table.sorted_by.descending else "ascending"
    sign = {"descending": "↓", "ascending": "↑"}.get(way, "↕")
    aria = f' aria-sort="{way}"' if way else ""
    sort = f'<button data-sort="{escape(by)}">{escape(name)} <span aria-hidden="true">{sign}</span></button>'
    return f'<th scope="col"{marks}{aria}>{sort}</th>'


def _of_column(table: Table, name: str) -> tuple[str, str]:
    return "number" if name in table.numbers else "", "narrow" if name in table.narrow else ""


def _row(row: Row, width: int) -> str:
    if row.note:
        return f'<tr{_class("note", row.tone)}><td colspan="{width}">{escape(row.note)}</td></tr>'
    marks = _class("current" if row.is_current else "", "gone" if row.is_gone else "", row.tone)
    pick = f' data-pick="{escape(row.pick)}"' if row.pick else ""
    current = ' aria-selected="true"' if row.is_current else ""
    return f"<tr{marks}{pick}{current}>{''.join(map(_cell, row.cells))}</tr>"


def _cell(cell: Cell) -> str:
    if cell.kinds:
        return f"<td>{' '.join(map(kind_badge, cell.kinds))}</td>"
    marks = _class(
        "number" if cell.is_number else "",
        "null" if cell.is_null else "",
        "changed" if cell.is_changed else "",
        "code" if cell.is_code else "",
        "strong" if cell.is_strong else "",
        f"tone {cell.tone}" if cell.tone else "",
        "prose" if cell.is_prose else "",
        "wrapped" if cell.is_wrapped else "",
    )
    text, note = cell.text, cell.note
    if len(text) > _LONGEST and not cell.is_prose:
        note = note or text
        text = text[: _LONGEST - 1] + "…"
    hover = f' title="{escape(note)}"' if note else ""
    hover += f' style="padding-left:{0.7 + 1.3 * cell.indent:.1f}rem"' if cell.indent else ""
    before = f'<del>{escape(cell.was)}</del><span class="arrow"> → </span>' if cell.was is not None else ""
    return f"<td{marks}{hover}>{before}<span>{escape(text)}</span></td>"


def _class(*names: str) -> str:
    text = " ".join(name for name in names if name)
    return f' class="{text}"' if text else ""
